"""`substrax verify`."""

import argparse
import json
import sys


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\rcase {done} of {total}", end=end, file=sys.stderr, flush=True)


def verify(arguments: argparse.Namespace) -> int:
    """Replays a file of vectors and prints which cases match."""
    from ..verify import verify_file

    results = verify_file(
        arguments.file,
        strategy=arguments.strategy,
        precision=arguments.precision,
        on_case=_progress,
    )
    different = [r for r in results if not r.matches]
    num_matching = len(results) - len(different)
    if arguments.json:
        print(
            json.dumps(
                {
                    "cases": len(results),
                    "matching": num_matching,
                    "different": {str(r.case): r.differences for r in different},
                }
            )
        )
        return 1 if different else 0
    for result in different:
        print(f"case {result.case}: {'; '.join(result.differences)}")
    print(
        f"{num_matching} of {len(results)} cases match "
        f"(rule es, strategy {arguments.strategy}, precision {arguments.precision})"
    )
    if different and arguments.precision == "f32":
        print(
            "In float32 a comparison within rounding of a threshold may fall the other "
            "way, and all that follows from it; --precision f64 must match everywhere."
        )
    return 1 if different else 0
