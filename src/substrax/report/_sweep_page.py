"""The page about a sweep."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from ..runs import REPORT
from ..sweeps import (
    RESULTS,
    ArmOutcome,
    Table,
    arms_table,
    cell,
    compare_arms,
    failures_of,
    pairs_table,
    sweep_sentences,
    troubles_of,
)
from ._figures import Picture, Pictures
from ._html import (
    card,
    code,
    columns,
    escape,
    facts,
    folded,
    named_rows,
    note,
    page,
    paragraph,
    picture,
)
from ._sweep import ArmCurves, SweepReport
from ._sweep_figures import plot_arm_curves, plot_outcomes, plot_solved

_MOST_LINKS = 200


def sweep_pictures(report: SweepReport) -> Iterator[Picture]:
    """The figures of a sweep, for each problem."""
    several = len(report.groups) > 1
    for number, (problem, arms) in enumerate(report.groups.items(), 1):
        begun = [arm for arm in arms if arm.curves]
        if not begun:
            continue
        ending = f"-{number}" if several else ""
        of = f" ({problem})" if several else ""
        yield from _of_problem(arms, begun, ending, of)


def _of_problem(
    arms: tuple[ArmCurves, ...], begun: list[ArmCurves], ending: str, of: str
) -> Iterator[Picture]:
    labels = "; ".join(arm.label for arm in begun[:8])
    yield Picture(
        f"curves{ending}",
        "overview",
        f"Best fitness over generations{of}",
        "The best fitness so far: medians over the runs of each arm, and the range "
        "between their quartiles. A run that has ended keeps its last value.",
        f"Line chart with a line for each of {len(begun)} arms: {labels}.",
        plot_arm_curves(begun),
    )
    outcomes = plot_outcomes(arms)
    if outcomes is not None:
        yield Picture(
            f"outcomes{ending}",
            "overview",
            f"What each arm came to{of}",
            "Solved: the share of finished runs with Wilson's interval of 95 %. "
            "Generations and fitness: each run (small), the median and its bootstrap "
            "interval of 95 %.",
            f"Dot chart with a row for each of {len(arms)} arms; the table has the "
            "numbers.",
            outcomes,
        )
    solved = plot_solved(arms)
    if solved is not None:
        yield Picture(
            f"solved{ending}",
            "overview",
            f"Solved by generation{of}",
            "The share of finished runs that had reached their target by each "
            "generation.",
            f"Line chart with a step line for each of {len(arms)} arms.",
            solved,
        )


def make_sweep_page(report: SweepReport, shown: Pictures, folder: Path) -> str:
    """The document for a sweep and its pictures, to be put into a folder."""
    arms = report.arms
    num = len(arms)
    title = report.folder.title or f"{report.folder.path.absolute().name}, {num} arms"
    (first,) = sweep_sentences(arms)
    figures = [picture(item, files) for item, files in shown]
    overview = _notes(report) + _boxes(report)
    overview += columns([_table(arms)]) + columns(figures)
    sections = [("overview", "Overview", overview)]
    if tests := _tests(report):
        sections.append(("comparisons", "Comparisons", tests))
    sections.append(("run", "Runs", _runs(report, folder)))
    return page(
        title=f"substrax: {title}",
        header=f'<h1>{escape(title)}</h1><p class="lead">{escape(first)}.</p>',
        sections=sections,
    )


def _notes(report: SweepReport) -> str:
    arms = report.arms
    waiting = sum(not run.is_finished for arm in arms for run in arm.runs)
    parts = []
    if waiting:
        parts.append(
            note(
                "Not all runs are done.",
                f"{waiting} of {report.folder.num_runs} are missing in all numbers "
                "here; curves show them as far as they are.",
            )
        )
    if lines := troubles_of(arms):
        parts.append(note("Some metrics are damaged:", " ".join(lines)))
    if failures := failures_of(arms):
        parts.append(note("Some runs failed.", " ".join(failures[:5])))
    return "".join(parts)


def _boxes(report: SweepReport) -> str:
    arms = report.arms
    runs = [run for arm in arms for run in arm.runs]
    done = [run for run in runs if run.is_finished]
    boxes = [("Runs", f"{len(done)} of {len(runs)}", f"of {len(arms)} arms")]
    if any(arm.has_target for arm in arms):
        solved = sum(bool(run.is_solved) for run in done)
        boxes.append(("Solved", f"{solved} of {len(done)}", "over all arms"))
    seconds = sum(run.seconds for run in runs)
    time = f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds:.0f} s"
    boxes.append(("Time of all runs", time, "added up, compiling included"))
    return facts(boxes)


def _table(arms: list[ArmOutcome]) -> str:
    corner, head, rows = _named(arms_table(arms))
    text = named_rows(corner, head, rows) + paragraph(
        "Of finished runs: rates with Wilson's interval, medians with percentile "
        "bootstrap intervals, all of 95 %; fewer than three values have no interval.",
    )
    return card("Arms", f'<div class="scroll">{text}</div>')


def _named(table: Table) -> tuple[str, list[str], list[tuple[str, list[str]]]]:
    """A table whose first column are names of rows; intervals stand below values, or
    it would be wider than a page."""
    corner, *head = table.columns
    below = lambda value: cell(value).replace(" [", "\n[")
    rows = [(cell(name), list(map(below, rest))) for name, *rest in table.rows]
    return corner, head, rows


def _tests(report: SweepReport) -> str:
    try:
        pairs = compare_arms(report.arms, report.folder.baseline)
    except ImportError:  # scipy is missing, which was said
        return ""
    if not pairs:
        return ""
    corner, head, rows = _named(pairs_table(pairs))
    text = f'<div class="scroll">{named_rows(corner, head, rows)}</div>'
    text += paragraph(
        "Solved: Fisher's exact test, effect Cohen's h. Generations and fitness: "
        "Mann-Whitney's test, effect Cliff's delta (from -1 to 1). All two-sided; "
        "positive effects mean that the first arm has the larger values. p-values of a "
        "column are corrected together by Holm's method. Effects are named by the "
        "bounds of Cohen 1988 and Romano et al. 2006."
    )
    return card("Tests between arms", text)


def _runs(report: SweepReport, folder: Path) -> str:
    path = report.folder.path
    plan = card("The plan", code(report.plan_text))
    if folder.resolve().parent != path.resolve():
        return columns([plan])
    single = paragraph(
        f"Each run has a directory of its own in {path.name}/runs, named after what "
        "its result depends on: substrax show, report and resume take it."
    )
    links = _links(report, path)
    if links:
        single += f'<p class="files">Pages about single runs: {links}</p>'
    if (path / RESULTS).is_file():
        link = f'<a href="../{RESULTS}">{RESULTS}</a>'
        single += f'<p class="files">All runs as data: {link}</p>'
    lists = "".join(
        folded(
            f"{arm.arm.label}: {len(arm.runs)} runs",
            code("\n".join(_line(arm, k) for k in range(len(arm.runs)))),
        )
        for arm in report.arms
    )
    return columns([card("Single runs", single + lists), plan])


def _line(arm: ArmOutcome, number: int) -> str:
    run, place = arm.runs[number], arm.arm.runs[number]
    best = "" if run.best_fitness is None else f"  {run.best_fitness:z.6g}"
    return f"seed {run.seed}: {run.words}{best}  runs/{place.path.name}"


def _links(report: SweepReport, path: Path) -> str:
    places = (
        (f"{arm.arm.label}, seed {run.seed}", run.path)
        for arm in report.arms
        for run in arm.arm.runs
    )
    written = (
        f'<a href="../runs/{escape(place.name)}/{REPORT}/index.html">{escape(name)}</a>'
        for name, place in places
        if (place / REPORT / "index.html").is_file()
    )
    return "".join(itertools.islice(written, _MOST_LINKS))
