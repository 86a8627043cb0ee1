"""What a benchmark measured: printed row by row, and kept as JSON at the end."""

import json
import os
import time
from pathlib import Path
from typing import Any

from substrax._files import write_atomically
from substrax.sweeps import Table, cell, machine_facts

from .peak import peak_mebibytes

FORMAT = "substrax-benchmark"


class Sheet:
    """The tables of one benchmark.

    ```
    sheet = Sheet("query", arguments.json)
    sheet.begin("Queries beside one tanh", "hidden", "ns/query", "x tanh")
    sheet.row(2, 5.1, 9.7)
    sheet.write()
    ```

    **Arguments:**

    - `name`: of the benchmark.
    - `path`: the JSON file that `write` makes; None: none.
    """

    def __init__(self, name: str, path: str | os.PathLike[str] | None = None) -> None:
        self.name = name
        self.path = None if path is None else Path(path)
        self.tables: list[Table] = []
        self._began = time.perf_counter()
        self._widths: list[int] = []

    def begin(self, title: str, *columns: str, notes: tuple[str, ...] = ()) -> None:
        """Starts a table; `notes` are sentences below it.

        Spaces at the end of a column's name make room for longer texts.
        """
        self.tables.append(Table.of(title, columns, [], notes))
        heads = [column.split() for column in columns]
        self._widths = [
            max(7, len(column) if column.endswith(" ") else 0, *map(len, words))
            for column, words in zip(columns, heads, strict=True)
        ]
        self._print([title], indent=False)
        height = max(map(len, heads))
        for words in zip(*([""] * (height - len(h)) + h for h in heads), strict=True):
            self._print(words)

    def row(self, *values: Any) -> None:
        """Adds a row, and prints it at once."""
        last = self.tables[-1]
        rows = [*last.rows, values]
        self.tables[-1] = Table.of(last.title, last.columns, rows, last.notes)
        self._print([cell(value) for value in values])

    def note(self, sentence: str) -> None:
        """Adds a sentence below the table."""
        last = self.tables[-1]
        notes = (*last.notes, sentence)
        self.tables[-1] = Table.of(last.title, last.columns, last.rows, notes)
        self._print([sentence], indent=False)

    def _print(self, texts: Any, indent: bool = True) -> None:
        if indent:
            pairs = zip(texts, self._widths, strict=True)
            texts = [text.rjust(width) for text, width in pairs]
        print(*texts, flush=True)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": 1,
            "name": self.name,
            "machine": machine_facts(),
            "seconds": time.perf_counter() - self._began,
            "peak_mebibytes": peak_mebibytes(),
            "tables": [table.to_dict() for table in self.tables],
        }

    def write(self) -> None:
        """Writes the JSON file, if there is to be one."""
        if self.path is not None:
            text = json.dumps(self.to_dict(), indent=1)
            write_atomically(self.path, text + "\n")


def read_tables(path: Path) -> tuple[dict[str, Any], list[Table]]:
    """What `Sheet.write` wrote, and its tables."""
    content = json.loads(path.read_text())
    if content.get("format") != FORMAT:
        raise ValueError(f"{path} is not the output of a benchmark.")
    return content, [Table.from_dict(table) for table in content["tables"]]
