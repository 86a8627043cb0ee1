"""Settings among the words of a command line."""

from collections.abc import Collection, Sequence

_TAKING_VALUE = ("--out", "--seeds", "--track")


def take_settings(
    words: Sequence[str], own_flags: Collection[str]
) -> tuple[list[str], dict[str, str]]:
    """Parts the flags that are settings from the rest.

    `--key value` and `--key=value`; a flag that is last, or followed by another flag,
    is switched on.
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
            if name in _TAKING_VALUE and not equals and position < len(words):
                rest.append(words[position])
                position += 1
            continue
        if not equals:
            is_last = position >= len(words)
            if is_last or words[position].startswith("--"):
                value = "true"
            else:
                value = words[position]
                position += 1
        key = name.removeprefix("--")
        if key in settings:
            raise ValueError(f"--{key} is given twice. Leave one of them out.")
        settings[key] = value
    return rest, settings
