"""neat-python's files and genomes."""

import json
import types
from pathlib import Path

import numpy as np
import pytest

from substrax.cppn import ACTIVATION_NAMES
from substrax.decoders import Direct
from substrax.neat import (
    FloatGeneConfig,
    from_neat_python_config,
    genome_from_neat_python,
    presets,
)
from substrax.network import evaluate
from tests.neat.helpers import assert_valid, links_of, stack

ROOT = Path(__file__).parent.parent.parent
XOR = ROOT / "benchmarks" / "neat_xor.ini"
VECTORS = ROOT / "tests" / "data" / "pureples.json"


def _text(**changes):
    lines = []
    for line in XOR.read_text().splitlines():
        name = line.partition("=")[0].strip()
        if name in changes:
            value = changes.pop(name)
            if value is None:
                continue
            line = f"{name} = {value}"
        lines.append(line)
    assert not changes
    return "\n".join(lines)


def test_the_xor_example_is_the_preset():
    config, messages = from_neat_python_config(XOR)
    assert config == presets.neat_python()
    assert [m.partition(":")[0] for m in messages] == [
        "[NEAT] fitness_threshold = 1000000"
    ]


def test_numbers_switches_and_names_are_read():
    config, _ = from_neat_python_config(
        _text(
            weight_init_type="uniform",
            weight_max_value="8",
            initial_connection="partial_direct 0.25",
            activation_options="sin gauss tanh",
            activation_default="random",
            single_structural_mutation="true",
            species_fitness_func="mean",
            num_hidden="3",
        )
    )
    assert config.weight == FloatGeneConfig(
        maximum=8.0, init_distribution="uniform", perturb_rate=0.8, replace_rate=0.1
    )
    assert config.initial_connection == "partial_direct"
    assert config.initial_fraction == 0.25
    assert config.activation_options == ("sin", "gauss", "tanh")
    assert config.activation_default is None
    assert config.mutation.single_structural and config.mutation.surer
    assert config.reproduction.species_fitness == "mean"
    assert config.num_hidden == 3


def test_a_mutated_switch_changes_every_other_time():
    config, _ = from_neat_python_config(
        _text(enabled_mutate_rate="0.1", enabled_rate_to_true_add="0.2")
    )
    assert config.mutation.enable_rate == pytest.approx(0.15)
    assert config.mutation.disable_rate == pytest.approx(0.05)


@pytest.mark.parametrize(
    "changes,name",
    [
        ({"response_mutate_rate": "0.1"}, "response_mutate_rate = 0.1"),
        ({"response_init_mean": "2.0"}, "response_init_mean = 2.0"),
        ({"aggregation_options": "sum product"}, "aggregation_options = sum product"),
        ({"aggregation_mutate_rate": "0.5"}, "aggregation_mutate_rate = 0.5"),
        ({"reset_on_extinction": "True"}, "reset_on_extinction = True"),
        ({"enabled_default": "False"}, "enabled_default = False"),
        ({"fitness_criterion": "mean"}, "fitness_criterion = mean"),
        ({"fitness_criterion": "min"}, "fitness_criterion = min"),
        ({"species_fitness_func": "median"}, "species_fitness_func = median"),
        ({"species_elitism": "0"}, "species_elitism = 0"),
    ],
)
def test_an_option_without_counterpart_gets_one_message(changes, name):
    _, messages = from_neat_python_config(_text(**changes))
    assert sum(name in message for message in messages) == 1
    assert len(messages) == 2


def _with_genome_options(**options):
    lines = [f"{name} = {value}" for name, value in options.items()]
    return _text().replace("[DefaultGenome]", "\n".join(["[DefaultGenome]", *lines]))


_NEUTRAL_TIME_CONSTANT = {
    "time_constant_init_mean": "1.0",
    "time_constant_init_stdev": "0.0",
    "time_constant_init_type": "gaussian",
    "time_constant_mutate_rate": "0.0",
    "time_constant_mutate_power": "0.0",
    "time_constant_replace_rate": "0.0",
    "time_constant_max_value": "10.0",
    "time_constant_min_value": "0.01",
}


def test_time_constants_that_stay_at_one_are_passed_over():
    _, messages = from_neat_python_config(
        _with_genome_options(**_NEUTRAL_TIME_CONSTANT)
    )
    assert len(messages) == 1 and "fitness_threshold" in messages[0]


@pytest.mark.parametrize("name", _NEUTRAL_TIME_CONSTANT)
def test_any_other_time_constant_gets_one_message(name):
    value = "uniform" if name.endswith("type") else "0.5"
    options = {**_NEUTRAL_TIME_CONSTANT, name: value}
    _, messages = from_neat_python_config(_with_genome_options(**options))
    assert sum(f"{name} = {value}" in message for message in messages) == 1
    assert len(messages) == 2


def test_messages_say_what_a_surprising_value_means_here():
    _, messages = from_neat_python_config(
        _text(fitness_criterion="min", species_elitism="0")
    )
    criterion, _, elitism = sorted(messages, key=lambda m: m.startswith("[Default"))
    assert "does not minimise" in criterion and "`maximise=False`" in criterion
    assert "0 means 1" in elitism


def test_a_file_with_a_bracket_in_its_name_is_a_file(tmp_path):
    path = tmp_path / "config[1].ini"
    path.write_text(_text())
    assert from_neat_python_config(str(path)) == from_neat_python_config(XOR)
    with pytest.raises(ValueError, match="no file"):
        from_neat_python_config(str(tmp_path / "config[2].ini"))


def test_unknown_options_and_sections_are_reported():
    text = _text() + "\nelitsm = 3\n\n[MyOwnSection]\nx = 1\n"
    _, messages = from_neat_python_config(text)
    assert any("elitsm = 3" in m and "'elitism'" in m for m in messages)
    assert any("[MyOwnSection]" in m and "ignored" in m for m in messages)


@pytest.mark.parametrize(
    "text,message",
    [
        ("/nowhere/config.ini", "no file"),
        ("[NEAT]\npop_size = 3\n", "DefaultGenome.*missing"),
        ("pop_size = 3\n[x", "not an INI file"),
        (_text(pop_size=None), "lacks the option 'pop_size'"),
        (_text(pop_size="many"), "pop_size = 'many'"),
        (_text(structural_mutation_surer="perhaps"), "surer = 'perhaps'"),
        (_text(no_fitness_termination="banana"), "termination = 'banana'"),
        (_text(reset_on_extinction="banana"), "extinction = 'banana'"),
        (_text(enabled_default="banana"), "enabled_default = 'banana'"),
        (_text(fitness_criterion="banana"), "criterion = 'banana'"),
        (_with_genome_options(time_constant_init_mean="x"), "constant_init_mean"),
        ("[NEAT]", "DefaultGenome.*missing"),
        (_text(feed_forward="perhaps"), "neither true nor false"),
        (_text(activation_options="sigmoyd"), "sigmoyd"),
        (_text(initial_connection="dense"), "initial_connection = 'dense'"),
        (_text(initial_connection="partial"), "fraction"),
        (_text(initial_connection="partial 0.5 0.5"), "one fraction"),
        (_text(initial_connection="partial most"), "one fraction"),
        (_text(initial_connection="partial 1.5"), "between 0 and 1"),
        (_text(initial_connection="full 0.5"), "only the partial kinds"),
        (_text(initial_connection=""), "Use one of"),
        (_text(weight_init_type="cauchy"), "cauchy"),
        (_text(node_add_prob="3"), "add_node_rate"),
        (_text(weight_min_value="99"), "Swap"),
    ],
)
def test_broken_files_are_refused_with_a_sentence(text, message):
    with pytest.raises(ValueError, match=message):
        from_neat_python_config(text)


def _value(genome, inputs):
    """A slow evaluator of ours, with neat-python's activations."""
    functions = {
        "tanh": lambda z: np.tanh(np.clip(2.5 * z, -60, 60)),
        "sin": lambda z: np.sin(np.clip(5 * z, -60, 60)),
        "gauss": lambda z: np.exp(-5 * np.clip(z, -3.4, 3.4) ** 2),
        "sigmoid": lambda z: 1 / (1 + np.exp(-np.clip(5 * z, -60, 60))),
        "identity": lambda z: z,
        "abs": abs,
    }
    values = dict(enumerate(inputs))
    links = links_of(genome)
    weights = np.asarray(genome.link_weight, np.float64)
    slots = {int(n): i for i, n in enumerate(genome.node_id) if n >= 0}

    def evaluate(node):
        if node not in values:
            slot = slots[node]
            total = float(genome.node_bias[slot])
            for weight, (_, source, target) in zip(weights, links, strict=False):
                if target == node:
                    total += weight * evaluate(source)
            name = ACTIVATION_NAMES[int(genome.node_activation[slot])]
            values[node] = functions[name](total)
        return values[node]

    return evaluate(len(inputs))


def _neat_python_value(cppn, inputs):
    """What the vectors' README says, in plain Python."""
    functions = {
        "tanh": lambda z: np.tanh(np.clip(2.5 * z, -60, 60)),
        "sin": lambda z: np.sin(np.clip(5 * z, -60, 60)),
        "gauss": lambda z: np.exp(-5 * np.clip(z, -3.4, 3.4) ** 2),
        "sigmoid": lambda z: 1 / (1 + np.exp(-np.clip(5 * z, -60, 60))),
        "identity": lambda z: z,
        "abs": abs,
    }
    values = dict(zip(cppn["input_ids"], inputs, strict=True))
    nodes = {n["id"]: n for n in cppn["nodes"]}
    for _ in nodes:
        for key, node in nodes.items():
            feeding = [(s, w) for s, t, w in cppn["connections"] if t == key]
            if key not in values and feeding and all(s in values for s, _ in feeding):
                total = sum(w * values[s] for s, w in feeding)
                z = node["bias"] + node["response"] * total
                values[key] = functions[node["activation"]](z)
    return values.get(cppn["output_id"], 0.0)


def test_genomes_of_the_vectors_keep_their_meaning():
    cases = json.loads(VECTORS.read_text())["cases"]
    rng = np.random.default_rng(0)
    genomes = []
    for case in cases:
        cppn = case["cppn"]
        genome = genome_from_neat_python(cppn, max_nodes=32, max_links=64)
        genomes.append(genome)
        for inputs in rng.uniform(-1, 1, (3, 5)):
            inputs[4] = 1.0
            expected = _neat_python_value(cppn, inputs.tolist())
            assert _value(genome, inputs.tolist()) == pytest.approx(
                expected, rel=1e-4, abs=1e-4
            )
    assert_valid(stack(*genomes), presets.pureples())


def test_the_response_is_folded_into_the_weights():
    cppn = {
        "nodes": [{"id": 0, "activation": "tanh", "bias": 0.5, "response": 2.0}],
        "connections": [[-1, 0, 0.25]],
        "input_ids": [-1],
        "output_id": 0,
    }
    genome = genome_from_neat_python(cppn)
    assert float(genome.link_weight[0]) == 0.5
    assert float(genome.node_bias[1]) == 0.5


def test_what_is_never_evaluated_is_left_out_and_a_dead_output_is_zero():
    node = lambda key: {"id": key, "activation": "sin", "bias": 0.7, "response": 1.0}
    cppn = {
        "nodes": [node(0), node(5), node(6)],
        "connections": [[5, 6, 1.0], [6, 0, 1.0]],
        "input_ids": [-1, -2],
        "output_id": 0,
    }
    genome = genome_from_neat_python(cppn)
    assert int(genome.num_nodes) == 3 and int(genome.num_links) == 0
    assert ACTIVATION_NAMES[int(genome.node_activation[2])] == "identity"
    assert float(genome.node_bias[2]) == 0.0
    kept = genome_from_neat_python(cppn, prune_unfed=False)
    assert int(kept.num_nodes) == 5 and int(kept.num_links) == 2


def _object(nodes, connections):
    """A genome object; `connections` are (source, target, is enabled)."""
    neat = pytest.importorskip("neat")
    genome = neat.DefaultGenome(1)
    for key, bias in nodes.items():
        node = neat.genes.DefaultNodeGene(key)
        node.bias, node.response = bias, 1.0
        node.activation, node.aggregation = "tanh", "sum"
        genome.nodes[key] = node
    for number, (source, target, enabled) in enumerate(connections):
        ends = (source, target)
        link = neat.genes.DefaultConnectionGene(ends, innovation=number)
        link.weight, link.enabled = 0.3, enabled
        genome.connections[ends] = link
    return genome


def test_genome_objects_of_neat_python_are_read():
    genome = _object({0: 0.1, 7: 0.2}, [(-1, 7, True), (7, 0, True), (-2, 0, False)])
    ours = genome_from_neat_python(genome, input_ids=[-1, -2], output_ids=[0])
    assert links_of(ours) == [(0, 0, 3), (1, 3, 2)]


def _config_of_objects():
    functions = types.SimpleNamespace(get={"tanh": neat_tanh}.get)
    sums = types.SimpleNamespace(get={"sum": sum}.get)
    return types.SimpleNamespace(
        genome_config=types.SimpleNamespace(
            input_keys=[-1],
            output_keys=[0],
            activation_defs=functions,
            aggregation_function_defs=sums,
        )
    )


def neat_tanh(z):
    return float(np.tanh(np.clip(2.5 * z, -60, 60)))


def test_unfed_nodes_of_genome_objects_yield_their_bias_as_in_neat_python_2():
    neat = pytest.importorskip("neat", minversion="2.0")
    genome = _object({0: 0.1, 7: 0.2}, [(-1, 0, True), (7, 0, True)])
    network = neat.nn.FeedForwardNetwork.create(genome, _config_of_objects())
    ours = genome_from_neat_python(genome, input_ids=[-1], output_ids=[0])
    assert _value(ours, [0.05]) == pytest.approx(network.activate([0.05])[0], rel=1e-5)
    pruned = genome_from_neat_python(
        genome, input_ids=[-1], output_ids=[0], prune_unfed=True
    )
    assert int(pruned.num_nodes) == 2 and int(pruned.num_links) == 0


_CYCLIC = {
    "nodes": [
        {"id": key, "activation": "tanh", "bias": bias, "response": 1.0}
        for key, bias in ((0, 0.1), (5, 0.2), (6, 0.3), (7, 0.4), (8, 0.5))
    ],
    # Nothing feeds 7; it feeds 8.
    "connections": [
        [-1, 5, 0.3],
        [5, 6, 0.3],
        [6, 5, 0.3],
        [6, 0, 0.3],
        [0, 0, 0.3],
        [7, 8, 0.3],
        [8, 0, 0.3],
    ],
    "input_ids": [-1],
    "output_id": 0,
}


def test_a_cycle_is_refused_by_name_where_networks_feed_forward():
    with pytest.raises(ValueError, match=r"0 -> 0,.*feed_forward=False"):
        genome_from_neat_python(_CYCLIC)
    links = [link for link in _CYCLIC["connections"] if link[:2] != [0, 0]]
    with pytest.raises(ValueError, match=r"5 -> 6 -> 5,|6 -> 5 -> 6,"):
        genome_from_neat_python({**_CYCLIC, "connections": links})
    ends = [(source, target, True) for source, target, _ in links]
    genome = _object({0: 0.1, 5: 0.2, 6: 0.3, 7: 0.4, 8: 0.5}, ends)
    with pytest.raises(ValueError, match=r"5 -> 6 -> 5,|6 -> 5 -> 6,"):
        genome_from_neat_python(genome, input_ids=[-1], output_ids=[0])


def test_recurrent_genomes_keep_their_cycles_and_their_meaning():
    neat = pytest.importorskip("neat")
    kept = genome_from_neat_python(_CYCLIC, feed_forward=False, prune_unfed=False)
    assert int(kept.num_nodes) == 6 and int(kept.num_links) == 7
    pruned = genome_from_neat_python(_CYCLIC, feed_forward=False)
    # Only 7 is left out: a recurrent network evaluates 8, which it feeds.
    assert int(pruned.num_nodes) == 5 and int(pruned.num_links) == 6

    ends = [(source, target, True) for source, target, _ in _CYCLIC["connections"]]
    genome = _object({0: 0.1, 5: 0.2, 6: 0.3, 7: 0.4, 8: 0.5}, ends)
    theirs = neat.nn.RecurrentNetwork.create(genome, _config_of_objects())
    expected = [list(theirs.activate([0.3])) for _ in range(4)][-1]
    decoder = Direct(
        num_inputs=1, num_outputs=1, is_recurrent=True, steps=4, dialect="neat-python"
    )
    networks = decoder.decode(stack(pruned))
    actual = np.asarray(evaluate(networks, [[0.3]])).ravel()
    assert actual == pytest.approx(expected, rel=1e-4)
    other = evaluate(decoder.decode(stack(kept)), [[0.3]])
    assert np.asarray(other).ravel() != pytest.approx(expected, rel=1e-3)


def _with_bias(bias):
    return {"nodes": [{"id": 0, "activation": "tanh", "bias": bias}]}


@pytest.mark.parametrize(
    "changes,message",
    [
        ({"connections": [[-1, 9, 1.0]]}, "-1 -> 9"),
        ({"connections": [[-1, 0, float("nan")]]}, "-1 -> 0.*finite"),
        ({"connections": [[-1, 0, 1e300]]}, "-1 -> 0.*finite"),
        (_with_bias(float("nan")), "Node 0.*bias.*finite"),
        (_with_bias(float("-inf")), "Node 0.*bias.*finite"),
        ({"input_ids": None}, "input_ids"),
        ({"input_ids": [-1, -1]}, "name a node twice"),
        ({"output_id": 7}, "output 7 is not among"),
        ({"nodes": [{"id": 0, "bias": 0.0}]}, "no 'activation'"),
        ({"connections": [[-1, 0, "heavy"]]}, "-1 -> 0 is 'heavy'"),
        ({"connections": [[-1, 0, 1.0], [-1, 0, 2.0]]}, "-1 -> 0 occurs twice"),
        ({"nodes": [{"id": 0, "activation": "sine2", "bias": 0.0}]}, "sine2"),
        (_with_bias(True), "Node 0 has the bias True"),
        (_with_bias("1"), "Node 0 has the bias '1'"),
        (_with_bias(10**400), "Node 0 has the bias 1000"),
        ({"nodes": [{"id": True, "activation": "tanh", "bias": 0.0}]}, "True is no id"),
        ({"nodes": [{"id": 0.0, "activation": "tanh", "bias": 0.0}]}, "0.0 is no id"),
        ({"nodes": 3}, "nodes are 3"),
        ({"nodes": ["tanh"]}, "'tanh' is no mapping"),
        ({"connections": {"a": 1}}, "connections are {'a': 1}"),
        ({"connections": [[-1, 0, True]]}, "-1 -> 0 is True"),
        ({"connections": [["-1", 0, 1.0]]}, "'-1' is no id"),
        ({"connections": [[-(10**5000), 0, 1.0]]}, "more than 4300 digits is no id"),
        ({"input_ids": 5}, "input_ids is 5"),
        ({"input_ids": [0], "output_id": 1}, "input 0 is among the genome's nodes"),
        ({"input_ids": "ab"}, "input_ids is 'ab'"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value,
)
def test_bad_genomes_are_refused_with_a_sentence(changes, message):
    cppn = {
        "nodes": [{"id": 0, "activation": "tanh", "bias": 0.0, "response": 1.0}],
        "connections": [[-1, 0, 1.0]],
        "input_ids": [-1],
        "output_id": 0,
    }
    with pytest.raises(ValueError, match=message):
        genome_from_neat_python({**cppn, **changes})


def test_what_is_no_genome_at_all_is_refused():
    for genome in (None, 3, "genome", object()):
        with pytest.raises(ValueError, match="no genome of neat-python"):
            genome_from_neat_python(genome, input_ids=[-1], output_ids=[0])


@pytest.mark.parametrize("is_cyclic", [False, True])
def test_long_chains_take_no_longer_than_they_are(is_cyclic: bool):
    num = 20_000  # with the square of it, minutes
    nodes = [{"id": k, "activation": "tanh", "bias": 0.0} for k in range(num)]
    links = [(k, k - 1, 1.0) for k in range(num - 1, 0, -1)]
    cppn = {
        "nodes": nodes,
        "connections": [(-1, num - 1, 1.0), *links, *([(0, 9, 1.0)] * is_cyclic)],
        "input_ids": [-1],
        "output_id": 0,
    }
    if is_cyclic:
        with pytest.raises(ValueError, match=r"the cycle 0 -> 9 -> 8 .*Give"):
            genome_from_neat_python(cppn)
    else:
        assert int(genome_from_neat_python(cppn).num_nodes) == num + 1


def test_a_genome_larger_than_the_capacity_is_refused():
    cppn = {
        "nodes": [{"id": 0, "activation": "tanh", "bias": 0.0, "response": 1.0}],
        "connections": [[-1, 0, 1.0], [-2, 0, 1.0]],
        "input_ids": [-1, -2],
        "output_id": 0,
    }
    with pytest.raises(ValueError, match="max_links=2"):
        genome_from_neat_python(cppn, max_links=1)


def _connected(key, enabled):
    """A genome of neat-python with one connection."""
    node = types.SimpleNamespace(
        activation="tanh", bias=0.0, response=1.0, aggregation="sum"
    )
    link = types.SimpleNamespace(weight=1.0, enabled=enabled)
    return types.SimpleNamespace(nodes={0: node}, connections={key: link})


@pytest.mark.parametrize(
    ("key", "enabled", "said"),
    [
        ((-1, 0, 3), True, r"The connection \(-1, 0, 3\) is not \(source, target\)"),
        ((-1,), True, "is not .source, target."),
        (5, True, "The connection 5 is not"),
        ("ab", True, "The connection 'ab' is not"),
        ((-1, 0), "False", r"enabled of the connection \(-1, 0\) is 'False'"),
        ((-1, 0), "maybe", "is 'maybe'. Give True or False"),
        ((-1, 0), None, "is None"),
    ],
)
def test_connections_that_are_none_are_refused_in_words(key, enabled, said):
    genome = _connected(key, enabled)
    with pytest.raises(ValueError, match=said):
        genome_from_neat_python(genome, input_ids=[-1], output_ids=[0])


@pytest.mark.parametrize("enabled", [True, False, np.True_, np.False_])
def test_switches_of_connections_are_read(enabled):
    genome = _connected((-1, 0), enabled)
    ours = genome_from_neat_python(genome, input_ids=[-1], output_ids=[0])
    assert int(ours.num_links) == int(enabled)
