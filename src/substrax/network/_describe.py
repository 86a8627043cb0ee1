"""What a network is, in numbers and in words."""

import collections
import dataclasses

import numpy as np
from jaxtyping import Float

from .._memory import forget_pages
from .._types import counted
from ._evaluate import evaluate
from ._networks import Networks

_PROBES = 16
_LINKS_AT_A_TIME = 1 << 17
_CLASSES = ("forward", "backward", "lateral", "self", "unplaced")


@dataclasses.dataclass(frozen=True)
class Description:
    """Counts of one network and, if it computes nothing, why.

    `depth` is the number of links on the longest path, None if there are cycles.
    `links` counts links by class; links of networks without positions are all under
    "unplaced", which its words leave out. `diagnosis` is empty for a network that
    answers to its inputs.
    """

    num_inputs: int
    num_outputs: int
    num_hidden: int
    num_links: int
    links: dict[str, int]
    depth: int | None
    diagnosis: str

    def __str__(self) -> str:
        # Where no node has a position, there are no classes to speak of.
        counts = self.links if self.links.get("unplaced", 0) < self.num_links else {}
        classes = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
        shape = ", ".join(
            [
                counted(self.num_inputs, "input"),
                counted(self.num_hidden, "hidden node"),
                counted(self.num_outputs, "output"),
                counted(self.num_links, "link"),
            ]
        )
        lines = [shape + (f" ({classes})" if classes else "")]
        if self.depth is None:
            lines.append("recurrent")
        else:
            lines.append(f"{counted(self.depth, 'link')} deep")
        if self.diagnosis:
            lines.append(self.diagnosis)
        return "\n".join(lines)


def _link_counts(network: Networks) -> dict[str, int]:
    counts = collections.Counter[str]()
    is_nowhere = np.isnan(network.node_point[:, 0])
    y = network.node_point[:, 1]
    for some in network.link_slices(_LINKS_AT_A_TIME):
        source, target = network.link_source[some], network.link_target[some]
        is_placed = ~(is_nowhere[source] | is_nowhere[target])
        is_self = source == target
        ys, yt = y[source], y[target]
        counts["forward"] += int(((ys < yt) & is_placed).sum())
        counts["backward"] += int(((ys > yt) & is_placed).sum())
        counts["lateral"] += int(((ys == yt) & is_placed & ~is_self).sum())
        counts["self"] += int((is_self & is_placed).sum())
        counts["unplaced"] += int((~is_placed).sum())
    return {name: counts[name] for name in _CLASSES}


def _depth(network: Networks) -> int | None:
    """Links on the longest path; None if there is a cycle.

    Step by step: a node is reached when all links into it have come. Links are read
    again in each step, as only what is kept of nodes is sure to fit the memory; runs
    of them that have no source which is new are passed over.
    """
    num_nodes = int(network.node_bounds[-1])
    runs = []
    waiting = np.zeros(num_nodes, np.int64)
    for some in network.link_slices(_LINKS_AT_A_TIME):
        source, target = network.link_source[some], network.link_target[some]
        waiting += np.bincount(target, minlength=num_nodes)
        runs.append((some, int(source.min()), int(source.max())))
    waiting[: network.num_inputs] = 0  # inputs hold their value
    is_new = waiting == 0
    num_reached, steps = int(is_new.sum()), 0
    while num_reached < num_nodes:
        before = np.concatenate([[0], np.cumsum(is_new)])
        come = np.zeros(num_nodes, np.int64)
        for some, low, high in runs:
            # Some source of this run is new; from others nothing comes.
            if before[low] < before[high + 1]:
                from_new = is_new[network.link_source[some]]
                come += np.bincount(
                    network.link_target[some][from_new], minlength=num_nodes
                )
                forget_pages(network.link_source, network.link_target)
        come[: network.num_inputs] = 0
        waiting -= come
        is_new = (waiting == 0) & (come > 0)
        if not is_new.any():
            return None
        num_reached += int(is_new.sum())
        steps += 1
    return steps


def _diagnose(network: Networks) -> str:
    if not network.link_source.size:
        found = int(network.num_found[0])
        if found == 0:
            return (
                "empty: the CPPN's pattern made no hidden position. Its field is too "
                "flat for the variance threshold, or too weak for the weight or band "
                "threshold. Lower these, or raise initial_depth."
            )
        # (below 0 nobody has looked, as in networks whose nodes were given)
        if found > 0:
            return (
                f"empty: hidden positions were found ({found}), but none of them links "
                "on to an output; all outputs are constant. Lower weight_threshold or "
                "band_threshold, or give the outputs other places, by the problem's "
                "layout."
            )
        return "empty: there is no link; all outputs are constant."
    # Always the same, so that a network is described alike each time.
    probes = np.random.default_rng(0).uniform(-1, 1, (_PROBES, network.num_inputs))
    values = evaluate(network, probes)[0]
    outputs = np.arange(network.num_outputs)
    is_fed = np.zeros(int(network.node_bounds[-1]), bool)
    for some in network.link_slices(_LINKS_AT_A_TIME):
        is_fed[network.link_target[some]] = True
    is_fed = is_fed[outputs + network.num_inputs]
    is_flat = (values == values[0]).all(axis=0)
    notes = [
        f"nothing reaches output {o}, which is always {values[0, o]:g}."
        for o in outputs[~is_fed]
    ]
    for o in outputs[is_fed & is_flat]:
        updates = _updates_to_answer(network, probes, int(o))
        if updates is not None:
            notes.append(
                f"output {o} answers to inputs after {updates} updates, but the "
                f"network makes {network.steps} for one input (steps). It is constant "
                "unless its state is carried on, as in control tasks; else raise steps."
            )
            continue
        notes.append(
            f"output {o} is constant ({_PROBES} random inputs gave {values[0, o]:g}): "
            "saturated nodes, or paths from the inputs that carry nothing."
        )
    return " ".join(notes)


def _updates_to_answer(
    network: Networks, probes: Float[np.ndarray, "probes inputs"], output: int
) -> int | None:
    """Updates, more than it makes, after which an output differs between inputs.

    None if there is no such number among those that the ways from the inputs suggest.
    """
    if network.is_acyclic:
        return None
    reached = np.arange(network.node_bounds[-1]) < network.num_inputs
    node = network.num_inputs + output
    updates = 0
    while not reached[node]:
        # A shortest way has no node twice.
        if updates == reached.size:
            return None  # no way leads there
        reached[network.link_target[reached[network.link_source]]] = True
        updates += 1
    # the shortest way may cancel out or carry nothing, and a longer one not
    for more in (updates, updates + 1, 2 * updates):
        if more > network.steps:
            values = evaluate(network, probes, steps=more)[0, :, output]
            if (values != values[0]).any():
                return more
    return None


def describe(network: Networks) -> Description:
    """Describes one network."""
    if len(network) != 1:
        raise ValueError(
            f"describe one network at a time, for example networks[0]; these are "
            f"{len(network)}."
        )
    return Description(
        num_inputs=network.num_inputs,
        num_outputs=network.num_outputs,
        num_hidden=int(network.num_hidden[0]),
        num_links=int(network.num_links[0]),
        links=_link_counts(network),
        depth=_depth(network),
        diagnosis=_diagnose(network),
    )
