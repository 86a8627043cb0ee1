"""`substrax show`: what the files of a run say, without JAX."""

import argparse
import json

from ..runs import StopReason, is_complete, summary, summary_lines


def show(arguments: argparse.Namespace) -> int:
    """Prints what a run has found."""
    facts = summary(arguments.directory)
    if arguments.json:
        print(json.dumps(facts))
    else:
        print(*summary_lines(facts), sep="\n")
    return 0


def how_to_go_on(facts: dict) -> str:
    """What a person may do with a run that has had all its generations."""
    more = max(2 * facts["generations"], 1)
    return f"Go on with: substrax resume {facts['directory']} --generations {more}"


def show_if_complete(arguments: argparse.Namespace) -> bool:
    """Shows a run that is asked to go on and has nothing left to do."""
    if not is_complete(arguments.directory):
        return False
    facts = summary(arguments.directory)
    if not arguments.quiet:
        print(*summary_lines(facts), sep="\n")
        if facts["stopped"] == StopReason.GENERATIONS.value:
            print(how_to_go_on(facts))
    return True
