"""Errors as sentences, and the exit status that goes with them."""

import logging
import os
import sys
from collections.abc import Callable, Sequence

from .._places import place_of

TRACEBACK = "SUBSTRAX_TRACEBACK"
"""Set in the environment, it shows where an error came from."""


def in_words(
    command: Callable[[Sequence[str]], int],
    words: Sequence[str],
    name: str = "substrax",
) -> int:
    """Runs a command; returns the exit status, and says in a sentence what failed.

    0: done. 1: something outside the program failed (a full disk, a missing extra),
    or the program itself.
    2: a mistake in what was asked for. 130, 143: interrupted, after saving.
    """
    # warnings of the library, such as a damaged checkpoint that was passed over
    logging.basicConfig(format=f"{name}: %(message)s", level=logging.WARNING)
    try:
        return command(list(words))
    except BrokenPipeError:
        # the reader of our output has gone, as in `substrax list | head`
        sys.stderr.close()
        return 0
    except ValueError as error:
        if os.environ.get(TRACEBACK):
            raise
        place = place_of(error)
        where = f" (raised in {place})" if place else ""
        print(f"{name}: {error}{where}", file=sys.stderr)
        return 2
    except OSError as error:
        what = f"{error.strerror or error}"
        if error.filename:
            what = f"cannot use {error.filename}: {what}"
        more = " ".join(getattr(error, "__notes__", ()))
        print(f"{name}: {what}. {more}".rstrip(), file=sys.stderr)
        return 1
    except (ImportError, MemoryError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: stopped.", file=sys.stderr)
        return 130
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        kind = type(error).__name__
        text = _shortened(f"{kind}: {error}" if str(error) else kind)
        place = place_of(error)
        if place is not None:
            print(
                f"{name}: {place} failed: {text}\n`export {TRACEBACK}=1` shows the way "
                "there.",
                file=sys.stderr,
            )
            return 2
        print(
            f"{name}: something went wrong that should not have: {text}\nPlease "
            f"report it, with what it prints after `export {TRACEBACK}=1`.",
            file=sys.stderr,
        )
        return 1


def _shortened(text: str, most: int = 300) -> str:
    """On one line, and not all of it."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 4]} ..."
