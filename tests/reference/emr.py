"""EMR-HyperNEAT: eager masks over every cell of every level, in NumPy.

For one source the field is evaluated at all cells of all levels; variances go up, masks
come down. Nothing is saved and nothing is clever.

What is decided here where the paper leaves a choice:

1. **Mask** (paper, eq. 2). Level d <= initial_depth is active. A deeper cell is active
   iff its parent p is active and var4(p) > variance_threshold, var4(p) being the
   population variance over p's four children, i.e. over the cell and its siblings.
   Mode `recover` drops "p is active": ancestors do not matter.
2. **Field.** `output`: the variance is that of the raw u. `weight`: that of v = w(u).
   The weight threshold and the band test are on v in either case.
3. **Expressed** in phase 1, from input s to cell c: c is active for s, |v| >
   weight_threshold (strictly), y_s < y_c, LEO permits it, and, if band_threshold > 0,
   band(c) > band_threshold with the band of rule `es` (neighbours at c's own level,
   outside the plane too). band_threshold 0 switches the band test off; it does not ask
   for a difference.
4. Cells of all levels are candidates, coarse ones above active finer ones too: a
   position does not stop being a candidate because its children are active (in `es` it
   does).
5. **Phase 1**: hidden positions H = cells with an expressed link from at least one
   input, each input having its own field and mask.
6. **Rounds** (0 by default): a round explores from every position in H not yet explored
   by a round, with that position's own field and mask, under the conditions of 3 except
   that the direction is not "upwards" but whatever class the configuration allows; the
   targets join H. `feedforward` has no hidden-to-hidden links, hence no rounds. A round
   only adds positions: the links come from phase 2, whose pairs include all of them.
7. **Phase 2**: one query for every ordered pair of H that the configuration allows,
   expressed iff |w| > weight_threshold and LEO permits. No mask, no band.
8. **Phase 3**: one query for every (position of H, output) with y_h < y_o; the same
   condition.
9. Clean-up as in `es` (`grid.clean_up`). In a cyclic configuration a node that is on a
   walk from an input to an output stays.
10. **Coincidence.** As in `es`, a cell equal to an input or an output *is* that node,
    and is in H when it was found. Input to hidden and hidden to output links are always
    forward, so the classes backward, lateral and self need two ends that are neither
    input nor output.
    A pair found by two phases is one query and one weight; it is one link.
11. Classes follow from the integers of the cells, never from a float tolerance.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from . import es, grid
from .cppn import Query
from .grid import Discovery, Link, Position

CONFIGURATIONS: dict[str, frozenset[str]] = {
    "feedforward": frozenset(),
    "hidden": frozenset({"forward"}),
    "backward": frozenset({"forward", "backward"}),
    "lateral": frozenset({"forward", "lateral"}),
    "self": frozenset({"forward", "self"}),
    "full": frozenset({"forward", "backward", "lateral", "self"}),
}


@dataclass(frozen=True)
class Parameters:
    """Parameters of rule `emr`; `depth` is D, the deepest level."""

    depth: int = 3
    initial_depth: int = 0
    variance_threshold: float = 0.03
    weight_threshold: float = 0.1
    band_threshold: float = 0.0
    configuration: str = "hidden"
    field: str = "output"
    rounds: int = 0
    recover: bool = False


def link_class(source: Position, target: Position) -> str:
    """forward, backward, lateral or self; exact, as the coordinates are dyadic."""
    if source == target:
        return "self"
    if source[1] == target[1]:
        return "lateral"
    return "forward" if source[1] < target[1] else "backward"


def active_cells(values: list[np.ndarray], parameters: Parameters) -> list[np.ndarray]:
    """Rule 1: masks of all levels from the field at all levels."""
    active: list[np.ndarray] = [np.ones((2, 2), dtype=bool)]
    for level in range(1, len(values)):
        if level <= parameters.initial_depth:
            active.append(np.ones(values[level].shape, dtype=bool))
            continue
        varies = grid.var4(values[level]) > parameters.variance_threshold
        passing = varies if parameters.recover else active[-1] & varies
        active.append(grid.spread(passing))
    return active


def output_field(query: Query, depth: int, source: Position) -> list[np.ndarray]:
    """The raw output u from a source to all cells of levels 0..depth."""
    return [
        query.output(grid.query_points(source, grid.cell_points(level), True)).reshape(
            2 ** (level + 1), -1
        )
        for level in range(depth + 1)
    ]


def active_from(
    query: Query, parameters: Parameters, source: Position
) -> list[np.ndarray]:
    """The masks for one source, on the field that the parameters name."""
    if parameters.field == "output":
        values = output_field(query, parameters.depth, source)
    else:
        values = es.weight_field(query, parameters.depth, source, True)
    return active_cells(values, parameters)


def expressed_targets(
    query: Query,
    parameters: Parameters,
    source: Position,
    terminals: set[Position],
    classes: frozenset[str],
) -> dict[Link, float]:
    """Links from one source to the cells that rule 3 lets it express."""
    weights = es.weight_field(query, parameters.depth, source, True)
    links: dict[Link, float] = {}
    for level, active in enumerate(active_from(query, parameters, source)):
        rows = grid.query_points(source, grid.cell_points(level), True)
        strong = np.abs(weights[level]) > parameters.weight_threshold
        expressed = active & strong & query.is_permitted(rows).reshape(active.shape)
        if parameters.band_threshold > 0:
            strength = es.band(query, source, True, level, weights[level])
            expressed &= strength > parameters.band_threshold
        for row, weight in zip(
            rows[expressed.ravel()].tolist(),
            weights[level][expressed].tolist(),
            strict=True,
        ):
            target = (row[2], row[3])
            if is_allowed(source, target, terminals, classes):
                links[source, target] = weight
    return links


def is_allowed(
    source: Position,
    target: Position,
    terminals: set[Position],
    classes: frozenset[str],
) -> bool:
    """Whether the class of a link is among `classes`; terminals: forward alone."""
    if source in terminals or target in terminals:
        classes = classes & {"forward"}
    return link_class(source, target) in classes


def pair_links(
    query: Query, parameters: Parameters, pairs: list[Link]
) -> dict[Link, float]:
    """One query for each pair; expressed iff strong enough and LEO permits."""
    if not pairs:
        return {}
    rows = np.array(pairs, dtype=float).reshape(-1, 4)
    weights = query.weight(rows)
    expressed = (np.abs(weights) > parameters.weight_threshold) & query.is_permitted(
        rows
    )
    return {
        pair: float(weight)
        for pair, weight, is_expressed in zip(pairs, weights, expressed, strict=True)
        if is_expressed
    }


def discover(
    query: Query,
    inputs: Iterable[Iterable[float]],
    outputs: Iterable[Iterable[float]],
    parameters: Parameters,
) -> Discovery:
    """Phases 1 to 3 and the clean-up."""
    input_positions = grid.as_positions(inputs)
    output_positions = grid.as_positions(outputs)
    terminals = {*input_positions, *output_positions}
    if len(terminals) < len(input_positions) + len(output_positions):
        raise ValueError("two terminals share a coordinate; move one of them")
    classes = CONFIGURATIONS[parameters.configuration]
    queries_before = query.count

    links: dict[Link, float] = {}
    for source in input_positions:
        links |= expressed_targets(
            query, parameters, source, terminals, frozenset({"forward"})
        )
    found = {target for _, target in links}

    explored: set[Position] = set()
    for _ in range(parameters.rounds if classes else 0):
        waiting = found - explored
        for source in sorted(waiting):
            new = expressed_targets(query, parameters, source, terminals, classes)
            found |= {target for _, target in new}
        explored |= waiting

    hidden = sorted(found)
    pairs = [
        (source, target)
        for source in hidden
        for target in hidden
        if is_allowed(source, target, terminals, classes)
    ]
    links |= pair_links(query, parameters, pairs)
    towards_outputs = [
        (source, target)
        for source in hidden
        for target in output_positions
        if source[1] < target[1]
    ]
    links |= pair_links(query, parameters, towards_outputs)
    alive, kept = grid.clean_up(links, input_positions, output_positions)
    return Discovery(alive, kept, frozenset(found), links, query.count - queries_before)
