"""From a run to a report."""

import functools
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from .._files import new_folder, refuse_links, write_atomically
from ..decoders import AbstractDecoder
from ..problems import AbstractProblem
from ..runs import REPORT, read_seeds
from ..sweeps import is_sweep
from ._data import data_pictures
from ._figures import Picture, Pictures, pictures
from ._page import make_page
from ._run import Run
from ._seeds import Seeds
from ._seeds_page import make_seeds_page, seeds_pictures
from ._style import require_matplotlib, save_figure
from ._subject import EvolvedRun, EvolvedSeeds
from ._sweep import SweepReport
from ._sweep_page import make_sweep_page, sweep_pictures

PAGE, MANIFEST = "index.html", "figures.json"


def write_report(
    run: EvolvedRun | EvolvedSeeds | str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    decoder: AbstractDecoder | None = None,
    problem: AbstractProblem | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Path:
    """Writes a page about a run, and its figures; returns where the page is.

    The page is `index.html`. It needs no network and nothing beside it. The figures
    are in the folder `figures` as well, as PNG and SVG. The same run gives the same
    figures, to the byte. An older report is replaced.

    **Arguments:**

    - `run`: its directory (it may still be going on), or what `substrax.evolve`
      returned; or the folder of several seeds, or what `substrax.evolve_seeds`
      returned; or the folder of a sweep.
    - `folder`: where to; left out, `report` in the directory of the run or, if it was
      not saved, a new folder of that name (or `report-2`, ...) where the program runs.
    - `decoder`, `problem`: for a directory of `substrax.evolution.evolve`, which does
      not say them. Without them, some parts are left out.
    - `on_step`: called with the name of each figure once it is written, then with
      `"page"`.
    """
    require_matplotlib()
    if isinstance(run, EvolvedSeeds):
        return _write(_of_seeds(Seeds.of(run)), folder, on_step)
    if isinstance(run, EvolvedRun):
        return _write(_of_run(Run.of(run)), folder, on_step)
    if is_sweep(run):
        return _write(_of_sweep(SweepReport.read(run)), folder, on_step)
    if read_seeds(run) is not None:
        return _write(_of_seeds(Seeds.read(run)), folder, on_step)
    return _write(_of_run(Run.read(run, decoder, problem)), folder, on_step)


class _Report(NamedTuple):
    """What is written."""

    path: Path | None
    """The directory of the run, if it was saved."""
    pictures: Iterable[Picture]
    page: Callable[[Pictures, Path], str]
    """From pictures, and the folder of the report, to the page."""


def _of_run(run: Run) -> _Report:
    items = itertools.chain(pictures(run), data_pictures(run))
    return _Report(run.path, items, functools.partial(make_page, run))


def _of_seeds(seeds: Seeds) -> _Report:
    page = functools.partial(make_seeds_page, seeds)
    return _Report(seeds.path, seeds_pictures(seeds), page)


def _of_sweep(sweep: SweepReport) -> _Report:
    page = functools.partial(make_sweep_page, sweep)
    return _Report(sweep.folder.path, sweep_pictures(sweep), page)


def _write(
    report: _Report,
    folder: str | os.PathLike[str] | None,
    on_step: Callable[[str], None] | None,
) -> Path:
    place = _place(report.path, folder)
    figures = place / "figures"
    refuse_links((place, figures, place / PAGE, place / MANIFEST))
    figures.mkdir(parents=True, exist_ok=True)
    refuse_links(figures.iterdir())
    old = _listed(place / MANIFEST)
    if old is None:  # from here on the folder is known to be ours
        _list(place / MANIFEST, [])
    shown = []
    for item in report.pictures:
        shown.append((item, save_figure(item.figure, figures / item.name)))
        if on_step is not None:
            on_step(item.name)
    path = place / PAGE
    # A reader who reloads meanwhile sees the old page or the new one.
    write_atomically(path, report.page(shown, place))
    new = sorted(file.name for _, files in shown for file in files)
    _list(place / MANIFEST, new)
    # Only what the manifest lists was ours; other files in the folder are somebody's.
    for name in set(old or ()) - set(new):
        (figures / name).unlink(missing_ok=True)
    if on_step is not None:
        on_step("page")
    return path


def _place(path: Path | None, folder: str | os.PathLike[str] | None) -> Path:
    """The folder for a report; nothing but an older report is written over there."""
    if folder is None:
        return new_folder(Path(REPORT)) if path is None else path / REPORT
    place = Path(folder)
    if place.suffix.lower() in (".html", ".htm"):
        raise ValueError(
            f"{place} is to be a folder: the page in it is called {PAGE}, and figures "
            f"lie beside it. Say {place.with_suffix('')}, for example."
        )
    if place.exists() and not place.is_dir():
        raise ValueError(f"{place} is a file. Give a folder for the report.")
    names = {path.name for path in place.iterdir()} if place.exists() else set()
    if names and _listed(place / MANIFEST) is None:
        raise ValueError(
            f"{place} holds something else than a report ({min(names)}), which is left "
            "as it is. Give a new folder, or one with an older report."
        )
    return place


def _list(manifest: Path, names: list[str]) -> None:
    write_atomically(manifest, json.dumps({"figures": names}, indent=1) + "\n")


def _listed(manifest: Path) -> list[str] | None:
    """Figures that the report before this one wrote; all others are somebody's.

    None if there is no report.
    """
    try:
        names = list(json.loads(manifest.read_bytes())["figures"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    is_name = re.compile(r"[a-z0-9-]+\.(png|svg)").fullmatch
    return [n for n in names if isinstance(n, str) and is_name(n)]
