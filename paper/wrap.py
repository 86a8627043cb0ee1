"""Lines of prose that a person can read in a plain editor."""

import re
import textwrap
from collections.abc import Iterator

WIDTH = 100

_ITEM = re.compile(r"- |\d+\. ")
_NO_PROSE = ("|", "#", "!", "<")
"""How tables, headings, pictures and comments begin; they stay on their lines."""

_HELD = "\0"
_LOOKS_LIKE_AN_ITEM = re.compile(r" (?=(?:[-+*>|]|#+|\d+[.)]) )")
"""A space before what would mean something else at the beginning of a line."""
_CODE = re.compile(r"`[^`]{,60}`")


def wrapped(page: str) -> str:
    """The same page; paragraphs and items of lists have lines of at most `WIDTH`."""
    return "\n".join(_lines(page)) + "\n"


def _lines(page: str) -> Iterator[str]:
    paragraph: list[str] = []
    is_code = False
    for line in page.splitlines():
        is_fence = line.startswith("```")
        is_prose = line.strip() and not line.startswith(_NO_PROSE)
        if is_code or is_fence or not is_prose or _ITEM.match(line):
            yield from _filled(paragraph)
            paragraph = []
        is_code ^= is_fence
        if is_prose and not is_code and not is_fence:
            paragraph.append(line)
        else:
            yield line
    yield from _filled(paragraph)


def _held(code: re.Match[str]) -> str:
    return code[0].replace(" ", _HELD)


def _filled(paragraph: list[str]) -> list[str]:
    if not paragraph:
        return []
    item = _ITEM.match(paragraph[0])
    begin = item[0] if item else ""
    text = " ".join(line.strip() for line in paragraph).removeprefix(begin)
    lines = textwrap.wrap(
        _CODE.sub(_held, _LOOKS_LIKE_AN_ITEM.sub(_HELD, text)),
        WIDTH,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_HELD, " ") for line in lines]
