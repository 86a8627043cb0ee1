"""Which names are public, and whether the API pages show all of them.

`from ._neat import NEAT as NEAT` in a package's `__init__.py` makes a name public, and
so does a definition there. MkDocs runs `on_page_content` for each page that it builds;
the tests compare the names with the pages' sources.
"""

import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "substrax"


def package_path(package: str) -> Path:
    """The file of a package or module: `substrax.neat`, `substrax.neat.presets`."""
    path = SOURCE.joinpath(*package.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def packages() -> list[str]:
    """All packages whose names are not private, substrax itself first."""
    names = (path.parent.name for path in SOURCE.glob("*/__init__.py"))
    return ["substrax", *sorted(f"substrax.{name}" for name in names)]


def assigned(node: ast.stmt) -> list[str]:
    """The names that a statement gives a value to."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def public_names(package: str) -> list[str]:
    """The public names of a package, in the order of its source."""
    tree = ast.parse(package_path(package).read_text())
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names += [a.name for a in node.names if a.name == a.asname]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        names += assigned(node)
    return [name for name in names if not name.startswith("_")]


def shown_names(markdown: str) -> set[str]:
    """What a page shows, with full names: `::: package`, and its `members` if given."""
    names: set[str] = set()
    for package, options in re.findall(r"^::: (\S+)\n((?:    .*\n)*)", markdown, re.M):
        members = re.findall(r"^        - (\w+)$", options, re.M)
        names |= {f"{package}.{name}" for name in members or public_names(package)}
    return names


def on_page_content(html: str, page: Any, **_: object) -> None:
    """Fails the build if a name is missing on the page that should show it."""
    names = sorted(shown_names(page.markdown))
    lost = [name for name in names if f'id="{name}"' not in html]
    # a module has a directive of its own instead
    lost = [name for name in lost if f"::: {name}\n" not in page.markdown]
    if lost:
        from mkdocs.exceptions import PluginError

        raise PluginError(f"{page.file.src_uri} does not show {', '.join(lost)}")
