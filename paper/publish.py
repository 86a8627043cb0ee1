"""From results to files: table, figure, raw data and the page "paper / here"."""

from collections.abc import Callable, Sequence
from pathlib import Path

from substrax._files import write_atomically
from substrax.sweeps import Outcome

from .figures import write_figure
from .jobs import at_a_time
from .page import Page
from .page_missing import missing_lines
from .page_origin import origin_text
from .pages_comparison import comparison_page
from .pages_depth import panel_page, positions_page
from .pages_rates import rates_page
from .pages_solving import solving_page
from .pages_time import runtime_page, time_page
from .plan import Arm, Plan, Task
from .published import paper_numbers
from .requirements import has_pureples
from .results import Results, write_data
from .wrap import wrapped

PAGES: dict[str, Callable[[Results], Page]] = {
    "rates": rates_page,
    "time": time_page,
    "runtime": runtime_page,
    "comparison": comparison_page,
    "solving": solving_page,
    "panel": panel_page,
    "positions": positions_page,
}


def publish(
    plan: Plan,
    outcome: Outcome,
    *,
    runs: Path,
    out: Path,
    command: str,
    jobs: int,
) -> Path | None:
    """Writes `NAME.md`, its figure and its data below `out`; None without results.

    A quick plan's are called `NAME-quick`, so that they do not take the place of the
    full ones.

    **Arguments:**

    - `command`: what a reader has to type to get the same.
    - `jobs`: how many runs there were at a time, of those that are not timed.
    """
    results = Results.of(plan, outcome.results)
    if not results.rows:
        return None
    tasks = plan.tasks()
    out.mkdir(parents=True, exist_ok=True)
    stem = out / (f"{plan.name}-quick" if plan.is_quick else plan.name)
    page = PAGES[plan.page](results)
    files = write_data(results, runs, stem)
    figures = write_figure(page.figure, stem) if page.figure else []
    parts = [
        f"# {plan.title}",
        _introduction(plan, tasks, results, outcome, command, jobs),
        *(table.to_markdown() for table in page.tables),
    ]
    if page.figure:
        parts.append(f"![{page.figure.alt}]({stem.name}.png)")
    parts += [
        _section("Missing", missing_lines(tasks, outcome)),
        _worse(plan, page),
        _doubts(plan),
        _arms(plan),
        _data(files, figures),
    ]
    text = "\n\n".join(part for part in parts if part) + "\n"
    path = stem.with_name(f"{stem.name}.md")
    write_atomically(path, wrapped(text))
    return path


def _introduction(
    plan: Plan,
    tasks: Sequence[Task],
    results: Results,
    outcome: Outcome,
    command: str,
    jobs: int,
) -> str:
    lines = []
    if plan.paper:
        numbers = paper_numbers()[plan.paper]
        lines.append(
            f"The paper's numbers are those of its {numbers['source']}: "
            f"{numbers['what']}."
        )
    if plan.note:
        lines.append(plan.note)
    num, wanted = len(results.rows), len(tasks)
    count = f"{num} runs" if num == wanted else f"{num} of {wanted} runs"
    if outcome.failures:
        count += f", {len(outcome.failures)} failed (they count nowhere)"
    lines += [
        f"```\n{command}\n```",
        f"{count}, {at_a_time(tasks, jobs)}. {origin_text(results, tasks)}",
    ]
    if plan.is_quick:
        lines.append(
            "**Quick mode**: fewer runs and cells than the full table, to see that it "
            "works. Take nothing from it but orders of magnitude."
        )
    return "\n\n".join(lines)


def _worse(plan: Plan, page: Page) -> str:
    text = _section("Where the numbers here are worse", page.worse)
    return f"{text}\n\n{plan.why}" if text and plan.why else text


def _doubts(plan: Plan) -> str:
    doubts = paper_numbers()[plan.paper]["doubts"] if plan.paper else ()
    return _section("What to know about the paper's numbers", doubts)


def _arms(plan: Plan) -> str:
    lines = [
        "## What was run",
        "",
        f"Experiment `{plan.experiment.name}`, changed by:",
        "",
    ]
    for arm in plan.arms:
        role = "" if arm.role == "all" else f" ({arm.role})"
        lines.append(f"- **{arm.name}**{role}: {_arm(arm)}")
    # under whichever name an arm gives them
    changed = {"neat.population_size"} if _is_crossed(plan, "population") else set()
    common = {
        k: v
        for k, v in plan.experiment.given.items()
        if k.startswith(("run.", "neat.")) and k not in changed
    }
    text = ", ".join(f"`{key} = {value}`" for key, value in common.items())
    has_own = any(arm.experiment is not None for arm in plan.arms)
    who = "For all without an experiment of their own" if has_own else "For all of them"
    return "\n".join([*lines, "", f"{who}: {text}."])


def _is_crossed(plan: Plan, name: str) -> bool:
    return all(name in arm.grid or name in arm.settings for arm in plan.arms)


def _arm(arm: Arm) -> str:
    settings = {**arm.settings, **{k: list(v) for k, v in arm.grid.items()}}
    if arm.experiment is not None:
        settings = {"experiment": arm.experiment.name, **settings}
    if arm.kind != "evolve":
        settings = {"kind": arm.kind, **settings, **arm.options}
    text = ", ".join(f"`{key} = {value}`" for key, value in settings.items())
    num = f"{text}; {arm.seeds} {'seed' if arm.seeds == 1 else 'seeds'}"
    if arm.kind == "pureples" and not has_pureples():
        return f"{num}. Left out: PUREPLES cannot be imported here"
    return num


def _data(files: Sequence[Path], figures: Sequence[Path]) -> str:
    links = [f"[{path.name}]({path.name})" for path in (*files, *figures)]
    return (
        "## Data\n\n"
        f"{', '.join(links)}. The Parquet files have a row for each run, and one for "
        "each generation of each run; `key` joins them."
    )


def _section(title: str, sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    lines = [f"- {sentence}" for sentence in sentences]
    return "\n".join([f"## {title}", "", *lines])
