"""How many runs have solved a problem by each generation, as a figure."""

from pathlib import Path

import numpy as np

from substrax.report import PAGE, new_figure, save_figure, style

from .cells import CELLS, Results, results_by_arm


def draw_curves(name: str, done: Results, stem: Path) -> list[Path]:
    """A step at each generation in which a run was solved, a line for each row."""
    found = results_by_arm(name, done)
    last = max(r["generations"] for results in found.values() for r in results)
    with style():
        figure = new_figure(0.8 * PAGE, PAGE / 2)
        axes = figure.subplots()
        for arm in CELLS[name].arms:
            results = found.get(arm.name, [])
            if not results:
                continue
            solved = sorted(
                r["solved_at"] for r in results if r["solved_at"] is not None
            )
            share = np.arange(len(solved) + 1) / len(results)
            x, y = [0, *solved, last], [*share, share[-1]]
            axes.step(x, y, where="post", lw=1.2, label=f"{arm.name} ({len(results)})")
        axes.set_xlabel("generation")
        axes.set_ylabel("share of runs solved")
        axes.set_ylim(-0.02, 1.02)
        figure.legend(loc="outside lower center", ncols=2)
        return save_figure(figure, stem)
