"""What inputs and outputs are called, in the room that there is for it."""

import dataclasses
import re
import textwrap

from ..decoders import AbstractDecoder, Direct
from ..problems import Preparation

_WIDTH = 11
"""Letters that a box in a picture has room for."""
_MORE = "\u2026"


def named(decoder: AbstractDecoder, preparation: Preparation) -> AbstractDecoder:
    """The decoder for pictures; plain NEAT gets names of columns and classes."""
    if not isinstance(decoder, Direct):
        return decoder
    return dataclasses.replace(
        decoder,
        input_names=tuple(
            fitted(name, 3) for name in preparation.input_names(decoder.num_inputs)
        ),
        output_names=tuple(
            fitted(name, 2) for name in preparation.output_names(decoder.num_outputs)
        ),
    )


def fitted(name: str, max_lines: int, width: int = _WIDTH) -> str:
    """A name in short lines; one that is longer ends in dots."""
    # Lines may end behind these marks, as they do at spaces.
    parted = re.sub(r"([_=/])", r"\1 ", name)
    lines = textwrap.wrap(
        parted,
        width,
        max_lines=max_lines,
        placeholder=_MORE,
        break_long_words=False,
    )
    joined = [re.sub(r"([_=/]) ", r"\1", line) for line in lines]
    most = width + 2  # a word by itself may stick out a little
    short = [x if len(x) <= most else x[: most - 1] + _MORE for x in joined]
    return plain("\n".join(short))


def shortened(name: str, most: int) -> str:
    """On one line; of a long one the middle is left out, as names of arms differ at
    their ends."""
    if len(name) > most:
        tail = most // 2
        name = name[: most - tail - 1] + _MORE + name[-tail:]
    return plain(name)


def plain(text: str) -> str:
    """A text for Matplotlib, which takes what stands between dollars for a formula,
    and whose files cannot hold signs that are not printed."""
    shown = "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    return shown.replace("$", r"\$")
