"""Commands and their arguments."""

import argparse
import reprlib
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from .. import __version__
from .._extra import TRACKER_LIBRARIES, require_extra
from .._suggest import suggest
from ..experiments import builtin_experiments, read_experiment
from ._errors import in_words
from ._flags import Parser, take_settings

_WITH_SETTINGS = ("run", "resume", "list")
"""Commands that take any setting as a flag."""

_DIRECTORY = "of a run, or the folder of several seeds or of a sweep"

_RUN_HELP = """\
EXPERIMENT is a name (see `substrax list`), a TOML file, or a problem of your own as
file.py:name. Any setting of it can be given as a flag: --method.depth 5, or --depth 5
where only one setting ends so. The most common:

  --seed N              another run of the same experiment
  --generations N       at most so many
  --target F            a fitness that is enough
  --seconds S           at most so long
  --patience N          at most so many generations without a new best
  --population N        genomes in each generation
  --executor NAME       processes:8, or dask://host:8786: who evaluates
  --method NAME         {methods}
  --depth D             depth of the grid ({with_depth})
  --connections NAME    {connections} ({with_connections})

`substrax list EXPERIMENT` prints all settings of an experiment.
"""


def _run_help() -> dict[str, str]:
    from ..settings import tables

    known = tables()

    def having(setting: str) -> str:
        return ", ".join(m for m in known.methods if setting in known.methods[m])

    text = _RUN_HELP.format(
        methods=", ".join(known.methods),
        connections=", ".join(known.connections),
        with_depth=having("method.depth"),
        with_connections=having("method.connections"),
    )
    return {"epilog": text}


def _resume_help() -> dict[str, str]:
    from ..settings import changeable

    *most, last = (f"--{key.rpartition('.')[2]}" for key in changeable())
    text = (
        "Continues a run from its last checkpoint. "
        f"{', '.join(most)} and {last} may be changed."
    )
    return {"description": text}


def _parser() -> tuple[Parser, dict[str, bool]]:
    """The parser, and the flags of commands that take settings besides."""
    parser = Parser(
        prog="substrax",
        description="Evolve networks whose structure is discovered.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=Parser
    )

    def add(name: str, help: str, **more) -> Parser:
        return commands.add_parser(name, help=help, **more)

    run = add(
        "run",
        "evolve networks for a problem",
        description="Runs an experiment, in a new directory.",
        late=_run_help,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument(
        "experiment", metavar="EXPERIMENT", help="a name, a TOML file, or file.py:name"
    )
    run.add_argument("--out", metavar="DIR", help="where (default: below runs/)")
    run.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="N runs from --seed on, in a folder that show, resume and report take",
    )
    _add_running(run)
    resume = add(
        "resume",
        "continue a run that was stopped or killed",
        late=_resume_help,
    )
    resume.add_argument("directory", metavar="DIR", help=_DIRECTORY)
    _add_running(resume)

    sweep = add(
        "sweep",
        "run a plan: settings x seeds, in many processes",
        description="Runs all that a plan asks for and that is not done yet, each run "
        "in a directory of its own, and writes a page about all of them. The same "
        "command goes on after a kill, and with a plan that was changed. The exit "
        "status is 1 if a run failed.",
    )
    _add_sweep(sweep)

    show = add("show", "say what a run has found")
    show.add_argument("directory", metavar="DIR", help=_DIRECTORY)
    show.add_argument("--json", action="store_true", help="print one JSON object")
    report = add("report", "write a page with figures about a run")
    report.add_argument("directory", metavar="DIR", help=_DIRECTORY)
    play = add(
        "play",
        "watch the best network of a run in its environment",
        description="Lets the best network play an episode in a window, or writes it "
        "to a file, with the network beside the environment.",
    )
    play.add_argument("directory", metavar="DIR", help="of a run")
    play.add_argument(
        "--out", metavar="FILE", help="a .gif or .mp4 instead of a window"
    )
    play.add_argument("--episode", type=int, default=0, metavar="N", help="which one")
    export = add("export", "write the best network of a run in another format")
    export.add_argument("directory", metavar="DIR", help="of a run")
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
    flags: dict[str, bool] = {}
    for name in _WITH_SETTINGS:
        flags |= commands.choices[name].flags
    parser.commands = commands.choices
    return parser, flags


def _add_running(parser: Parser) -> None:
    parser.add_argument("--report", action="store_true", help="write the report, too")
    parser.add_argument(
        "--track",
        action="append",
        default=[],
        metavar="NAME",
        help=f"log to a tracker ({', '.join(TRACKER_LIBRARIES)}); may be repeated",
    )
    _add_quiet(parser, "print a JSON object for each generation and one for the result")


def _add_quiet(parser: Parser, json_help: str) -> None:
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--json", action="store_true", help=json_help)
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="compile anew; keep nothing for later runs",
    )


def _add_sweep(parser: Parser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="a TOML file, or a sweep's folder")
    parser.add_argument(
        "--out", metavar="DIR", help="where (default: below runs/, named after PLAN)"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would run, and write nothing"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="runs at a time, each with its share of the cores (default: all cores)",
    )
    parser.add_argument(
        "--executor",
        metavar="NAME",
        help="dask://HOST:PORT: the workers of a Dask scheduler, which see the same "
        "folder, instead of processes here (processes:8 is --jobs 8)",
    )
    parser.add_argument(
        "--shard", metavar="I/N", help="the I-th of N shares, 1/N to N/N, and no more"
    )
    parser.add_argument(
        "--sbatch",
        type=int,
        metavar="N",
        help="print a job array of N shares for Slurm's sbatch, and run nothing",
    )
    parser.add_argument("--no-report", action="store_true", help="write no page")
    _add_quiet(parser, "print a JSON object for each run and one for the result")


def _check_command(word: str, commands: Collection[str]) -> None:
    if word in commands:
        return
    meant = suggest(word, commands)
    if word in builtin_experiments():
        meant = f" (did you mean `substrax run {word}`?)"
    raise ValueError(
        f"there is no command {reprlib.repr(word)}{meant}. Known are "
        f"{', '.join(commands)}; "
        "`substrax --help` says what they do."
    )


def _dispatch(words: Sequence[str]) -> int:
    settings: dict[str, str] = {}
    parser, flags = _parser()
    if words and not words[0].startswith("-"):
        _check_command(words[0], parser.commands)
    if words and words[0] in _WITH_SETTINGS:
        words, settings = take_settings(words, flags)
    arguments = parser.parse_args(words)
    arguments.settings = settings
    command = arguments.command
    # What is wrong, or missing, is told before JAX is imported and anything is done.
    if getattr(arguments, "report", False) or command == "report":
        require_extra("matplotlib", "report")
    if getattr(arguments, "track", ()):
        from ..settings import check_trackers

        check_trackers(arguments.track)
    if command == "sweep":
        from ._sweep import sweep

        return sweep(arguments)
    if command in ("show", "report", "resume"):
        from ..sweeps import is_sweep

        if is_sweep(arguments.directory):
            from . import _sweep

            return getattr(_sweep, f"{command}_sweep")(arguments)
    if command == "list":
        from ._list import list_all, list_settings

        wanted = arguments.experiment
        return list_all() if wanted is None else list_settings(wanted, settings)
    if command == "run":
        name, text = read_experiment(arguments.experiment)
        from ._list import check_settings

        check_settings(name, text, settings)
    if command == "resume":
        from ..runs import FACTS, check_directory, read_config, read_seeds
        from ._list import check_settings

        seeds = read_seeds(arguments.directory)
        places = [Path(arguments.directory)]
        if seeds is not None:  # of those that have begun
            places = [path for path in seeds.values() if (path / FACTS).is_file()]
        for place in places:
            check_directory(place)
            if settings:
                check_settings(str(place), read_config(place), settings)
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
    if command == "play":
        if arguments.out is not None:
            require_extra("matplotlib", "report")
        from ._play import play

        return play(arguments)
    from . import _inspect

    return getattr(_inspect, command)(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status (see `in_words`)."""
    return in_words(_dispatch, sys.argv[1:] if arguments is None else arguments)
