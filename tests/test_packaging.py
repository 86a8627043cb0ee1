"""What people download: the files of wheel and sdist, and what is said about them."""

import re
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from scikit_build_core import build

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """Without the engine, which takes a minute to compile."""
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        settings: dict[str, list[str] | str] = {
            "wheel.cmake": "false",
            "wheel.py-api": "py3",
        }
        name = build.build_wheel(str(folder), settings)
    return zipfile.ZipFile(folder / name)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> tarfile.TarFile:
    folder = tmp_path_factory.mktemp("sdist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = build.build_sdist(str(folder))
    return tarfile.open(folder / name)


def test_the_wheel_is_the_product_alone(wheel):
    files = wheel.namelist()
    tops = {name.partition("/")[0] for name in files}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"substrax"}
    for name in files:
        assert not re.search(r"paper|bench|reproduce|test|\.so$|__pycache__", name), (
            name
        )
    for name in (
        "substrax/py.typed",
        "substrax/settings/tables.json",
        "substrax/experiments/xor.toml",
    ):
        assert name in files
    assert sum(entry.file_size for entry in wheel.infolist()) < 2_000_000


def test_all_modules_are_in_the_wheel(wheel):
    files = set(wheel.namelist())
    for path in (ROOT / "src" / "substrax").rglob("*.py"):
        assert str(path.relative_to(ROOT / "src")) in files


def test_the_description_stands_by_itself(wheel):
    (name,) = [n for n in wheel.namelist() if n.endswith("/METADATA")]
    metadata = Parser().parsestr(wheel.read(name).decode())
    assert metadata["Version"] == "0.2.0"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    assert isinstance(text, str) and text.startswith("# substrax")
    links = re.findall(r"\]\(([^)]*)\)|src=\"([^\"]*)\"", text)
    assert all(a.startswith("https://") or b for a, b in links)


def test_the_sdist_builds_and_tests_but_holds_no_results(sdist):
    names = [name.partition("/")[2] for name in sdist.getnames()]
    for name in (
        "CMakeLists.txt",
        "LICENSE",
        "docs/pypi.md",
        "src/native/engine_double.cpp",
    ):
        assert name in names, name
    for name in names:
        first = name.partition("/")[0]
        assert first not in ("paper", "benchmarks", ".ci", ".github", "runs"), name
        assert not name.startswith("docs/results")


def test_the_tests_in_the_sdist_need_nothing_that_is_not_in_it(sdist):
    for member in sdist.getmembers():
        if re.search(r"/tests/.*\.py$", member.name):
            program = sdist.extractfile(member).read().decode()
            needed = re.findall(r"^(?:from|import) (\w+)", program, re.M)
            assert not {"benchmarks", "paper"} & set(needed), member.name
