"""How many episodes a fitness needs: the counts of the page on environments.

    python -m benchmarks.episodes [--quick] [--episodes 3 10 20] [--seeds 0 1 2]
        [--json FILE]

The page's own program balances CartPole-v1 with another number of episodes in each
generation; what it finds is played in 100 fresh ones. Needs gymnasium.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import substrax as sx

from .sheet import Sheet

PAGE = Path(__file__).parent.parent / "docs" / "your-environment.md"
FRESH, STANDS = 100, 475


def program(episodes: int) -> dict[str, Any]:
    """What the page defines, with so many episodes."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    (text,) = [block for block in blocks if "def balance" in block]
    text, num = re.subn(r"^EPISODES = \d+$", f"EPISODES = {episodes}", text, flags=re.M)
    text, _, evolves = text.partition("\nrun = ")
    if num != 1 or not evolves:
        raise ValueError(f"the program in {PAGE} is not what this benchmark changes.")
    names: dict[str, Any] = {}
    exec(compile(text, str(PAGE), "exec"), names)
    return names


def measure(episodes: int, seed: int) -> tuple[int, int]:
    """Generations of a run, and in how many fresh episodes its network stands."""
    names = program(episodes)
    run = sx.evolve(
        names["problem"],
        method="neat",
        population=30,
        generations=15,
        seed=seed,
        progress=False,
    )
    fresh = names["play"](run.best.network, FRESH, seed=12345)[0]
    return run.generations, int((fresh >= STANDS).sum())


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one seed alone")
    parser.add_argument("--episodes", type=int, nargs="+", default=[3, 10, 20])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--json")
    arguments = parser.parse_args(words)
    sheet = Sheet("episodes", arguments.json)
    sheet.begin(
        "Episodes of one generation, and what its best network does in fresh ones",
        "episodes",
        "seed",
        "generations",
        f"stands in, of {FRESH}",
    )
    for episodes in arguments.episodes:
        for seed in arguments.seeds[:1] if arguments.quick else arguments.seeds:
            sheet.row(episodes, seed, *measure(episodes, seed))
    sheet.write()


if __name__ == "__main__":
    main(sys.argv[1:])
