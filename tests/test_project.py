"""What holds for the project as a whole: packaging, imports, strictness, documents."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

ROOT = Path(__file__).parent.parent


def run_python(code: str) -> str:
    """What `code` prints in a fresh interpreter."""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_all_places_name_the_same_version():
    import substrax

    version = importlib.metadata.version("substrax")
    assert substrax.__version__ == version
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {version}\n" in citation
    changelog = (ROOT / "CHANGELOG.md").read_text()
    released = re.search(r"^## ([\d.]+) - ([\d-]+)$", changelog, re.M)
    assert released is not None and released[1] == version
    assert f"\ndate-released: {released[2]}\n" in citation


def test_package_is_typed_and_licensed():
    metadata = importlib.metadata.metadata("substrax")
    assert metadata["License-Expression"] == "Apache-2.0"
    assert (ROOT / "src" / "substrax" / "py.typed").exists()
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_import_needs_only_the_core_dependencies():
    """Extras stay extras: plots, graphs and rivals are never imported with us."""
    code = (
        "import sys, pkgutil, importlib, substrax\n"
        "for module in pkgutil.iter_modules(substrax.__path__, 'substrax.'):\n"
        "    importlib.import_module(module.name)\n"
        "print(*sorted(name for name in sys.modules if '.' not in name))"
    )
    imported = set(run_python(code).split())
    extras = {"matplotlib", "networkx", "neat", "multineat", "sklearn", "beartype"}
    extras |= {"tensorboardX", "wandb", "mlflow"}
    assert "substrax" in imported
    assert not imported & extras


def test_import_leaves_jax_as_it_was():
    """The library neither configures JAX nor starts a backend; the caller does."""
    code = (
        "import jax\n"
        "from jax._src import xla_bridge\n"
        "before = dict(jax.config.values)\n"
        "import pkgutil, importlib, substrax\n"
        "for module in pkgutil.iter_modules(substrax.__path__, 'substrax.'):\n"
        "    importlib.import_module(module.name)\n"
        "print(before == dict(jax.config.values))\n"
        "print(xla_bridge.backends_are_initialized())"
    )
    assert run_python(code).split() == ["True", "False"]


def test_the_page_on_design_names_the_layers_that_exist():
    """From top to bottom, and with a word on what each is for."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    page = (ROOT / "docs" / "design.md").read_text()
    section = page[page.index("### Layers") : page.index("### Beside the package")]
    rows = re.findall(r"^\| (`.*?) \| \S", section, re.M)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert named == re.findall(r"\w+", " ".join(layers))


def test_tests_run_under_strict_promotion():
    with pytest.raises(jax.dtypes.TypePromotionError, match="promotion"):
        jnp.add(jnp.zeros(2, jnp.float32), jnp.zeros(2, jnp.int32))
    with pytest.raises(ValueError, match="rank"):
        jnp.add(jnp.zeros((2, 2)), jnp.zeros(2))


def test_double_precision_is_asked_for_by_the_test_that_needs_it():
    assert jnp.zeros(1).dtype == jnp.float32
    with jax.enable_x64(True):
        assert jnp.zeros(1).dtype == jnp.float64
    assert jnp.zeros(1).dtype == jnp.float32


def test_faults_are_put_into_modules_that_exist_and_reasons_are_about_their_lines():
    from tests.mutants._subjects import SUBJECTS

    sources = ROOT / "src" / "substrax"
    for subject in SUBJECTS:
        for place in (sources / subject.module, *map(ROOT.joinpath, subject.tests)):
            assert place.exists(), place
        for place in map(ROOT.joinpath, subject.others):
            assert place.exists(), place
    explained = (ROOT / "tests" / "mutants" / "equivalents.toml").read_text()
    for module, reasons in tomllib.loads(explained).items():
        lines = {line.strip() for line in (sources / module).read_text().splitlines()}
        for name in reasons:
            assert name.split(" => ")[0] in lines, f"{module} has no line {name}"
