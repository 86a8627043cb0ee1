"""Files that people wrote: whatever is in them, a document or a sentence."""

import os
import time
from pathlib import Path

import pytest

from substrax._documents import parse_json, parse_toml, read_text
from substrax._types import shown
from substrax.config import load_experiment

DEEP = 100_000


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [
        (parse_toml, "a = ", "the file is not valid TOML: Invalid value"),
        (parse_toml, "a = " + "9" * 5000, "whole number has more than 4300 digits"),
        (parse_toml, "a = " + "[" * DEEP, "the file is nested too deeply"),
        (parse_toml, "a\0 = 1", "the file is not valid TOML"),
        (parse_toml, ".".join("a" * DEEP) + " = 1", "a key of more than 64 parts"),
        (parse_toml, "[" + ".".join(['"a"'] * DEEP) + "]", "more than 64 parts"),
        (parse_toml, "x = {" + ".".join("a" * DEEP) + " = 1}", "more than 64 parts"),
        (parse_json, "{", "the file is not JSON: Expecting"),
        (parse_json, "[" * DEEP, "the file is nested too deeply"),
        (parse_json, "9" * 5000, "whole number has more than 4300 digits"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or shown(value),
)
def test_what_cannot_be_parsed_is_refused_at_once(parse, text, sentence: str) -> None:
    start = time.perf_counter()
    with pytest.raises(ValueError, match=sentence) as caught:
        parse(text, "the file")
    assert len(str(caught.value)) < 500
    # It was minutes before: the parser's time grows with the square of a key's length.
    assert time.perf_counter() - start < 30


def test_dots_that_join_no_keys_are_no_keys() -> None:
    text = 'a = """\n' + "." * 500 + '\n"""\nb = [' + "1.5, " * 500 + "]\n"
    text += "c = [" + '"x1 -> near 1.0", ' * 500 + "]\n"
    assert len(parse_toml(text, "the file")["b"]) == 500


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"a = 1\n\xff")
    for path, sentence in (
        (binary, "binary.toml is not a text: byte 6 is not UTF-8"),
        (tmp_path, "it is a directory"),
        ("/dev/null", "it is a device"),
        (tmp_path / "none", "No such file"),
        ("a\0b", "NUL"),
        ("x" * 10_000, "name too long"),
    ):
        with pytest.raises(ValueError, match=sentence) as caught:
            read_text(path)
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "name", ["x" * 10_000, "a\0b", "a\0b.toml", os.devnull], ids=shown
)
def test_an_experiment_of_an_impossible_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"no experiment|cannot read"):
        load_experiment(name)


def test_lines_end_as_on_any_system(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"a = 1\r\nb = 2\r\n")
    assert parse_toml(read_text(path), "it") == {"a": 1, "b": 2}
