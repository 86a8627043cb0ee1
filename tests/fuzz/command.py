"""The command line in this process: how it ends, and what it says."""

import contextlib
import io
import os
from collections.abc import Sequence
from pathlib import Path

from substrax.cli import main

from ._case import Case, check_sentence

STATUSES = (0, 1, 2)


def run_command(case: Case, words: Sequence[str]) -> int:
    """The exit status; what is no status of ours, or no sentence, is a finding."""
    case.note("substrax", words)
    out, err = io.StringIO(), io.StringIO()
    os.environ["SUBSTRAX_TRACEBACK"] = "1"  # what would be swallowed is raised
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(list(words))
        except SystemExit as error:  # of argparse
            status = 0 if error.code is None else error.code
        except ValueError as error:
            check_sentence(str(error))
            status = 2
    said = out.getvalue() + err.getvalue()
    case.note(f"status {status}", err.getvalue()[-1500:])
    assert "Traceback" not in said, said[-3000:]
    assert "should not have" not in said, said[-3000:]
    assert status in STATUSES, f"exit status {status}"
    assert isinstance(status, int)
    return status


def contents(folder: Path) -> dict[str, bytes | str]:
    """Every file and link below a folder."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = "directory"
    return found
