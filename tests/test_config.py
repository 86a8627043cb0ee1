"""Experiments: every mistake is named before anything is compiled."""

import re

import jax
import numpy as np
import pytest

from substrax.config import (
    Experiment,
    builtin_experiments,
    load_experiment,
    load_run,
)
from substrax.decoders import Direct, Discovered, HyperNEAT
from substrax.evolution import RunDirectory
from substrax.methods import METHODS
from substrax.neat import GenomeData, presets
from substrax.problems import PROBLEMS
from substrax.substrate import EMRRule, ESRule

WORLDS = {
    "gymnasium": ("gymnasium", "CartPole-v1"),
    "gymnax": ("gymnax", "CartPole-v1"),
    "brax": ("brax", "inverted_pendulum"),
    "playground": ("mujoco_playground", "CartpoleBalance"),
}
# of Brax, which uses libraries as they were, and says that it is not maintained
from_brax = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore:Brax System:UserWarning"
)
XOR = '[problem]\nname = "xor"\n'


def with_data(name, folder):
    """An experiment by name; the one for tables needs a file, those of environments
    need one of them."""
    experiment = load_experiment(name)
    if name in WORLDS:
        library, env = WORLDS[name]
        pytest.importorskip(library)
        return experiment.with_settings({"env": env})
    if name != "table":
        return experiment
    path = folder / "data.csv"
    path.write_text("a,b\n1,x\n2,y\n3,x\n4,y\n5,x\n")
    return experiment.with_settings({"path": str(path)})


@from_brax
@pytest.mark.parametrize("name", builtin_experiments())
def test_builtin_experiments_build_and_survive_toml(name, tmp_path):
    experiment = with_data(name, tmp_path)
    assert experiment.description
    parts = experiment.build()
    # the problem's own name, or that of a variant: double-pole-hidden
    assert name.startswith(parts.problem.name)
    again = Experiment.from_toml(experiment.to_toml(), name=name)
    assert again.values == experiment.values
    assert again.to_toml() == experiment.to_toml()


def test_every_problem_has_an_experiment():
    assert set(builtin_experiments()) >= set(PROBLEMS)


@from_brax
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_experiment_of_a_problem_is_about_it(name, tmp_path):
    assert with_data(name, tmp_path).build().problem.name == name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("preset", presets.PRESETS)
def test_every_method_goes_with_every_preset(method, preset):
    experiment = Experiment.from_toml(XOR).with_settings(
        {"method": method, "preset": preset, "population": 7}
    )
    parts = experiment.build()
    assert parts.algorithm.config.num_inputs == parts.decoder.num_genome_inputs
    assert parts.algorithm.config.population_size == 7
    again = Experiment.from_toml(experiment.to_toml())
    assert again.values == experiment.values


def test_defaults_are_those_of_the_classes():
    parts = Experiment.from_toml(XOR).build()
    assert isinstance(parts.decoder, Discovered)
    assert parts.decoder.rule == EMRRule()
    es = Experiment.from_toml(XOR).with_settings({"method": "es"}).build().decoder
    assert isinstance(es, Discovered)
    assert es.rule == ESRule()
    assert es.reading.dialect == "neat-python"
    config = parts.algorithm.config
    assert config.speciation.target_num_species == 4  # the preset substrax


def test_settings_reach_the_objects():
    experiment = Experiment.from_toml(
        XOR + "[run]\nseed = 5\n[neat.weight]\nperturb_power = 1\n"
        '[neat]\nactivation_options = ["sin", "gauss"]\nactivation_default = "none"\n'
    ).with_settings(
        {"depth": "2", "connections": "full", "outputs": "leo,weight", "steps": 3}
    )
    decoder = experiment.build().decoder
    assert isinstance(decoder, Discovered)
    assert decoder.rule == EMRRule(depth=2, connections="full")
    assert decoder.reading.outputs == ("leo", "weight") and decoder.steps == 3
    assert decoder.reading.activations == ("sin", "gauss")
    config = experiment.build().algorithm.config
    assert config.activation_default is None
    assert float(config.weight.perturb_power) == 1.0
    assert experiment.run.seed == 5


def test_fixed_substrates_are_layers_or_a_grid():
    experiment = Experiment.from_toml(XOR).with_settings({"method": "hyperneat"})
    layered = experiment.with_settings({"hidden_layers": "3,2"}).build().decoder
    assert isinstance(layered, HyperNEAT)
    assert len(layered.substrate.hidden) == 5
    assert layered.substrate.source.size == 3 * 3 + 3 * 2 + 2 * 1
    grid = experiment.with_settings({"substrate": "grid", "columns": 2, "rows": 2})
    decoder = grid.build().decoder
    assert isinstance(decoder, HyperNEAT)
    assert len(decoder.substrate.hidden) == 4


def test_a_recurrent_direct_network_makes_recurrent_genomes():
    experiment = Experiment.from_toml(XOR).with_settings(
        {"method": "neat", "is_recurrent": True}
    )
    parts = experiment.build()
    assert isinstance(parts.decoder, Direct) and parts.decoder.is_recurrent
    assert not parts.algorithm.config.feed_forward


def test_a_table_for_one_decoder_counts_for_that_one_only():
    text = XOR + "[method.emr]\ndepth = 2\nsteps = 5\n[method.es]\ndepth = 1\n"
    experiment = Experiment.from_toml(text)
    assert experiment.values["method.depth"] == 2
    es = experiment.with_settings({"method": "es"})
    assert es.values["method.depth"] == 1
    assert es.values["method.steps"] == 8
    # what is said last counts for whatever decoder there is
    deeper = experiment.with_settings({"depth": 3})
    assert deeper.values["method.depth"] == 3
    assert deeper.with_settings({"method": "es"}).values["method.depth"] == 3


def test_another_decoder_or_problem_forgets_what_it_does_not_have():
    experiment = load_experiment("parity").with_settings({"num_bits": 4})
    direct = experiment.with_settings({"method": "neat"})
    assert "method.depth" not in direct.values
    assert "problem.num_bits" not in direct.with_settings({"problem": "xor"}).values
    with pytest.raises(ValueError, match="a setting of the method"):
        experiment.with_settings({"method": "neat", "depth": 3})


def test_the_seed_is_that_of_the_run_unless_said_in_full():
    panel = load_experiment("panel").with_settings({"seed": 4})
    assert panel.run.seed == 4 and panel.values["problem.seed"] == 0
    panel = panel.with_settings({"problem.seed": 2})
    assert panel.run.seed == 4 and panel.values["problem.seed"] == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dpth": 3}, r"no setting 'dpth' \(did you mean 'depth'\?\)"),
        ({"method.dept": 3}, r"did you mean 'method\.depth'"),
        ({"populaton": 3}, "did you mean 'population'"),
        ({"depth": "deep"}, r"method\.depth is 'deep', but must be a whole number"),
        ({"depth": 2.5}, "must be a whole number"),
        ({"depth": True}, "must be a whole number"),
        ({"depth": 99}, r"\[method\] depth must lie between"),
        ({"depth": "none"}, "must be a whole number"),
        ({"target": "high"}, r"run\.target is 'high', but must be a number, or"),
        ({"max_weight": "nan"}, "must be a number"),
        ({"recover": "perhaps"}, "must be true or false"),
        ({"outputs": "weight,lio"}, "did you mean 'leo'"),
        ({"outputs": "leo,bias"}, "does not name weight"),
        ({"outputs": "weight,weight"}, "names weight more than once"),
        ({"bias_scale": -1}, "not negative"),
        ({"bias_scale": 1e308}, "bias_scale must be a number between"),
        ({"depth": "9" * 5000}, "method.depth is '9+"),
        ({"max_weight": 10**400}, "method.max_weight is 1000"),
        ({"steps": 2**40}, r"steps must lie between -2\^31"),
        ({"neat.weight.maximum": 1e308}, r"\[neat\] weight: maximum must be"),
        ({"population": 2**33}, "population_size must lie"),
        ({"start.jitter": 1e308}, "start.jitter must be a number of at least 0"),
        ({"method": "hyperneat", "hidden_layers": "99999999999"}, "at most 4,194,304"),
        (
            {"method": "hyperneat", "hidden_layers": "60000,60000"},
            "3,600,240,000 links",
        ),
        ({"method": "hyperneat", "substrate": "grid", "rows": 10**6}, "links takes"),
        ({"connections": "x" * 10**6}, "method.connections is 'xxx"),
        ({"connections": "ful"}, "did you mean 'full'"),
        ({"coordinates": "x1,x3"}, "did you mean 'x1'|Choose one of"),
        ({"hidden_activation": "tanhh"}, "did you mean 'tanh'"),
        ({"method": "emmr"}, "no method 'emmr' .*did you mean 'emr'"),
        ({"preset": "purples"}, "no preset 'purples' .*did you mean 'pureples'"),
        ({"problem": "xxor"}, "no problem 'xxor' .*did you mean 'xor'"),
        ({"division_threshold": 0.1}, "a setting of the method 'es', but"),
        ({"perturb_rate": 0.1}, r"may be any of neat\.weight\.perturb_rate, neat"),
        ({"neat.weight.perturb_rate": 3}, r"\[neat\] .*perturb_rate is a probability"),
        ({"population": 0}, "population_size is 0"),
        ({"num_bits": 3}, "no setting 'num_bits'"),
        ({"problem.colour": 3}, r"no setting 'problem\.colour'\. "),
    ],
)
def test_a_mistake_is_named_with_what_was_perhaps_meant(changes, message):
    experiment = Experiment.from_toml(XOR)
    with pytest.raises(ValueError, match=message) as caught:
        experiment.with_settings(changes).build()
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[problem\n", "is not valid TOML"),
        ("", "needs a problem"),
        (XOR + "[metod]\ndepth = 3\n", r"did you mean 'method\.depth'"),
        (XOR + "[method]\ndepht = 3\n", r"did you mean 'method\.depth'"),
        (XOR + '[method]\ndepth = "3 "\n', None),
        (XOR + "[method]\ndepth = 2024-01-01\n", "must be a whole number"),
        (XOR + "[method]\ncoordinates = 3\n", "must be a list"),
        (XOR + "[method.emr]\ndivision_threshold = 1\n", "method 'emr' has depth"),
        (XOR + "[decoder]\ndepth = 3\n", r"is method now. Write 'method\.depth'"),
        ("depth = 3\n" + XOR, r"in full it is 'method\.depth'"),
    ],
)
def test_a_mistake_in_a_file_is_named(text, message):
    if message is None:
        assert Experiment.from_toml(text).values["method.depth"] == 3
        return
    with pytest.raises(ValueError, match=message):
        Experiment.from_toml(text)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"cannot read .*nowhere\.toml: No such file"):
        load_experiment(tmp_path / "nowhere.toml")
    with pytest.raises(ValueError, match=r"no experiment 'retna' \(did you mean 'reti"):
        load_experiment("retna")
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=re.escape(str(path)) + " is not a text"):
        load_experiment(path)
    path.write_text(XOR)
    assert load_experiment(path).problem.name == "xor"


def test_strings_survive_toml(tmp_path):
    name = 'a "quoted" \\ name\twith \x7f and ü 🙂.csv'
    experiment = load_experiment("panel").with_settings({"problem.path": name})
    again = Experiment.from_toml(experiment.to_toml())
    assert again.values["problem.path"] == name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"population": 4}, r"neat\.population_size is 300 .* cannot become 4"),
        ({"seed": 4}, r"run\.seed is 0"),
        ({"depth": 2}, r"method\.depth is 4 .*earlier generations"),
        ({"problem": "parity"}, r"problem\.n"),
    ],
)
def test_what_a_run_consists_of_cannot_change(change, message):
    recorded = load_experiment("xor")
    with pytest.raises(ValueError, match=message):
        recorded.with_settings(change).check_continues(recorded)


def test_reasons_to_stop_can_change():
    recorded = load_experiment("xor")
    changes = {"generations": 9, "target": 2, "seconds": 1, "patience": 3}
    recorded.with_settings(changes).check_continues(recorded)
    recorded.with_settings({"depth": 4}).check_continues(recorded)


def test_a_run_of_evolve_itself_has_no_experiment(tmp_path):
    RunDirectory.create(tmp_path / "run", seed=0)
    with pytest.raises(ValueError, match="started from Python"):
        load_run(tmp_path / "run")


# -------------------------------------------------------------- where evolution starts

RETINA = '[problem]\nname = "retina"\n[method]\noutputs = ["weight", "leo", "bias"]\n'


def test_a_named_seed_is_a_setting():
    experiment = Experiment.from_toml(RETINA + '[start]\ngenome = "x-locality"\n')
    start = experiment.build().algorithm.start
    assert start is not None and start.num_nodes == 5 + 3 + 1
    again = Experiment.from_toml(experiment.to_toml())
    assert again.values == experiment.values
    decoder = experiment.build().decoder
    assert isinstance(decoder, Discovered)
    assert {"gauss", "identity"} <= set(decoder.reading.activations or ())


def test_a_genome_may_stand_in_the_configuration():
    experiment = Experiment.from_toml(
        RETINA + '[start]\ngenome = "given"\nnodes = ["near gauss"]\n'
        'links = ["x1 -> near 1.0", "near -> leo 1.0"]\njitter = 0.0\n'
    )
    start = experiment.build().algorithm.start
    assert start is not None and start.jitter == 0.0
    assert Experiment.from_toml(experiment.to_toml()).values == (experiment.values)


def test_a_genome_in_a_file_becomes_part_of_the_configuration(tmp_path):
    GenomeData.read(["near gauss"], ["x1 -> near 1.0", "near -> leo 1.0"]).save(
        tmp_path / "g.json"
    )
    experiment = Experiment.from_toml(RETINA).with_settings(
        {"start_from": str(tmp_path / "g.json")}
    )
    settings = experiment.values
    assert settings["start.genome"] == "given"
    assert settings["start.links"] == ("x1 -> near 1.0", "near -> leo 1.0")
    assert settings["start.origin"].endswith("g.json")
    (tmp_path / "g.json").unlink()  # the document needs it no longer
    assert Experiment.from_toml(experiment.to_toml()).values == settings


def test_a_run_starts_from_the_best_of_another(tmp_path):
    small = {"population": 20, "generations": 2, "depth": 1}
    first = Experiment.from_toml(XOR).with_settings(small)
    first.evolve(directory=tmp_path / "first", keep_compiled=False)
    best = RunDirectory(tmp_path / "first").best()
    assert best is not None
    second = Experiment.from_toml('[problem]\nname = "parity"\n').with_settings(
        {**small, "start_from": str(tmp_path / "first")}
    )
    assert "best of generation" in second.values["start.origin"]
    algorithm = second.build().algorithm
    population = algorithm.init(key=jax.random.key(0)).population
    num = int(best.genome.num_links)
    assert np.array_equal(
        np.asarray(population.link_weight)[0, :num],
        np.asarray(best.genome.link_weight)[:num],
    )
    result = second.evolve(directory=tmp_path / "second", keep_compiled=False)
    recorded, _ = load_run(tmp_path / "second")
    assert recorded.values["start.links"] == second.values["start.links"]
    assert result.generations == 2


@pytest.mark.parametrize(
    ("text", "changes", "sentence"),
    [
        (RETINA, {"start_from": "x-localty"}, "did you mean 'x-locality'"),
        (RETINA, {"start_from": "nowhere.json"}, "no file of that name"),
        (XOR, {"start_from": "x-locality"}, "Add leo to method.outputs"),
        (XOR, {"start_from": "x-locality", "method": "neat"}, "--start-from none"),
        (XOR, {"start.links": "x1 -> weight 1"}, "start.genome is none"),
        (
            XOR,
            {"start_from": "given", "start.links": "x9 -> weight 1"},
            "names 'x9', but inputs are x1",
        ),
        (XOR, {"start_from": "geometry", "start.jitter": -1}, "jitter"),
    ],
)
def test_starts_that_do_not_fit_are_refused(text, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        Experiment.from_toml(text).with_settings(changes).build()


def test_of_the_network_and_of_the_cppn_the_network_is_meant():
    experiment = Experiment.from_toml(XOR).with_settings({"output_activation": "tanh"})
    assert experiment.values["method.output_activation"] == "tanh"
    assert experiment.values["neat.output_activation"] != "tanh"


def test_a_section_is_named_once():
    experiment = Experiment.from_toml(XOR).with_settings({"method.depth": 99})
    with pytest.raises(ValueError, match=r"^\[method\] depth must lie between"):
        experiment.build()


def test_another_seed_shares_what_was_built():
    experiment = load_experiment("xor")
    parts = experiment.build()
    other = experiment.with_settings({"seed": 3, "threads": 1})
    assert other.build() is parts and other.run.seed == 3
    deeper = experiment.with_settings({"depth": 2})
    assert deeper.problem is experiment.problem
    assert deeper.build().decoder is not parts.decoder
    parity = experiment.with_settings({"problem": "parity"})
    assert parity.problem is not experiment.problem
    with pytest.raises(ValueError, match="threads"):
        experiment.with_settings({"threads": -1}).build()
