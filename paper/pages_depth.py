"""Pages about depth: the firm panel (table 7) and position counts."""

from typing import Any

from substrax.sweeps import Table, seconds

from .figures import Figure, Series
from .page import MIN_SPREAD, Page, paper_text, quartiles
from .page_quadtree import same_genomes_tables
from .pages_time import arms_by_depth, generation_series
from .published import paper_numbers
from .results import Results


def panel_page(results: Results) -> Page:
    """Table 7: the firm panel by depth."""
    rows, worse = [], []
    for one in arms_by_depth(results, "table7"):
        auc = results.values("measure_test_auc", arm=one.arm, depth=one.depth)
        rows.append(
            (
                *one.cells,
                None if one.is_slow or not auc else _range_text(auc),
                paper_text(one.paper.get("es")),
                paper_text(one.paper.get("gpu")),
                one.factor,
                paper_text(one.paper.get("jit_gpu")),
            )
        )
        worse += one.what_is_slower("GPU")
    table = Table.of(
        "The firm panel",
        ("D", "arm", "runs", "a generation", "compiling (cold)", "peak MiB",
         "test AUC", "paper ES-HN", "paper EMR GPU", "paper GPU / here",
         "paper compiling, GPU"),
        rows,
        (
            "A synthetic panel of 94,464 rows stands in for the paper's data. Every "
            "generation is judged by all training rows. Test AUC: median of the "
            f"best network's, with its range from {MIN_SPREAD} runs on, on periods "
            "held back; logistic regression has 0.587 and gradient "
            "boosting 0.670 (see Problems). The quadtree's times are of decoding "
            "alone.",
        ),
    )  # fmt: skip
    figure = Figure(
        generation_series(results, "table7"),
        "depth D",
        "seconds per generation",
        "Seconds per generation on the firm panel over depth, beside the paper's.",
        is_log=True,
    )
    return Page((table, *same_genomes_tables(results)), figure, tuple(worse))


def _range_text(values: list[float]) -> str:
    _, middle, _ = quartiles(values)
    if len(values) < MIN_SPREAD:
        return f"{middle:.3f}"
    return f"{middle:.3f} [{min(values):.3f}, {max(values):.3f}]"


def positions_page(results: Results) -> Page:
    """Position counts: candidates, queries and what was found, by depth."""
    printed = {
        row["depth"]: row["positions"] for row in paper_numbers()["positions"]["rows"]
    }
    found: dict[tuple[int, str, str], list[dict[str, Any]]] = {}
    for row in results.rows:
        for part in row["rows"]:
            key = (part["depth"], row["arm"], part["strategy"])
            found.setdefault(key, []).append(part)
    rows = []
    for (depth, arm, strategy), parts in sorted(found.items()):
        genomes = sum(part["genomes"] for part in parts)
        mean = {
            name: sum(part[name] for part in parts) / genomes
            for name in ("queries", "found", "links", "seconds")
        }
        rows.append(
            (
                depth,
                parts[0]["candidates"],
                printed.get(depth),
                f"{arm}, {strategy}",
                genomes,
                mean["queries"],
                mean["found"],
                mean["links"],
                seconds(mean["seconds"]),
                max(part["peak_mebibytes"] for part in parts),
            )
        )
    table = Table.of(
        "Candidate positions, and what is asked and found",
        ("D", "candidates N(D)", "paper", "rule, strategy", "genomes",
         "queries, a genome", "positions found", "links", "time, a genome",
         "peak MiB so far"),
        rows,
        (
            "N(D) = (4^(D+2) - 4) / 3, for one source. Queries count those of all "
            "three phases. Genomes are those of an evolution of XOR; the same genomes "
            "at all depths. Both strategies find the same; eager ones end where they "
            "would take too long.",
        ),
    )  # fmt: skip
    series = []
    for name in dict.fromkeys((key[1], key[2]) for key in found):
        keys = [key for key in sorted(found) if key[1:] == name]
        asked = [
            sum(p["queries"] for p in found[k]) / sum(p["genomes"] for p in found[k])
            for k in keys
        ]
        series.append(Series(", ".join(name), [k[0] for k in keys], asked))
    depths = sorted({key[0] for key in found})
    candidates = [(4 ** (d + 2) - 4) / 3 for d in depths]
    series.append(Series("candidates N(D)", depths, candidates, is_paper=True))
    figure = Figure(
        series,
        "depth D",
        "queries for a genome",
        "Queries for a genome over depth, on a logarithmic scale, beside the number of "
        "candidate positions.",
        is_log=True,
    )
    return Page((table,), figure)
