"""Pages about time: table 4 and figure 2."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from substrax.sweeps import Table, seconds

from .figures import Figure, Series
from .page import (
    MIN_SPREAD,
    Page,
    bound_mark,
    cold_seconds,
    factor_text,
    paper_text,
    quartiles,
    slower,
    spread_text,
    whole_runs,
    whole_runs_note,
)
from .page_quadtree import is_quadtree, same_genomes_tables
from .published import paper_numbers, paper_row
from .results import Results


@dataclasses.dataclass(frozen=True)
class ArmAtDepth:
    """Generations of an arm at one depth, beside the paper's."""

    depth: int
    arm: str
    paper: dict[str, Any]
    seconds_here: float
    """The median of its runs, without compiling."""
    seconds_cold: float | None
    """Of compiling, with nothing kept."""
    is_slow: bool
    """Whether it is compared with nothing, as a quadtree."""
    cells: tuple[Any, ...]
    """How a row about it begins."""

    @property
    def factor(self) -> str:
        """How many times as long the paper's GPU takes."""
        return (
            ""
            if self.is_slow
            else factor_text(self.paper.get("gpu"), self.seconds_here)
        )

    def what_is_slower(self, device: str) -> list[str]:
        """Sentences about what is slower than in the paper, whose `device` compiles."""
        if self.is_slow:
            return []
        what, is_es = f"D = {self.depth}, {self.arm}", self.arm.startswith("es")
        theirs = self.paper.get("es" if is_es else "gpu")
        found = slower(self.seconds_here, theirs, what, "in the paper")
        if is_es:
            return found
        whose, jit = f"on the paper's {device}", self.paper.get(f"jit_{device.lower()}")
        return found + slower(self.seconds_cold, jit, f"{what}, compiling", whose)


def arms_by_depth(results: Results, table: str) -> Iterator[ArmAtDepth]:
    """What there is at each depth, beside a table of the paper."""
    for depth in sorted(results.distinct("depth")):
        for arm in results.arms():
            where: dict[str, Any] = {"arm": arm, "depth": depth}
            values = results.values("seconds_per_generation", **where)
            if not values:
                continue
            cold = cold_seconds(results, **where)
            cells = (
                depth,
                arm,
                len(values),
                bound_mark(results, **where) + spread_text(values),
                seconds(cold),
                max(results.values("peak_mebibytes", **where), default=None),
            )
            yield ArmAtDepth(
                depth,
                arm,
                paper_row(table, depth=depth),
                quartiles(values)[1],
                cold,
                is_quadtree(results, arm),
                cells,
            )


def time_page(results: Results) -> Page:
    """Table 4: seconds per generation by depth."""
    found = list(arms_by_depth(results, "table4"))
    rows = [
        (
            *one.cells,
            paper_text(one.paper.get("es")),
            paper_text(one.paper.get("cpu")),
            paper_text(one.paper.get("gpu")),
            one.factor,
            paper_text(one.paper.get("jit_cpu")),
            paper_text(one.paper.get("jit_gpu")),
        )
        for one in found
    ]
    worse = [sentence for one in found for sentence in one.what_is_slower("CPU")]
    table = Table.of(
        "Time per generation",
        ("D", "arm", "runs", "a generation", "compiling (cold)", "peak MiB",
         "paper ES-HN", "paper EMR CPU", "paper EMR GPU", "paper GPU / here",
         "paper compiling, CPU", "paper compiling, GPU"),
        rows,
        (
            "Medians over runs of the mean over generations, with quartiles, without "
            "compiling; memory and compiling are the largest of the runs. The paper's "
            "machines are an Apple M4 Max and an RTX 2080 Ti, so that ratios to the "
            "paper compare machines as well. Arms differ in what they find; the next "
            "table compares on the same genomes.",
        ),
    )  # fmt: skip
    figure = Figure(
        generation_series(results, "table4"),
        "depth D",
        "seconds per generation",
        "Seconds per generation over depth, on a logarithmic scale, for each arm and "
        "for the paper.",
        is_log=True,
    )
    return Page((table, *same_genomes_tables(results)), figure, tuple(worse))


def over_depth(arm: str, found: dict[int, list[float]]) -> Series:
    """Medians of what was found at each depth, with quartiles if there are enough."""
    kept = {depth: quartiles(found[depth]) for depth in sorted(found) if found[depth]}
    is_spread = [len(found[depth]) >= MIN_SPREAD for depth in kept]
    ends = [
        (low, high) if spread else (middle, middle)
        for (low, middle, high), spread in zip(kept.values(), is_spread, strict=True)
    ]
    return Series(
        arm,
        [*kept],
        [middle for _, middle, _ in kept.values()],
        [low for low, _ in ends],
        [high for _, high in ends],
    )


def generation_series(results: Results, table: str) -> list[Series]:
    """Seconds per generation over depth: of each arm, and of a table of the paper."""
    name = "seconds_per_generation"
    series = [
        over_depth(
            arm,
            {
                depth: results.values(name, arm=arm, depth=depth)
                for depth in results.distinct("depth", arm=arm)
            },
        )
        for arm in results.arms()
    ]
    for name, label in (("es", "paper, ES-HN"), ("gpu", "paper, EMR on a GPU")):
        rows = [row for row in paper_numbers()[table]["rows"] if name in row]
        depths, printed = [r["depth"] for r in rows], [r[name] for r in rows]
        series.append(Series(label, depths, printed, is_paper=True))
    return series


def runtime_page(results: Results) -> Page:
    """Figure 2: seconds of whole runs by depth, compilation included."""
    numbers = paper_numbers()["figure2"]
    rows, series = [], []
    worse: list[str] = []
    for arm in results.arms():
        depths = results.distinct("depth", arm=arm)
        found = {depth: whole_runs(results, arm=arm, depth=depth) for depth in depths}
        series.append(over_depth(arm, found))
    for name, label in (("es", "ES-HN"), ("cpu", "EMR CPU"), ("gpu", "EMR GPU")):
        band = numbers[name]
        middle = [_middle(band, depth) for depth in band["depth"]]
        series.append(
            Series(
                f"paper, {label}",
                band["depth"],
                middle,
                band["low"],
                band["high"],
                is_paper=True,
                is_band=True,
            )
        )
    for depth in sorted(results.distinct("depth")):
        theirs = {
            name: _band_text(numbers[name], depth) for name in ("es", "cpu", "gpu")
        }
        for arm in results.arms():
            where: dict[str, Any] = {"arm": arm, "depth": depth}
            values = whole_runs(results, **where)
            if not values:
                continue
            here = quartiles(values)[1]
            is_compared = depth in numbers["gpu"]["depth"] and not is_quadtree(
                results, arm
            )
            gpu = _middle(numbers["gpu"], depth) if is_compared else None
            populations = sorted(results.distinct("population", **where))
            rows.append(
                (
                    depth,
                    arm,
                    ", ".join(map(str, populations)),
                    len(values),
                    bound_mark(results, **where) + spread_text(values),
                    max(results.values("peak_mebibytes", **where), default=None),
                    theirs["es"],
                    theirs["cpu"],
                    theirs["gpu"],
                    factor_text(gpu, here),
                )
            )
            if gpu is not None and here > gpu:
                worse.append(
                    f"D = {depth}, {arm}: {seconds(here)} here, {theirs['gpu']} in the "
                    f"paper, with a geometric mean of {seconds(gpu)}."
                )
    table = Table.of(
        "Seconds of a whole run",
        ("D", "arm", "populations", "runs", "a run", "peak MiB", "paper ES-HN",
         "paper EMR CPU", "paper EMR GPU", "paper GPU / here"),
        rows,
        (
            "Medians with quartiles over populations and seeds. "
            + whole_runs_note(results)
            + " The paper's quartiles are of its figure, and the ratio is to their "
            "geometric mean.",
        ),
    )  # fmt: skip
    figure = Figure(
        series,
        "depth D",
        "seconds of a run",
        "Seconds of whole runs over depth, on a logarithmic scale, with quartiles, "
        "beside the paper's bands.",
        is_log=True,
    )
    return Page((table, *same_genomes_tables(results)), figure, tuple(worse))


def _middle(band: dict[str, list], depth: int) -> float:
    """The geometric mean of a band's ends."""
    place = band["depth"].index(depth)
    return (band["low"][place] * band["high"][place]) ** 0.5


def _band_text(band: dict[str, list], depth: int) -> str:
    if depth not in band["depth"]:
        return ""
    place = band["depth"].index(depth)
    return f"{seconds(band['low'][place])} to {seconds(band['high'][place])}"
