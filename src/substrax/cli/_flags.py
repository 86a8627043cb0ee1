"""Settings among the words of a command line."""

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any


class Parser(argparse.ArgumentParser):
    """A parser of arguments that knows its flags, and whether they take a value.

    `late` gives those of its texts (`description`, `epilog`) that take time to make; it
    is asked when somebody wants to read them.
    """

    def __init__(
        self, *, late: Callable[[], Mapping[str, str]] = dict, **options: Any
    ) -> None:
        self.flags: dict[str, bool] = {}
        self.commands: Collection[str] = ()
        self.late = late
        super().__init__(allow_abbrev=False, **options)

    def format_help(self) -> str:
        for name, text in self.late().items():
            setattr(self, name, text)
        return super().format_help()

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        action = super().add_argument(*names, **options)
        # argparse has None for one value, and 0 for a switch
        self.flags |= {name: action.nargs != 0 for name in action.option_strings}
        return action


def take_settings(
    words: Sequence[str], own_flags: Mapping[str, bool]
) -> tuple[list[str], dict[str, str]]:
    """Parts the flags that are settings from the rest.

    `--key value` and `--key=value`; a flag that is last, or followed by another flag,
    is switched on. `own_flags` are those that are no settings, and whether each takes a
    value.
    """
    rest: list[str] = []
    settings: dict[str, str] = {}
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        name, equals, value = word.partition("=")
        if name in own_flags or not word.startswith("--") or word == "--":
            rest.append(word)
            takes_value = own_flags.get(name, False)
            if takes_value and not equals and position < len(words):
                rest.append(words[position])
                position += 1
            continue
        if not equals:
            is_last = position >= len(words)
            if is_last or words[position].startswith("--"):
                # (here, as it takes time, and a name that is wrong is told at once)
                from ..settings import SWITCHED_ON

                value = SWITCHED_ON
            else:
                value = words[position]
                position += 1
        key = name.removeprefix("--")
        if key in settings:
            raise ValueError(f"--{key} is given twice. Leave one of them out.")
        settings[key] = value
    return rest, settings
