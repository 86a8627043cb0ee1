"""`substrax show`: what the files of a run say, without JAX."""

import argparse
import contextlib
import json
import math
from pathlib import Path

from .._types import counted
from ..runs import (
    FACTS,
    StopReason,
    is_complete,
    read_seeds,
    summary,
    summary_lines,
)


def show(arguments: argparse.Namespace) -> int:
    """Prints what a run has found, or the runs of a folder."""
    if read_seeds(arguments.directory) is not None:
        tell_seeds(Path(arguments.directory), is_json=arguments.json)
        return 0
    facts = summary(arguments.directory)
    if arguments.json:
        print(json.dumps(facts))
    else:
        print(*summary_lines(facts), sep="\n")
    return 0


def tell_seeds(folder: Path, *, is_json: bool) -> None:
    """Prints a line for each seed in a folder, and what they have in common."""
    from ..sweeps import read_outcomes, seeds_table, sum_up, summary_sentences

    outcomes = read_outcomes(folder)
    if is_json:
        found = sum_up(outcomes).items()
        seeds = [vars(outcome) | {"result": outcome.words} for outcome in outcomes]
        document = {
            # JSON knows neither NaN nor infinity
            "summary": {k: v if math.isfinite(v) else None for k, v in found},
            "seeds": seeds,
            "directory": str(folder),
        }
        print(json.dumps(document), flush=True)
        return
    print(seeds_table(outcomes, _title(folder)).to_text())
    print(*summary_sentences(outcomes), f"directory: {folder}", sep="\n")
    unsolved = [o for o in outcomes if o.stopped == StopReason.GENERATIONS.value]
    if not all(outcome.is_finished for outcome in outcomes):
        print(f"Go on with: substrax resume {folder}")
    elif unsolved:
        more = max(2 * max(outcome.generations for outcome in unsolved), 1)
        print(f"Go on with: substrax resume {folder} --generations {more}")


def _title(folder: Path) -> str:
    """What the runs in a folder are about, as the first that has begun says."""
    places = read_seeds(folder) or {}
    num = counted(len(places), "seed")
    for path in places.values():
        if (path / FACTS).is_file():
            with contextlib.suppress(ValueError, OSError):  # its line says it
                facts = summary(path)
                return f"{facts['problem']}, method {facts['method']}, {num}"
    return num


def how_to_go_on(facts: dict) -> str:
    """What a person may do with a run that has had all its generations."""
    more = max(2 * facts["generations"], 1)
    return f"Go on with: substrax resume {facts['directory']} --generations {more}"


def show_if_complete(arguments: argparse.Namespace) -> bool:
    """Shows a run that is asked to go on and has nothing left to do; of a folder, all
    of its runs."""
    seeds = read_seeds(arguments.directory)
    places = [arguments.directory] if seeds is None else list(seeds.values())
    if not all((Path(path) / FACTS).is_file() for path in places):
        return False
    if not all(is_complete(path) for path in places):
        return False
    if arguments.quiet:
        return True
    if seeds is not None:
        tell_seeds(Path(arguments.directory), is_json=False)
        return True
    facts = summary(arguments.directory)
    print(*summary_lines(facts), sep="\n")
    if facts["stopped"] == StopReason.GENERATIONS.value:
        print(how_to_go_on(facts))
    return True
