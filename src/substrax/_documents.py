"""Files that people wrote, read and parsed; what is wrong is said with their name."""

import json
import os
import re
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

_MAX_KEY_PARTS = 64
"""Of a dotted key in TOML. The parser takes time with the square of their number."""

_QUOTED = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'')
_BETWEEN = re.compile(r"[=,\[\]{}\n]")
_JOINT = re.compile(r"\w[ \t]*\.(?=[ \t]*\w)")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file."""
    if "\0" in os.fspath(path):
        raise ValueError(f"cannot read {_named(path)!r}: a file's name has no NUL.")
    try:
        # A device may have no end.
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            kind = "directory" if stat.S_ISDIR(mode) else "device"
            raise ValueError(f"cannot read {path}: it is a {kind}, not a file.")
        data = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read {_named(path)}: {error.strerror}.") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not a text: byte {error.start} is not UTF-8. Save it as UTF-8."
        ) from error
    return text.replace("\r\n", "\n")


def _named(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    return name if len(name) <= 200 else f"{name[:197]}..."


def parse_json(text: str, where: str) -> Any:
    """A JSON document; `where` names it in the error."""
    try:
        return json.loads(text)
    except ValueError as error:  # also whole numbers of more digits than Python reads
        raise ValueError(f"{where} is not JSON: {_sentence(error)}") from error
    except RecursionError:
        raise ValueError(f"{where} is nested too deeply to be read.") from None


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """A TOML document; `where` names it in the error."""
    unquoted = _QUOTED.sub("q", text)
    for part in _BETWEEN.split(unquoted):
        if part.count(".") > _MAX_KEY_PARTS and (
            len(_JOINT.findall(part)) > _MAX_KEY_PARTS
        ):
            raise ValueError(
                f"{where} has a key of more than {_MAX_KEY_PARTS} parts; no setting "
                "has so many."
            )
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also whole numbers of more digits than Python reads
        raise ValueError(f"{where} is not valid TOML: {_sentence(error)}") from error
    except RecursionError:
        raise ValueError(f"{where} is nested too deeply to be read.") from None


def _sentence(error: Exception) -> str:
    text = str(error).removesuffix(".")
    if "integer string conversion" in text:
        text = f"a whole number has more than {sys.get_int_max_str_digits()} digits"
    return (text if len(text) <= 300 else f"{text[:297]}...") + "."
