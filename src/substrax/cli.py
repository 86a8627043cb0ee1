"""The command line: thin, the same public functions as anybody calls."""

import argparse
import json
import sys
from collections.abc import Sequence

from . import __version__
from .substrate import STRATEGIES
from .verify import verify_file


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\rcase {done} of {total}", end=end, file=sys.stderr, flush=True)


def _verify(arguments: argparse.Namespace) -> int:
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="substrax", description="Evolve networks whose structure is discovered."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    verify = commands.add_parser(
        "verify",
        help="replay a file of conformance vectors",
        description="Replays a vector file and prints which cases match. The exit "
        "status is 0 if all do, 1 if some do not, 2 if the file cannot be used.",
    )
    verify.add_argument("file", help="a vector file, such as tests/data/pureples.json")
    verify.add_argument("--strategy", choices=STRATEGIES, default="auto")
    verify.add_argument("--precision", choices=("f32", "f64"), default="f64")
    verify.add_argument("--json", action="store_true", help="print one JSON object")
    verify.set_defaults(run=_verify)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    parsed = _parser().parse_args(arguments)
    try:
        return parsed.run(parsed)
    except ValueError as error:
        print(f"substrax: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
