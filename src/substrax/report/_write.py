"""From a run directory to a report."""

import os
from collections.abc import Callable
from pathlib import Path

from ..decoders import AbstractDecoder
from ..problems import AbstractProblem
from ._figures import pictures
from ._page import make_page
from ._run import Run
from ._style import require_matplotlib, save_figure


def write_report(
    directory: str | os.PathLike[str],
    *,
    decoder: AbstractDecoder | None = None,
    problem: AbstractProblem | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Path:
    """Writes a page about a run, and its figures; returns where the page is.

    The page is `report/index.html` in the directory of the run. It needs no network and
    nothing beside it. The figures are in `report/figures` as well, as PNG and SVG.
    The same run gives the same figures, to the byte. An older report is replaced.

    **Arguments:**

    - `directory`: of the run; it may still be going on.
    - `decoder`, `problem`: for a run that was started from Python by `evolve`, whose
      directory does not say them. Without them, some parts are left out.
    - `on_step`: called with the name of each figure once it is written, then with
      `"page"`.
    """
    require_matplotlib()
    run = Run.read(directory, decoder, problem)
    folder = run.path / "report"
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for old in (*figures.glob("*.png"), *figures.glob("*.svg")):
        old.unlink()
    shown = []
    for item in pictures(run):
        shown.append((item, save_figure(item.figure, figures / item.name)))
        if on_step is not None:
            on_step(item.name)
    path = folder / "index.html"
    # A reader who reloads meanwhile sees the old page or the new one.
    temporary = folder / "index.html.tmp"
    temporary.write_text(make_page(run, shown), encoding="utf-8")
    temporary.replace(path)
    if on_step is not None:
        on_step("page")
    return path
