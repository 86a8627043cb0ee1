"""Settings as data: what they say, and that nobody has to wait for JAX."""

import subprocess
import sys

import pytest

from substrax.cli import main
from substrax.config import load_experiment
from substrax.config._tables import make_tables
from substrax.experiments import builtin_experiments, read_experiment
from substrax.settings import Tables, flatten, resolve, tables


def test_what_is_written_down_is_what_the_classes_say():
    assert tables() == make_tables(), "run `make settings`"


def test_tables_survive_being_written():
    made = make_tables()
    assert Tables.from_document(made.to_document()) == made


@pytest.mark.parametrize("name", builtin_experiments())
def test_an_experiment_is_resolved_alike_with_and_without_its_objects(name):
    from substrax._documents import parse_toml

    given = flatten(parse_toml(read_experiment(name)[1], name))
    assert resolve(given).to_toml() == load_experiment(name).to_toml()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    words = "run xor --depth 1 --population 8 --generations 1 --target 2 --quiet --out"
    assert main([*words.split(), str(path)]) == 0
    return path


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("--help", 0, "Evolve networks"),
        ("list", 0, "Presets of NEAT"),
        ("list xor", 0, "population_size"),
        ("list xor --method es", 0, "iteration_level"),
        ("run xro", 2, "did you mean 'xor'"),
        ("run xor --dpeth 3", 2, "did you mean 'depth'"),
        ("run xor --method emm", 2, "did you mean 'emr'"),
        ("run xor --population many", 2, "must be a whole number"),
        ("show RUN", 0, "best fitness"),
        ("show RUN --json", 0, '"measures": {"accuracy"'),
        ("resume RUN", 0, "Go on with: substrax resume"),
        ("resume RUN --generatoins 3", 2, "did you mean 'generations'"),
        ("show nowhere", 2, "does not exist"),
        ("resume nowhere", 2, "does not exist"),
    ],
)
def test_answers_that_need_no_jax_do_not_import_it(words, status, says, finished):
    code = (
        "import sys\n"
        "from substrax.cli import main\n"
        "try:\n"
        "    status = main(sys.argv[1:])\n"
        "except SystemExit as error:\n"
        "    status = error.code\n"
        "assert 'jax' not in sys.modules\n"
        "sys.exit(status)"
    )
    given = [str(finished) if word == "RUN" else word for word in words.split()]
    done = subprocess.run(
        [sys.executable, "-c", code, *given],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert says in done.stdout + done.stderr


def test_a_run_that_was_changed_is_looked_at_again(finished, capsys):
    config = finished / "config.toml"
    text = config.read_text()
    config.write_text(text.replace("generations = 1", "generations = 2"))
    try:
        assert main(["resume", str(finished)]) == 0
    finally:
        assert "2 of 2 generations" in capsys.readouterr().out
