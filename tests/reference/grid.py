"""The cells of the substrate plane, and what both rules say about links.

Level d = 0..D holds cells (i, j), 0 <= i, j < 2^(d+1), centre
`((2i+1)/2^(d+1) - 1, (2j+1)/2^(d+1) - 1)`, side `2^-d`. Every centre is a dyadic
rational with an odd numerator at its level, so no two cells of any levels share a
centre, no centre has a coordinate 0, +1 or -1, and equality of coordinates is exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

Position = tuple[float, float]
Link = tuple[Position, Position]


@dataclass(frozen=True)
class Discovery:
    """What a rule found.

    `hidden` and `links` are the network after the clean-up; `hidden` holds neither
    inputs nor outputs. `raw_hidden` are all positions that were found, among them
    those that coincide with an input or an output; `raw_links` all links before the
    clean-up, those of phase 3 included.
    """

    hidden: frozenset[Position]
    links: dict[Link, float]
    raw_hidden: frozenset[Position]
    raw_links: dict[Link, float]
    queries: int


def centres(level: int) -> np.ndarray:
    """Coordinates along one axis of the cells of a level, from -1 to 1."""
    number = 2 ** (level + 1)
    return (2.0 * np.arange(number) + 1.0) / number - 1.0


def cell_points(level: int) -> np.ndarray:
    """Centres of all cells of a level, (n, n, 2) with n = 2^(level+1), at [i, j]."""
    axis = centres(level)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)


def query_points(
    terminal: Position, positions: np.ndarray, outgoing: bool
) -> np.ndarray:
    """Rows x1, y1, x2, y2 for links between one terminal and positions (..., 2)."""
    flat = positions.reshape(-1, 2)
    fixed = np.broadcast_to(np.array(terminal, dtype=float), flat.shape)
    return np.concatenate([fixed, flat] if outgoing else [flat, fixed], axis=1)


def blocks(values: np.ndarray) -> np.ndarray:
    """Values (2n, 2n) of one level as (n, n, 4): the four children of each parent.

    Children come in the order (-,-), (-,+), (+,+), (+,-).
    """
    return np.stack(
        [
            values[0::2, 0::2],
            values[0::2, 1::2],
            values[1::2, 1::2],
            values[1::2, 0::2],
        ],
        axis=-1,
    )


def spread(values: np.ndarray) -> np.ndarray:
    """Values (n, n) of one level handed on to the children, (2n, 2n)."""
    return values.repeat(2, axis=0).repeat(2, axis=1)


def var4(values: np.ndarray) -> np.ndarray:
    """Population variance over the four children of each parent: (2n, 2n) to (n, n)."""
    return np.var(blocks(values), axis=-1)


def reach(starts: Iterable[Position], links: Iterable[Link]) -> set[Position]:
    """Everything that can be reached from `starts` along links, starts included."""
    targets: dict[Position, list[Position]] = {}
    for source, target in links:
        targets.setdefault(source, []).append(target)
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        for target in targets.get(waiting.pop(), ()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def clean_up(
    links: dict[Link, float], inputs: Iterable[Position], outputs: Iterable[Position]
) -> tuple[frozenset[Position], dict[Link, float]]:
    """Keep the links both of whose ends lie on some path from an input to an output.

    In words: F = all positions reachable from any input along links (every input
    itself included), B = all positions from which any output is reachable (every
    output itself included), T = F and B. A link stays iff both ends are in T; the
    hidden nodes are T without the inputs and the outputs. Paths may run through inputs
    and outputs like through any other position. It follows that
    - a link into an input stays iff that input reaches an output (its source, another
      input or a hidden position, then does too);
    - a link out of an output stays iff that output is reachable and the target leads
      on to another output;
    - an input without a path to an output loses its links, and so does an output that
      no input reaches; both remain nodes of the network, without links.
    """
    inputs, outputs = set(inputs), set(outputs)
    forward = reach(inputs, links)
    backward = reach(outputs, ((target, source) for source, target in links))
    alive = forward & backward
    kept = {
        (source, target): weight
        for (source, target), weight in links.items()
        if source in alive and target in alive
    }
    return frozenset(alive - inputs - outputs), kept


def as_positions(coordinates: Iterable[Iterable[float]]) -> list[Position]:
    """Coordinates as a list of pairs of floats."""
    return [(float(x), float(y)) for x, y in coordinates]
