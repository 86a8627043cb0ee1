"""The page about several seeds."""

from collections.abc import Iterator
from pathlib import Path

from ..runs import REPORT, seed_folder
from ..sweeps import cell, seeds_table, sum_up, summary_sentences, troubles
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
from ._seed_curves import plot_seeds
from ._seeds import Seeds


def seeds_pictures(seeds: Seeds) -> Iterator[Picture]:
    """The figures of several seeds."""
    found = sum_up(seeds.outcomes)
    median, low, high = (
        f"{found[f'{which}_best_fitness']:z.4g}"
        for which in ("median", "lower_quartile", "upper_quartile")
    )
    target = "" if seeds.target is None else f" The target is {seeds.target:g}."
    yield Picture(
        "fitness",
        "overview",
        "Best fitness over generations",
        "The best fitness so far of each seed (thin, with a dot where a run ended "
        "before the longest one), the median of all seeds, and the range between their "
        f"quartiles. A run that has ended keeps its last value.{target}",
        f"Line chart with a line for each of {len(seeds.outcomes)} seeds. The median "
        f"of the best fitness ends at {median}, the quartiles at {low} and {high}."
        f"{target}",
        plot_seeds(seeds.curves, seeds.target),
    )


def make_seeds_page(seeds: Seeds, shown: Pictures, folder: Path) -> str:
    """The document for several seeds and their pictures, to be put into a folder."""
    first, *_ = summary_sentences(seeds.outcomes)
    title = f"{seeds.name} with {seeds.method}, {len(seeds.outcomes)} seeds"
    figures = [picture(item, files) for item, files in shown]
    sections = [
        ("overview", "Overview", _boxes(seeds) + columns([*figures, _table(seeds)])),
        ("run", "Runs", _runs(seeds, folder)),
    ]
    return page(
        title=f"substrax: {title}",
        header=f'<h1>{escape(title)}</h1><p class="lead">{escape(first)}.</p>',
        sections=sections,
    )


def _boxes(seeds: Seeds) -> str:
    found = sum_up(seeds.outcomes)

    def box(title: str, name: str) -> tuple[str, str, str]:
        middle, low, high = (
            f"{found[f'{which}_{name}']:z.4g}"
            for which in ("median", "lower_quartile", "upper_quartile")
        )
        return title, middle, f"median; quartiles {low} and {high}"

    boxes = [
        box("Best fitness", "best_fitness"),
        box("Seconds, compiling included", "seconds"),
    ]
    if found["solved"]:
        boxes.insert(1, box("Generations to a solution", "generations_if_solved"))
    if seeds.target is not None:
        interval = f"{found['rate_low']:.2f} to {found['rate_high']:.2f}"
        share = f"{found['solved']} of {found['finished']}"
        boxes.insert(0, ("Solved", share, f"95 % interval (Wilson) {interval}"))
    text = " ".join(troubles(seeds.outcomes))
    damage = note("Some metrics are damaged:", text) if text else ""
    return damage + facts(boxes)


def _table(seeds: Seeds) -> str:
    table = seeds_table(seeds.outcomes)
    corner, *head = table.columns
    rows = [
        (cell(seed), [*map(cell, values), f"{seconds:,.2f}"])
        for seed, *values, seconds in table.rows
    ]
    return card("Seeds", named_rows(corner, head, rows))


def _runs(seeds: Seeds, folder: Path) -> str:
    text = paragraph("The runs differ in their seeds alone.")
    text += folded("All settings of the first run", code(seeds.config_text))
    path = seeds.path
    if path is None or folder.resolve().parent != path.resolve():
        return columns([card("Settings", text)])
    names = [seed_folder(outcome.seed) for outcome in seeds.outcomes]
    pages = {name: f"{name}/{REPORT}/index.html" for name in names}
    written = [name for name in names if (path / pages[name]).is_file()]
    links = "".join(f'<a href="../{pages[name]}">{name}</a>' for name in written)
    single = paragraph(
        "Each run has a directory of its own beside this report, named after its seed."
    )
    if links:
        single += f'<p class="files">Pages about single runs: {links}</p>'
    missing = [name for name in names if name not in written]
    if missing:
        single += paragraph("In the directory of these runs, this writes a page:")
        single += code(f"substrax report {missing[0]}")
    return columns([card("Single runs", single), card("Settings", text)])
