"""The API pages show every public name; `make docs` checks what they look like."""

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
API = ROOT / "docs" / "api"


def load_public_names():
    path = ROOT / "docs" / "_public_names.py"
    spec = importlib.util.spec_from_file_location("docs_public_names", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


docs = load_public_names()
PACKAGES = [name for name in docs.packages() if name != "substrax.cli"]


def origin(package: str, name: str) -> tuple[str, str]:
    """Where a public name is defined: a module, and its name there."""
    path = docs.package_path(package)
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        if name in [alias.name for alias in node.names]:
            parts = package.split(".")
            up = node.level - (path.name == "__init__.py")
            module = ".".join([*parts[: len(parts) - up], node.module or name])
            return origin(module, name) if node.module else (module, "")
    return package, name


def has_docstring(module: str, name: str) -> bool:
    body = ast.parse(docs.package_path(module).read_text()).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return bool(ast.get_docstring(node))
        if name in docs.assigned(node):
            return isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    return not name


@pytest.fixture(scope="module")
def shown() -> set[tuple[str, str]]:
    """Origins of all names on the API pages."""
    names = set().union(*(docs.shown_names(p.read_text()) for p in API.glob("*.md")))
    return {origin(*name.rsplit(".", 1)) for name in names}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_on_a_page(package, shown):
    names = docs.public_names(package)
    assert names
    assert [name for name in names if origin(package, name) not in shown] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_says_what_it_is(package):
    """Names without a docstring would be left out of the pages."""
    names = docs.public_names(package)
    assert [n for n in names if not has_docstring(*origin(package, n))] == []


def test_every_api_page_is_in_the_navigation_and_in_the_index():
    navigation = (ROOT / "mkdocs.yml").read_text()
    index = (API / "index.md").read_text()
    for page in API.glob("*.md"):
        assert f"api/{page.name}\n" in navigation
        assert page.name == "index.md" or f"({page.name})" in index


def test_names_are_read_from_the_source_of_packages_and_pages():
    assert origin("substrax.neat", "NEAT") == ("substrax.neat._neat", "NEAT")
    assert origin("substrax.neat", "presets") == ("substrax.neat.presets", "")
    page = "::: substrax.neat\n    options:\n      heading_level: 3\n"
    assert docs.shown_names(page) >= {"substrax.neat.NEAT", "substrax.neat.presets"}
    page = "::: substrax.neat\n    options:\n      members:\n        - NEAT\n"
    assert docs.shown_names(page) == {"substrax.neat.NEAT"}
