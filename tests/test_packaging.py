"""What people download: the files of wheel and sdist, and what is said about them."""

import re
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from scikit_build_core import build

ROOT = Path(__file__).parent.parent
WITHOUT_ENGINE: dict[str, list[str] | str] = {
    "wheel.cmake": "false",
    "wheel.py-api": "py3",
}
"""Settings of a wheel: the engine takes a minute to compile."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = build.build_wheel(str(folder), WITHOUT_ENGINE)
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


def test_the_sdist_is_what_builds_the_package_and_what_there_is_to_read(sdist):
    names = {name.partition("/")[2] for name in sdist.getnames()}
    tops = {name.partition("/")[0] for name in names}
    assert tops == {
        "CHANGELOG.md",
        "CITATION.cff",
        "CMakeLists.txt",
        "CONTRIBUTING.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "docs",
        "examples",
        "pyproject.toml",
        "src",
    }
    for folder in ("substrax", "native"):
        for path in (ROOT / "src" / folder).rglob("*"):
            is_source = path.suffix not in (".so", ".pyc") and path.is_file()
            assert str(path.relative_to(ROOT)) in names or not is_source, path
    for name in names:
        assert not re.match(r"docs/(results|images|notebooks)|.*\.so$", name), name


def test_a_wheel_is_built_from_the_sdist_alone(sdist, wheel, tmp_path, monkeypatch):
    sdist.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    monkeypatch.chdir(unpacked)
    name = build.build_wheel(str(tmp_path), WITHOUT_ENGINE)
    with zipfile.ZipFile(tmp_path / name) as found:
        assert set(found.namelist()) == set(wheel.namelist())
