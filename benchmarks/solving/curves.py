"""How many runs have solved a problem by each generation, as a figure."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from substrax.report import PAGE, new_figure, save_figure, style


def draw_curves(
    rows: Mapping[str, Sequence[int | None]], last: int, stem: Path
) -> list[Path]:
    """A step at each generation in which a run was solved, a line for each row.

    **Arguments:**

    - `rows`: by name, when each of their runs was solved; None for those that were not.
    - `last`: the generation that the figure ends with.
    """
    with style():
        figure = new_figure(0.8 * PAGE, PAGE / 2)
        axes = figure.subplots()
        for name, solved_at in rows.items():
            solved = sorted(number for number in solved_at if number is not None)
            share = np.arange(len(solved) + 1) / len(solved_at)
            x, y = [0, *solved, last], [*share, share[-1]]
            axes.step(x, y, where="post", lw=1.2, label=f"{name} ({len(solved_at)})")
        axes.set_xlabel("generation")
        axes.set_ylabel("share of runs solved")
        axes.set_ylim(-0.02, 1.02)
        figure.legend(loc="outside lower center", ncols=2 if len(rows) < 5 else 3)
        return save_figure(figure, stem)
