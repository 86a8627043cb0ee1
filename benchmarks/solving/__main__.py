"""How often problems are solved, beside peers, over many seeds.

    python -m benchmarks.solving                    everything, 30 seeds
    python -m benchmarks.solving retina parity-4    some of it
    python -m benchmarks.solving --seeds 3 --minutes 5

Runs are kept in results/solving.jsonl and never done twice, so that the command can be
stopped and given again. `--page FILE.md` writes the page of what there is, and its data
beside it. Seeds are 0 to 29; settings were chosen with seeds from 1000 on.
"""

import argparse
import math
from pathlib import Path

from substrax._files import write_atomically
from substrax._resources import num_cores

from .cells import CELLS, DEPTH_CELLS, SEEDS, tasks_of
from .depth import section
from .page import page, read_data, table, write_data
from .runs import run_all

ALL = [*CELLS, *DEPTH_CELLS]


def main() -> None:
    parser = argparse.ArgumentParser(description="How often problems are solved.")
    parser.add_argument("cells", nargs="*", help=f"some of {', '.join(ALL)}")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", choices=("ours", "peers"), help="one side of it")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--results", type=Path, default=Path("results/solving.jsonl"))
    parser.add_argument("--known", type=Path, help="data of a page: runs that are done")
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    unknown = set(arguments.cells) - set(ALL)
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(ALL)}.")
    names = arguments.cells or ALL
    tasks = [task for name in names for task in tasks_of(name, arguments.seeds)]
    if arguments.only:
        is_wanted = arguments.only == "ours"
        tasks = [task for task in tasks if ("peer" not in task.work) == is_wanted]
    known = read_data(arguments.known) if arguments.known else {}
    done = known | run_all(
        [task for task in tasks if task.key not in known],
        arguments.results,
        processes=num_cores(),
        minutes=arguments.minutes,
    )
    tables = [text for name in names if name in CELLS and (text := table(name, done))]
    if depths := section(done):
        tables.append(depths)
    print("\n\n".join(tables))
    if arguments.page:
        write_data(done, arguments.page.with_suffix(".parquet"))
        write_atomically(arguments.page, page(done, arguments.page))


if __name__ == "__main__":
    main()
