"""One setting: its type, how a person's value is understood, what is said if not."""

import dataclasses
import math
import types
import typing
from collections.abc import Sequence
from typing import Any

from .._suggest import suggest
from .._types import FALSE_WORDS, TRUE_WORDS, as_number, shown

NONE = "none"
"""How "no value" is written, since TOML has no word for it."""


class _SwitchedOn(str):
    __slots__ = ()


SWITCHED_ON = _SwitchedOn("true")
"""What a flag without a value says, which is enough for settings that are true or
false."""

_NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """A setting by its dotted key.

    `kind` is int, float, bool or str; `is_list` makes it several of them; `is_optional`
    lets it be None, written "none".
    """

    key: str
    kind: type
    default: Any
    choices: tuple[str, ...] = ()
    is_list: bool = False
    is_optional: bool = False

    def understand(self, value: Any) -> Any:
        """The value of this setting, from TOML, a flag's text or Python."""
        if value is None or (isinstance(value, str) and value == NONE):
            if self.is_optional:
                return None
            if value is None:
                self._refuse(value)
        if value is SWITCHED_ON and self.kind is not bool:
            raise ValueError(
                f"{self.key} is 'true', as a flag without a value says, but must be "
                f"{self._wanted()}. Was its value left out?"
            )
        if not self.is_list:
            return self._one(value)
        if isinstance(value, str):
            # A flag's text, with or without the brackets of TOML or Python.
            value = [part.strip() for part in value.strip("[]()").split(",")]
            value = [part for part in value if part]
        if not isinstance(value, list | tuple):
            self._refuse(value)
        return tuple(self._one(part) for part in value)

    def _one(self, value: Any) -> Any:
        given = value
        if isinstance(value, str) and self.kind is not str:
            value = self._from_text(value)
        if self.kind is float and type(value) is int:
            value = as_number(value)  # NaN for one beyond all floats
        if self.kind is str and type(value) is int and abs(value) < 2**63:
            value = str(value)  # a name may be a number, and is then written as one
        # Not `isinstance`: true and false are whole numbers to Python.
        if type(value) is not self.kind:
            self._refuse(value)
        if isinstance(value, float) and not math.isfinite(value):
            self._refuse(given)
        if self.choices and value not in self.choices:
            raise ValueError(
                f"{self.key} is {shown(value)}{suggest(value, self.choices)}. Choose "
                f"one of {', '.join(self.choices)}."
            )
        return value

    def _from_text(self, text: str) -> Any:
        word = text.strip().lower()
        if self.kind is bool:
            if word in (*TRUE_WORDS, *FALSE_WORDS):
                return word in TRUE_WORDS
            self._refuse(text)
        try:
            return self.kind(word)
        except ValueError:
            self._refuse(text)

    def _refuse(self, value: Any) -> typing.NoReturn:
        raise ValueError(f"{self.key} is {shown(value)}, but must be {self._wanted()}.")

    def _wanted(self) -> str:
        wanted = _NAMES[self.kind]
        if self.choices:
            wanted = f"one of {', '.join(self.choices)}"
        if self.is_list:
            wanted = f"a list, each of them {wanted}"
        return wanted + (f', or "{NONE}"' if self.is_optional else "")


def setting_of(
    key: str, annotation: Any, default: Any, choices: Sequence[str] = ()
) -> Setting | None:
    """The setting for a field of a dataclass; None if it is not a plain value."""
    is_optional = False
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [a for a in typing.get_args(annotation) if a is not types.NoneType]
        is_optional = len(parts) < len(typing.get_args(annotation))
        # a number may be given as int or float, a file as text or path
        parts = [float] if set(parts) == {int, float} else parts
        parts = [p for p in parts if p in _NAMES] or parts
        annotation = parts[0]
    if typing.get_origin(annotation) is typing.Literal:
        return Setting(key, str, default, typing.get_args(annotation), False)
    is_list = typing.get_origin(annotation) is tuple
    if is_list:
        annotation = typing.get_args(annotation)[0]
    if annotation not in _NAMES:
        return None
    return Setting(key, annotation, default, tuple(choices), is_list, is_optional)
