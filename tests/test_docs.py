"""The API pages show every public name; what pages tell people to write is accepted.

`make docs` checks what pages look like, `test_examples.py` runs the Python on them.
"""

import ast
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import substrax.runs
from paper.plan import plan_from_toml
from substrax.cli import _inspect, _play, _run, _show, _sweep, _verify, main
from substrax.config import Experiment, load_experiment
from substrax.cppn import ACTIVATION_NAMES
from substrax.decoders import OUTPUTS
from substrax.front._sweep_plan import prepare
from substrax.settings import key_of, known_settings, tables
from substrax.sweeps import SweepPlan
from tests.pages import PAGES, Block, blocks, read_blocks

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


LANGUAGES = {"python", "sh", "console", "toml", "text", ""}
BLOCKS = [block for page in PAGES for block in blocks(page)]


@pytest.mark.parametrize(
    "fence",
    [
        "```python\nx = 1\n```",
        "``` py\nx = 1\n```",
        '```Python title="x.py"\nx = 1\n```',
        "``` { .python .annotate }\nx = 1\n```",
        "~~~~python3\nx = 1\n~~~~",
        "- a list\n\n    ```python\n    x = 1\n    ```",
        "1. ```py\n   x = 1\n   ```",
        "text\n\n```text\n```\n\n````python\nx = 1\n````",
    ],
)
def test_python_is_found_however_its_fence_is_written(fence):
    (block,) = [block for block in read_blocks(fence) if block.language == "python"]
    assert block.text == "x = 1\n"
    assert block.is_run


def test_a_comment_says_what_is_not_run():
    page = "<!-- not run: it is theirs -->\n```python\nx\n```\n```python\ny\n```\n"
    assert [block.is_run for block in read_blocks(page)] == [False, True]


def test_fences_name_a_language_that_is_checked():
    assert [str(b) for b in BLOCKS if b.language not in LANGUAGES] == []


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.language == "python" and not b.is_run], ids=str
)
def test_python_that_is_not_run_is_python_of_others(block):
    compile(block.text, str(block), "exec")
    assert "substrax" not in block.text


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Callable[[Path], None]:
    """Work where a reader would: in a folder with the files that a page names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "DIR").mkdir()
    (tmp_path / "DIR" / "config.toml").write_text(load_experiment("xor").to_toml())

    def write_files(page: Path) -> None:
        for block in blocks(page):
            if block.title:
                (tmp_path / block.title).write_text(block.text)

    return write_files


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "toml"], ids=str)
def test_configurations_are_accepted(block, folder):
    folder(block.page)
    if "arm" in tomllib.loads(block.text):
        plan = plan_from_toml(block.text, "mine.toml")
        Experiment.from_toml(plan.tasks()[-1].config).build()
    elif "experiment" in tomllib.loads(block.text):
        plan = SweepPlan.from_toml(block.text)
        assert prepare(plan, Path("sweep"), Path()).folder.num_runs > 1
    else:
        Experiment.from_toml(block.text).check()


def commands_of(block: Block) -> list[tuple[str, str]]:
    """The commands of a block, and what a console answers to each."""
    text = block.text.replace("\\\n", " ")
    if block.language == "console":
        parts = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)
        return [(command, answer) for command, answer in parts]
    return [(line, "") for line in text.splitlines()]


def shell_commands() -> list[tuple[str, list[str], str]]:
    """All commands of all pages: where they are, their words, and the answer."""
    found = []
    for block in BLOCKS:
        if block.language in ("sh", "console", ""):
            for line, answer in commands_of(block):
                for part in line.split("&&"):
                    words = shlex.split(part.partition(" > ")[0], comments=True)
                    found.append((str(block), words, answer))
    return found


def inline_commands() -> list[tuple[str, list[str], str]]:
    """Commands within sentences, with something in the place of `DIR` and the like."""
    examples = {"EXPERIMENT": "xor", "[EXPERIMENT]": "xor", "NAME": "xor", "F": "json"}
    found = []
    for page in PAGES:
        if page.name == "CHANGELOG.md":  # which names what is gone
            continue
        text = re.sub(r"^ *(```|~~~).*?^ *\1", "", page.read_text(), flags=re.S | re.M)
        for command in re.findall(r"(?<!`)`(substrax [a-z][^`]*)`(?!`)", text):
            words = [examples.get(word, word) for word in shlex.split(command)]
            if len(words) == 2:  # a command that is only named must exist
                words.append("--help")
            found.append((str(page.relative_to(ROOT)), words, ""))
    return found


COMMANDS = [
    (where, words[1:], answer)
    for where, words, answer in [*shell_commands(), *inline_commands()]
    if words and words[0] == "substrax"
]


def test_commands_are_found():
    lines = {" ".join(words) for _, words, _ in COMMANDS}
    assert "run xor --report" in lines  # in a block
    assert "verify tests/data/pureples.json" in lines  # after a prompt
    assert "run DIR/config.toml --depth 5" in lines  # in a sentence


def status_of(words: list[str]) -> object:
    try:
        return main(words)
    except SystemExit as exit:  # argparse's own, for help and for flags it misses
        return exit.code


@pytest.mark.parametrize(
    ("where", "words", "answer"),
    COMMANDS,
    ids=[f"{where} {' '.join(words)}" for where, words, _ in COMMANDS],
)
def test_commands_are_understood(where, words, answer, folder, monkeypatch, capsys):
    """Sub-commands, flags and settings exist; nothing is done. A command whose answer
    is shown to be a complaint is a mistake on purpose, and gets that complaint."""
    folder(ROOT / where.partition(":")[0])

    def check_own(arguments) -> int:
        place = arguments.experiment.partition(":")[0]
        if place.endswith(".py") and Path(place).exists():
            load_experiment(arguments.experiment).with_settings(arguments.settings)
        return 0

    monkeypatch.setattr(_run, "run", check_own)
    for module, name in (
        (_run, "resume"),
        (_sweep, "sweep"),
        (_inspect, "report"),
        (_inspect, "export"),
        (_play, "play"),
        (_show, "show"),
        (_show, "show_if_complete"),
        (_verify, "verify"),
    ):
        monkeypatch.setattr(module, name, lambda arguments: 0)
    configuration = Path("DIR/config.toml").read_text()
    monkeypatch.setattr(substrax.runs, "check_directory", lambda directory: None)
    monkeypatch.setattr(substrax.runs, "read_config", lambda directory: configuration)
    status = status_of(words)
    said = capsys.readouterr().err
    if answer.startswith("substrax: "):
        assert status == 2
        assert said.split() == answer.split()
    else:
        assert (status, said) == (0, "")


def known_words() -> set[str]:
    """Names of methods, presets, seeds, connections, outputs of CPPNs, functions."""
    known = tables()
    return {
        *known.methods,
        *known.presets,
        *known.seeds,
        *known.connections,
        *OUTPUTS,
        *ACTIVATION_NAMES,
    }


def understands(word: str) -> bool:
    """Whether some method has a setting of this name, or takes this value for it."""
    name, equals, value = word.partition("=")
    for method in tables().methods:
        try:
            key_of(name, known_settings("xor", method, "substrax"), ("xor", method, ""))
            if equals and value:
                settings = {"method.name": method, name: value}
                load_experiment("xor").with_settings(settings)
            return True
        except ValueError:
            continue
    return False


def test_settings_that_the_page_on_choosing_names_exist():
    page = ROOT / "docs" / "choosing.md"
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    words = re.findall(r"`([^`]+)`", text)
    words = [word for word in words if "(" not in word]  # Python
    assert {"method.weight_threshold", "start_from=x-locality"} <= set(words)
    unknown = {w for w in words if w not in known_words() and not understands(w)}
    assert unknown == {"substrax show"}


def test_other_commands_lead_somewhere():
    """Targets of make, and modules of ours."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for where, words, _ in shell_commands():
        if words[:1] == ["make"]:
            named = {word for word in words[1:] if "=" not in word}
            assert named <= targets, where
        if words[:2] == ["python", "-m"] and words[2].startswith(("bench", "paper")):
            path = ROOT / words[2].replace(".", "/")
            assert path.is_dir() or path.with_suffix(".py").exists(), where
