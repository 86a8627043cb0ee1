"""What a network is, in numbers and in words."""

import dataclasses

import numpy as np
from jaxtyping import Float

from ..cppn import longest_paths
from ._evaluate import evaluate
from ._networks import Networks

_PROBES = 16


def _count(num: int, word: str) -> str:
    return f"{num} {word}" if num == 1 else f"{num} {word}s"


@dataclasses.dataclass(frozen=True)
class Description:
    """Counts of one network and, if it computes nothing, why.

    `depth` is the number of links on the longest path, None if there are cycles.
    `links` counts links by class; links of networks without positions are all under
    "unplaced". `diagnosis` is empty for a network that answers to its inputs.
    """

    num_inputs: int
    num_outputs: int
    num_hidden: int
    num_links: int
    links: dict[str, int]
    depth: int | None
    diagnosis: str

    def __str__(self) -> str:
        classes = ", ".join(f"{n} {name}" for name, n in self.links.items() if n)
        shape = ", ".join(
            [
                _count(self.num_inputs, "input"),
                _count(self.num_hidden, "hidden node"),
                _count(self.num_outputs, "output"),
                _count(self.num_links, "link"),
            ]
        )
        lines = [shape + (f" ({classes})" if classes else "")]
        if self.depth is None:
            lines.append("recurrent")
        else:
            lines.append(f"{_count(self.depth, 'link')} deep")
        if self.diagnosis:
            lines.append(self.diagnosis)
        return "\n".join(lines)


def _link_counts(network: Networks) -> dict[str, int]:
    source = network.node_point[network.link_source]
    target = network.node_point[network.link_target]
    is_placed = ~np.isnan(source + target).any(axis=1)
    ys, yt = source[:, 1], target[:, 1]
    is_self = network.link_source == network.link_target
    masks = {
        "forward": ys < yt,
        "backward": ys > yt,
        "lateral": (ys == yt) & ~is_self,
        "self": is_self & is_placed,
        "unplaced": ~is_placed,
    }
    return {name: int(mask.sum()) for name, mask in masks.items()}


def _depth(network: Networks) -> int | None:
    effective = network.link_target >= network.num_inputs  # inputs hold their value
    depth = longest_paths(
        network.link_source[effective],
        network.link_target[effective],
        int(network.node_bounds[-1]),
    )
    return None if depth is None else int(depth.max(initial=0))


def _diagnose(network: Networks) -> str:
    if not network.link_source.size:
        found = int(network.num_found[0])
        if found == 0:
            return (
                "empty: the CPPN's pattern made no hidden position. Its field is too "
                "flat for the variance threshold, or too weak for the weight or band "
                "threshold. Lower these, or raise initial_depth."
            )
        if found > 0:
            return (
                f"empty: hidden positions were found ({found}), but none of them links "
                "on to an output; all outputs are 0. Lower the weight or band "
                "threshold, or let the CPPN see the outputs elsewhere."
            )
        return "empty: there is no link; all outputs are constant."
    probes = np.random.default_rng(0).uniform(-1, 1, (_PROBES, network.num_inputs))
    values = evaluate(network, probes)[0]
    outputs = np.arange(network.num_outputs)
    is_fed = np.isin(outputs + network.num_inputs, network.link_target)
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
