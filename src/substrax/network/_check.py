"""Networks that come from outside are looked at before anything reads their arrays."""

import dataclasses
from typing import Any

import numpy as np

from .._memory import is_on_disk
from .._native import Engine, native_array
from .._types import check_arrays, check_counts, check_whole
from ..cppn import ACTIVATION_NAMES, activation_ids_of, check_dialect
from ._networks import AXES, Networks, checked, is_checked

_LINKS_AT_A_TIME = 1 << 20
_NUMBERS = ("node_bias", "node_point", "link_weight")
_WHOLE = tuple(name for name in AXES if name not in _NUMBERS)


def check_steps(steps: int) -> None:
    """Raises a `ValueError` unless `steps` is a positive whole number."""
    check_whole(steps=steps)
    if steps < 1:
        raise ValueError(f"steps must be positive, not {steps}.")


def check_networks(networks: Networks) -> None:
    """Raises a `ValueError` for arrays that do not make networks.

    What the decoders of this package made is known to be sound and is not looked at
    again; nor is what nobody can have changed since, as `secured` makes it.
    """
    if is_checked(networks):
        return
    n = networks
    check_dialect(n.dialect)
    check_steps(n.steps)
    check_counts(num_inputs=n.num_inputs, num_outputs=n.num_outputs)
    # First, as how many networks there are is read off it.
    check_arrays(n, {"node_bounds": AXES["node_bounds"]}, _WHOLE, {})
    if not n.node_bounds.size:
        raise ValueError("node_bounds is empty; it must begin with 0.")
    check_arrays(n, AXES, _WHOLE, {"2": 2, "networks": len(n)})
    _check_numbers(n)
    # Each relies on those before: bounds lead to nodes, and links to both.
    _check_bounds(n)
    _check_nodes(n)
    _check_links(n)
    if all(_is_out_of_reach(getattr(n, name)) for name in AXES):
        checked(networks)


def secured(networks: Networks) -> Networks:
    """The same networks, checked once and for all: copied where they could change."""
    check_networks(networks)
    if is_checked(networks):
        return networks
    arrays = {name: getattr(networks, name) for name in AXES}
    for name, array in arrays.items():
        if not _is_out_of_reach(array):
            arrays[name] = array.copy()
    return checked(dataclasses.replace(networks, **arrays))


def _is_out_of_reach(array: np.ndarray) -> bool:
    """Whether nobody can write to an array, nor to one that it is a view of."""
    base = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        base = base.base
    return True


def _check_numbers(n: Networks) -> None:
    if n.link_weight.dtype not in (np.float32, np.float64):
        raise ValueError(
            f"link weights are {n.link_weight.dtype}; they must be float32 or float64."
        )
    if n.node_bias.dtype != n.link_weight.dtype:
        raise ValueError(
            f"biases are {n.node_bias.dtype}, but link weights {n.link_weight.dtype}; "
            "make them alike."
        )
    if not np.isfinite(n.node_bias).all():
        raise ValueError("a bias is NaN or infinite; repair the networks.")


def _check_bounds(n: Networks) -> None:
    for name, bounds, total in (
        ("node_bounds", n.node_bounds, n.node_rank.size),
        ("link_bounds", n.link_bounds, n.link_weight.size),
    ):
        # Not by their differences: of unsigned numbers none is negative.
        is_falling = (bounds[1:] < bounds[:-1]).any()
        if bounds[0] != 0 or bounds[-1] != total or is_falling:
            raise ValueError(
                f"{name} must ascend from 0 to {total}, the number of "
                f"{name.partition('_')[0]}s."
            )
    if (np.diff(n.node_bounds) < n.num_inputs + n.num_outputs).any():
        raise ValueError(
            "a network has fewer nodes than inputs and outputs; each has "
            f"{n.num_inputs} inputs and {n.num_outputs} outputs, which come first."
        )


def _check_nodes(n: Networks) -> None:
    known = len(ACTIVATION_NAMES)
    if ((n.node_activation < 0) | (n.node_activation >= known)).any():
        raise ValueError(
            f"a node has an activation id that is unknown; ids are positions in "
            f"ACTIVATION_NAMES, 0 to {known - 1}."
        )
    may_occur = np.zeros(known, bool)
    may_occur[activation_ids_of(n.activation_ids)] = True
    if not may_occur[n.node_activation].all():
        raise ValueError(
            "a node has an activation that activation_ids does not list; add it there."
        )
    low, high = n.node_rank.min(initial=0), n.node_rank.max(initial=0)
    if low < -(2**31) or high >= 2**31:
        raise ValueError(
            f"node_rank runs from {low} to {high}; ranks must fit 32 bits. Number them "
            "from 0."
        )


def _check_links(n: Networks) -> None:
    # With a sign: of int64 and uint64 together, NumPy makes floats.
    num_nodes = np.diff(n.node_bounds).astype(np.int64)
    stops = n.link_bounds[1:].astype(np.int64)
    for some in n.link_slices(_LINKS_AT_A_TIME):
        # The network that each of these links belongs to.
        # From the right, so that networks without links are passed over.
        owner = np.searchsorted(stops, np.arange(some.start, some.stop), side="right")
        for name in ("link_source", "link_target"):
            ends = getattr(n, name)[some]
            if ((ends < 0) | (ends >= num_nodes[owner])).any():
                raise ValueError(
                    f"{name} names a node that does not exist; nodes of a network are "
                    "numbered from 0."
                )
        if not np.isfinite(n.link_weight[some]).all():
            raise ValueError("a link weight is NaN or infinite; repair the networks.")
        if n.is_acyclic:
            _check_ranks(n, some, n.node_bounds.astype(np.int64)[owner])


def _check_ranks(n: Networks, some: slice, first: np.ndarray) -> None:
    source, target = (
        ends[some].astype(np.int64) for ends in (n.link_source, n.link_target)
    )
    is_real = target >= n.num_inputs  # links into inputs carry nothing
    if (is_real & (n.node_rank[first + source] >= n.node_rank[first + target])).any():
        raise ValueError(
            "the networks are said to be acyclic, but a link does not lead to a "
            "higher node_rank. Set is_acyclic to False, or repair the ranks."
        )


def hold_networks(native: Engine, networks: Networks) -> Any:
    """The networks, for functions of the native engine."""
    check_networks(networks)
    n = networks
    kind = "Float" if n.dtype == np.float32 else "Double"
    links = (
        native_array(n.link_source, np.int32),
        native_array(n.link_target, np.int32),
        native_array(n.link_weight, n.dtype),
    )
    return getattr(native.module, f"Networks{kind}").hold(
        int(n.num_inputs),
        int(n.num_outputs),
        native_array(n.node_bounds, np.int64),
        native_array(n.link_bounds, np.int64),
        native_array(n.node_activation, np.int32),
        native_array(n.node_rank, np.int32),
        native_array(n.node_bias, n.dtype),
        *links,
        bool(n.dialect == "neat-python"),
        bool(n.is_acyclic),
        # As they are handed over: what was converted is no file any more.
        all(map(is_on_disk, links)),
    )
