"""Words that were perhaps meant."""

import difflib
from collections.abc import Iterable
from typing import Any

_LONGEST = 200
"""Nobody means a word of ours by a longer one."""


def suggest(name: Any, known: Iterable[str]) -> str:
    """What was perhaps meant, ready to stand in a sentence."""
    if not isinstance(name, str) or len(name) > _LONGEST:
        return ""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""
