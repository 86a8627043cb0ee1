"""Looks for findings: `make fuzz MINUTES=30 SEED=7`."""

import argparse
import faulthandler
import logging
import random
import sys
import time
import traceback
from typing import NamedTuple

from ._case import SECONDS, Case, run_case
from ._findings import FOLDER, write_finding
from ._targets import TARGETS

_MOST_FINDINGS = 20
"""Of one target; then it is left alone, for they are often the same."""


class Count(NamedTuple):
    """What became of the cases of a target."""

    cases: int
    refused: int
    findings: int
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="in total")
    parser.add_argument("--seed", type=int, help="left out: another one each time")
    parser.add_argument("--target", choices=TARGETS, action="append", help="only this")
    parser.add_argument("--cases", type=int, help="so many of each, however long")
    parser.add_argument("--case", type=int, help="only the one of this number")
    arguments = parser.parse_args()
    seed = arguments.seed
    if seed is None:
        seed = random.SystemRandom().randrange(10**6)
    targets = arguments.target or list(TARGETS)
    logging.disable(logging.WARNING)  # of the library: damaged files, mostly
    if arguments.case is not None:
        for name in targets:
            print(*_guarded(name, seed, arguments.case).notes, sep="\n")
        return 0
    print(f"seed {seed}: {', '.join(targets)}", flush=True)
    share = 60 * arguments.minutes / len(targets)
    counts = {name: _attack(name, seed, share, arguments.cases) for name in targets}
    print(f"\n{'target':<16}{'cases':>8}{'refused':>9}{'findings':>10}{'seconds':>9}")
    for name, count in counts.items():
        print(f"{name:<16}{count.cases:>8}{count.refused:>9}", end="")
        print(f"{count.findings:>10}{count.seconds:>9.0f}")
    found = sum(count.findings for count in counts.values())
    if "disks" not in TARGETS:
        print("No disk was filled: this machine lets us mount none.")
    if found:
        print(f"Each finding is a test in {FOLDER}.")
    return 1 if found else 0


def _guarded(name: str, seed: int, number: int) -> Case:
    """A case. One that hangs where no alarm is heard at least says where."""
    faulthandler.dump_traceback_later(3 * SECONDS, exit=True)
    try:
        return run_case(name, TARGETS[name], seed, number)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _attack(name: str, seed: int, seconds: float, num: int | None) -> Count:
    """Cases of a target, for some seconds or some number of them."""
    start = time.monotonic()
    number = refused = findings = 0
    while findings < _MOST_FINDINGS:
        is_enough = time.monotonic() - start > seconds if num is None else number >= num
        if is_enough:
            break
        # If it crashes, this is the last word.
        print(f"\r{name} {number} ", end="", file=sys.stderr, flush=True)
        try:
            case = _guarded(name, seed, number)
            refused += any(n.startswith(("refused", "status 2")) for n in case.notes)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            findings += 1
            what = f"{type(error).__name__}: {error}"[:300]
            print(f"\r{name} {number}: {what}")
            print(f"  {write_finding(name, seed, number, error)}")
            traceback.print_exception(error)
        number += 1
    print("\r", end="", file=sys.stderr)
    return Count(number, refused, findings, time.monotonic() - start)


if __name__ == "__main__":
    sys.exit(main())
