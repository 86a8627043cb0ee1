"""Words that were perhaps meant."""

import difflib
from collections.abc import Iterable
from typing import Any


def suggest(name: Any, known: Iterable[str]) -> str:
    """What was perhaps meant, ready to stand in a sentence."""
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""
