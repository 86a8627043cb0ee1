"""Networks that come from outside are looked at before anything reads their arrays."""

from typing import Any

import numpy as np

from .._memory import is_on_disk
from .._native import Engine
from ..cppn import ACTIVATION_NAMES, check_dialect
from ._networks import Networks, checked, is_checked

_LINKS_AT_A_TIME = 1 << 20


def check_networks(networks: Networks) -> None:
    """Raises a `ValueError` for arrays that do not make networks.

    What the decoders of this package made is known to be sound and is not looked at
    again.
    """
    if is_checked(networks):
        return
    n = networks
    check_dialect(n.dialect)
    num_nodes, num_links = n.node_activation.shape[0], n.link_source.shape[0]
    for name, array, shape in (
        ("node_bias", n.node_bias, (num_nodes,)),
        ("node_rank", n.node_rank, (num_nodes,)),
        ("node_point", n.node_point, (num_nodes, 2)),
        ("link_target", n.link_target, (num_links,)),
        ("link_weight", n.link_weight, (num_links,)),
        ("link_bounds", n.link_bounds, n.node_bounds.shape),
        ("num_found", n.num_found, (len(n),)),
    ):
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, expected {shape}.")
    if n.link_weight.dtype not in (np.float32, np.float64):
        raise ValueError(
            f"link weights are {n.link_weight.dtype}; they must be float32 or float64."
        )
    for name, bounds, total in (
        ("node_bounds", n.node_bounds, num_nodes),
        ("link_bounds", n.link_bounds, num_links),
    ):
        if bounds[0] != 0 or bounds[-1] != total or (np.diff(bounds) < 0).any():
            raise ValueError(
                f"{name} must ascend from 0 to {total}, the number of "
                f"{name.partition('_')[0]}s."
            )
    if (n.num_nodes < n.num_inputs + n.num_outputs).any():
        raise ValueError(
            "a network has fewer nodes than inputs and outputs; each has "
            f"{n.num_inputs} inputs and {n.num_outputs} outputs, which come first."
        )
    known = len(ACTIVATION_NAMES)
    if ((n.node_activation < 0) | (n.node_activation >= known)).any():
        raise ValueError(
            f"a node has an activation id that is unknown; ids are positions in "
            f"ACTIVATION_NAMES, 0 to {known - 1}."
        )
    _check_links(n)
    checked(networks)


def _check_links(n: Networks) -> None:
    network = np.repeat(np.arange(len(n)), n.num_links)
    for some in n.link_slices(_LINKS_AT_A_TIME):
        owner = network[some]
        for name in ("link_source", "link_target"):
            ends = getattr(n, name)[some]
            if ((ends < 0) | (ends >= n.num_nodes[owner])).any():
                raise ValueError(
                    f"{name} names a node that does not exist; nodes of a network are "
                    "numbered from 0."
                )
        if not n.is_acyclic:
            continue
        first = n.node_bounds[owner]
        target = n.link_target[some]
        is_real = target >= n.num_inputs
        below = n.node_rank[first + n.link_source[some]]
        if (is_real & (below >= n.node_rank[first + target])).any():
            raise ValueError(
                "the networks are said to be acyclic, but a link does not lead to a "
                "higher node_rank. Set is_acyclic to False, or repair the ranks."
            )


def hold_networks(native: Engine, networks: Networks) -> Any:
    """The networks, for functions of the native engine."""
    check_networks(networks)
    n = networks
    kind = "Float" if n.dtype == np.float32 else "Double"

    def array(values: np.ndarray, dtype: Any) -> np.ndarray:
        return np.ascontiguousarray(values, dtype)

    return getattr(native.module, f"Networks{kind}").hold(
        n.num_inputs,
        n.num_outputs,
        array(n.node_bounds, np.int64),
        array(n.link_bounds, np.int64),
        array(n.node_activation, np.int32),
        array(n.node_rank, np.int32),
        array(n.node_bias, n.dtype),
        array(n.link_source, np.int32),
        array(n.link_target, np.int32),
        array(n.link_weight, n.dtype),
        n.dialect == "neat-python",
        n.is_acyclic,
        is_on_disk(n.link_weight) and is_on_disk(n.link_source),
    )
