"""A table, as text for a terminal, as Markdown for a page, as plain data for JSON."""

import dataclasses
from collections.abc import Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of texts and numbers under columns, with a title and notes.

    Numbers are printed with four digits at most; None is an empty cell.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        notes: Sequence[str] = (),
    ) -> "Table":
        for row in rows:
            if len(row) != len(columns):
                raise ValueError(
                    f"{title!r}: a row has {len(row)} entries for {len(columns)} "
                    "columns."
                )
        return Table(title, tuple(columns), tuple(map(tuple, rows)), tuple(notes))

    def _texts(self) -> list[list[str]]:
        return [list(self.columns), *([cell(v) for v in row] for row in self.rows)]

    def to_text(self) -> str:
        """For a terminal: columns one below the other."""
        texts = self._texts()
        widths = [max(len(row[k]) for row in texts) for k in range(len(self.columns))]
        is_left = [
            all(isinstance(row[k], str) for row in self.rows)
            for k in range(len(self.columns))
        ]
        lines = [
            "  ".join(
                text.ljust(width) if left else text.rjust(width)
                for text, width, left in zip(row, widths, is_left, strict=True)
            ).rstrip()
            for row in texts
        ]
        return "\n".join([self.title, *lines, *self.notes])

    def to_markdown(self, level: int = 2) -> str:
        """For a page."""
        lines = [[text.replace("|", "\\|") for text in row] for row in self._texts()]
        body = ["| " + " | ".join(row) + " |" for row in lines]
        body.insert(1, "|" + " --- |" * len(self.columns))
        parts = [f"{'#' * level} {self.title}", "\n".join(body), *self.notes]
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "Table":
        return Table.of(**values)


def cell(value: Any) -> str:
    """One entry."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def number(value: float | int) -> str:
    """A number with the digits that matter."""
    size = abs(value)
    if value != value:
        return "nan"
    if size and (size < 1e-4 or size >= 1e7):
        return f"{value:.2e}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def seconds(value: float | int | None) -> str | None:
    """A time for a table."""
    if value is None:
        return None
    if value >= 3600:
        return f"{value / 3600:,.1f} h"
    if value >= 100:
        return f"{value:.0f} s"
    return f"{value * 1e3:.3g} ms" if value < 0.1 else f"{value:.2f} s"
