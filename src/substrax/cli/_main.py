"""Commands and their arguments."""

import argparse
import sys
from collections.abc import Sequence

from .. import __version__
from .._extra import require_extra
from ..experiments import read_experiment
from ._errors import in_words
from ._flags import take_settings

_RUN_HELP = """\
EXPERIMENT is a name (see `substrax list`) or a TOML file. Any setting of it can be
given as a flag: --method.depth 5, or --depth 5 where only one setting ends so. The
most common:

  --seed N              another run of the same experiment
  --generations N       at most so many
  --target F            a fitness that is enough
  --seconds S           at most so long
  --patience N          at most so many generations without a new best
  --population N        genomes in each generation
  --method NAME         emr, es, hyperneat, neat
  --depth D             depth of the grid (emr, es)
  --connections NAME    feedforward, hidden, backward, lateral, self, full (emr)

`substrax list EXPERIMENT` prints all settings of an experiment.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="substrax",
        description="Evolve networks whose structure is discovered.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, help: str, **more) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=help, allow_abbrev=False, **more)

    run = add(
        "run",
        "evolve networks for a problem",
        description="Runs an experiment, in a new directory.",
        epilog=_RUN_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("experiment", metavar="EXPERIMENT", help="a name or a TOML file")
    run.add_argument("--out", metavar="DIR", help="where (default: below runs/)")
    run.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="N runs, from --seed on; after a kill, the same command goes on",
    )
    _add_running(run)
    resume = add(
        "resume",
        "continue a run that was stopped or killed",
        description="Continues a run from its last checkpoint. --generations, "
        "--target, --seconds, --patience, --checkpoint_every and --max_cached_bytes "
        "may be changed.",
    )
    resume.add_argument("directory", metavar="DIR")
    _add_running(resume)

    show = add("show", "say what a run has found")
    show.add_argument("directory", metavar="DIR")
    show.add_argument("--json", action="store_true", help="print one JSON object")
    report = add("report", "write a page with figures about a run")
    report.add_argument("directory", metavar="DIR")
    export = add("export", "write the best network of a run in another format")
    export.add_argument("directory", metavar="DIR")
    export.add_argument(
        "--format", choices=("json", "safetensors", "npz", "graphml"), default="json"
    )
    export.add_argument("--out", metavar="FILE", help="default: network.* in DIR")
    lists = add("list", "show experiments, problems, methods and presets")
    lists.add_argument(
        "experiment",
        nargs="?",
        help="print all settings of this one, as TOML; --method es and other flags "
        "as in `run`",
    )

    verify = add(
        "verify",
        "replay a file of conformance vectors",
        description="Replays a vector file and prints which cases match. The exit "
        "status is 0 if all do, 1 if some do not, 2 if the file cannot be used.",
    )
    verify.add_argument("file", help="a vector file, such as tests/data/pureples.json")
    verify.add_argument(
        "--strategy", choices=("auto", "eager", "frontier"), default="auto"
    )
    verify.add_argument("--precision", choices=("f32", "f64"), default="f64")
    verify.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _add_running(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--report", action="store_true", help="write the report, too")
    parser.add_argument(
        "--track",
        action="append",
        default=[],
        metavar="NAME",
        help="log to tensorboard, wandb or mlflow; may be repeated",
    )
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object for each generation and one for the result",
    )
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="compile anew; keep nothing for later runs",
    )


_OWN_FLAGS = {
    "--seeds",
    "--out",
    "--report",
    "--track",
    "--quiet",
    "--json",
    "--no-cache",
    "--help",
    "-h",
}


def _dispatch(words: Sequence[str]) -> int:
    settings: dict[str, str] = {}
    if words and words[0] in ("run", "resume", "list"):
        words, settings = take_settings(words, _OWN_FLAGS)
    arguments = _parser().parse_args(words)
    arguments.settings = settings
    command = arguments.command
    if getattr(arguments, "report", False) or command == "report":
        require_extra("matplotlib", "report")  # now, and not after the evolution
    if command == "list":
        from ._list import list_all, list_settings

        wanted = arguments.experiment
        return list_all() if wanted is None else list_settings(wanted, settings)
    if command == "run":
        # what is misspelt is told before JAX is imported
        name, text = read_experiment(arguments.experiment)
        from ._list import check_settings

        check_settings(name, text, settings)
    if command == "resume" and settings:
        from ..runs import read_config
        from ._list import check_settings

        check_settings(arguments.directory, read_config(arguments.directory), settings)
    if command == "show":
        from ._show import show

        return show(arguments)
    if command == "resume" and not (
        settings or arguments.json or arguments.report or arguments.track
    ):
        from ._show import show_if_complete

        if show_if_complete(arguments):
            return 0
    if command in ("run", "resume"):
        from . import _run

        return getattr(_run, command)(arguments)
    if command == "verify":
        from ._verify import verify

        return verify(arguments)
    from . import _inspect

    return getattr(_inspect, command)(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status (see `in_words`)."""
    return in_words(_dispatch, sys.argv[1:] if arguments is None else arguments)
