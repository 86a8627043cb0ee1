"""Trackers by name, as far as that needs none of them."""

from collections.abc import Sequence

from .._extra import TRACKER_LIBRARIES, require_extra
from .._suggest import suggest
from .._types import shown


def check_trackers(names: Sequence[str]) -> None:
    """Raises for a tracker that does not exist, is given twice, or lacks its library;
    the last is an `ImportError`."""
    known = ", ".join(TRACKER_LIBRARIES)
    for number, name in enumerate(names):
        if name not in TRACKER_LIBRARIES:
            raise ValueError(
                f"there is no tracker {shown(name)}{suggest(name, TRACKER_LIBRARIES)}: "
                f"use one of {known}."
            )
        if name in names[:number]:
            raise ValueError(f"the tracker {name!r} is given twice. Leave one out.")
        require_extra(TRACKER_LIBRARIES[name], name)
