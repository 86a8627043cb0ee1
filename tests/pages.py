"""Code on the pages: fences as Markdown knows them, however they are written."""

import dataclasses
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

_FENCE = re.compile(
    # indented, quoted, or in a list
    r"^(?:[ \t>]|[-*+][ \t]|\d+[.)][ \t])*(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$"
)
_OTHER_NAMES = {"py": "python", "python3": "python", "bash": "sh", "shell": "sh"}
_NOTE = re.compile(r"<!-- not run: (.+) -->")


@dataclasses.dataclass(frozen=True)
class Block:
    """A fence, its language by one name, and where it begins."""

    page: Path
    line: int
    language: str
    title: str
    text: str
    is_run: bool
    """False below a comment `<!-- not run: why -->`."""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    return list(read_blocks(page.read_text(), page))


def read_blocks(text: str, page: Path = ROOT / "page.md") -> Iterator[Block]:
    lines = text.splitlines()
    before, number = "", 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            before = lines[number].strip() or before
            number += 1
            continue
        begin, inside = number, []
        for number in range(begin + 1, len(lines)):
            if _closes(lines[number], opening["fence"]):
                break
            inside.append(lines[number])
        else:
            raise ValueError(f"{page}:{begin + 1}: this fence is never closed")
        number += 1
        info = opening["info"].strip().lstrip("{").lstrip(" .")
        language = re.match(r"[\w+-]*", info)
        title = re.search(r'title="([^"]*)"', info)
        assert language is not None
        name = language[0].lower()
        yield Block(
            page,
            begin + 1,
            _OTHER_NAMES.get(name, name),
            title[1] if title else "",
            textwrap.dedent("\n".join(inside)) + "\n",
            _NOTE.search(before) is None,
        )
        before = ""


def _closes(line: str, fence: str) -> bool:
    end = line.strip(" \t>")
    return len(end) >= len(fence) and set(end) == {fence[0]}


def python_of(page: Path) -> str:
    """The Python of a page: one program, from top to bottom."""
    found = blocks(page)
    return "\n".join(b.text for b in found if b.language == "python" and b.is_run)
