"""From a run directory to a report."""

import itertools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

from .._files import refuse_links, write_atomically
from ..decoders import AbstractDecoder
from ..problems import AbstractProblem
from ._data import data_pictures
from ._figures import pictures
from ._page import make_page
from ._run import Run
from ._style import require_matplotlib, save_figure

PAGE, MANIFEST = "index.html", "figures.json"


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
    refuse_links((folder, figures, folder / PAGE, folder / MANIFEST))
    figures.mkdir(parents=True, exist_ok=True)
    refuse_links(figures.iterdir())
    old = _listed(folder / MANIFEST)
    shown = []
    for item in itertools.chain(pictures(run), data_pictures(run)):
        shown.append((item, save_figure(item.figure, figures / item.name)))
        if on_step is not None:
            on_step(item.name)
    path = folder / PAGE
    # A reader who reloads meanwhile sees the old page or the new one.
    write_atomically(path, make_page(run, shown))
    new = sorted(place.name for _, places in shown for place in places)
    write_atomically(folder / MANIFEST, json.dumps({"figures": new}, indent=1) + "\n")
    for name in set(old) - set(new):
        (figures / name).unlink(missing_ok=True)
    if on_step is not None:
        on_step("page")
    return path


def _listed(manifest: Path) -> list[str]:
    """Figures that the report before this one wrote; all others are somebody's."""
    try:
        names = json.loads(manifest.read_bytes())["figures"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    is_name = re.compile(r"[a-z0-9-]+\.(png|svg)").fullmatch
    return [n for n in names if isinstance(n, str) and is_name(n)]
