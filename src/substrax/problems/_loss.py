"""Losses of networks over samples: in chunks, with the same bits for any chunk size."""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from .._resources import Resources
from ..network import Networks, evaluate
from ._base import TracedFitness
from ._network_function import NetworkFunction

LossFunction = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From outputs (networks, samples, outputs) and targets (samples, outputs), in 64 bits,
to losses (networks, samples)."""

_BLOCK = 4096
"""Samples whose losses are added up at once.

Sums of floats depend on how they are grouped. So losses are always added up in blocks
of this many samples, and the blocks' sums in their order, however many are evaluated at
a time.
"""

_MAX_CONSTANT = 1 << 20
"""Inputs that may be a part of a compiled program, at most."""

_MAX_VALUES = 1 << 24
"""Outputs that are held at a time, at most; else fewer networks are taken at once."""


def squared(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The mean over outputs of the squared error."""
    return ((outputs - targets) ** 2).mean(axis=2)


def absolute(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The mean over outputs of the absolute error."""
    return np.abs(outputs - targets).mean(axis=2)


def is_right(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Whether an output lies on its target's side of 0.5, for targets 0 and 1.

    An output of exactly 0.5 is never right.
    """
    return np.where(targets > 0.5, outputs > 0.5, outputs < 0.5)


def misclassified(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """1 where an answer is wrong.

    One output answers 1 above 0.5 and 0 below it. Several answer with the largest of
    them; a tie at the top is wrong.
    """
    if outputs.shape[2] == 1:
        return 1.0 - is_right(outputs, targets)[:, :, 0]
    wanted = np.broadcast_to(targets, outputs.shape).argmax(axis=2)
    # Else a network that answers alike to all would have the first class right.
    is_best = outputs == outputs.max(axis=2, keepdims=True)
    is_hit = np.take_along_axis(is_best, wanted[:, :, None], axis=2)[:, :, 0]
    return 1.0 - (is_hit & (is_best.sum(axis=2) == 1))


def cross_entropy(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The mean over outputs of -log p, outputs being probabilities of 1.

    Probabilities are kept within 1e-7 of 0 and 1, so that no answer costs more than 16.
    """
    p = np.clip(outputs, 1e-7, 1.0 - 1e-7)
    # NaN passes through the clip, as it should.
    return -(targets * np.log(p) + (1.0 - targets) * np.log1p(-p)).mean(axis=2)


LOSSES: dict[str, LossFunction] = {
    "squared": squared,
    "absolute": absolute,
    "cross_entropy": cross_entropy,
    "misclassified": misclassified,
}
"""Losses by name. Each takes outputs (networks, samples, outputs) and targets that fit
them, and gives a loss for each network and sample."""


def _outputs(
    networks: Networks,
    inputs: Float[np.ndarray, "samples inputs"],
    chunk_size: int,
    resources: Resources | None,
) -> Iterator[tuple[int, Float[np.ndarray, "networks samples outputs"]]]:
    """Outputs in 64 bits, chunk by chunk of samples, with each chunk's first sample."""
    for first in range(0, len(inputs), chunk_size):
        some = inputs[first : first + chunk_size]
        values = evaluate(networks, some, resources=resources)
        yield first, values.astype(np.float64)


def mean_loss(
    networks: Networks,
    inputs: Float[np.ndarray, "samples inputs"],
    targets: Float[np.ndarray, "samples outputs"],
    loss: LossFunction,
    chunk_size: int,
    resources: Resources | None = None,
) -> Float[np.ndarray, " networks"]:
    """The mean loss of each network; NaN for one with an output that is not finite.

    `chunk_size` is how many samples are evaluated at a time, rounded up to whole
    blocks. It changes memory and time, and not a bit of the result.
    """
    chunk_size = -(-chunk_size // _BLOCK) * _BLOCK
    total = np.zeros(len(networks))
    for first, values in _outputs(networks, inputs, chunk_size, resources):
        losses = _losses(values, targets[first : first + values.shape[1]], loss)
        for begin in range(0, losses.shape[1], _BLOCK):
            # How NumPy groups a sum depends on how numbers lie in memory.
            block = np.ascontiguousarray(losses[:, begin : begin + _BLOCK])
            total += block.sum(axis=1)
    return total / len(inputs)


def _losses(
    outputs: Float[np.ndarray, "networks samples outputs"],
    targets: Float[np.ndarray, "samples outputs"],
    loss: LossFunction,
) -> Float[np.ndarray, "networks samples"]:
    """Losses of outputs; NaN where one is not finite."""
    is_finite = np.isfinite(outputs).all(axis=2)
    with np.errstate(all="ignore"):  # what is not finite is dealt with below
        losses = np.asarray(loss(outputs, targets), np.float64)
    if losses.shape != outputs.shape[:2]:
        raise ValueError(
            f"the loss gave the shape {losses.shape} for outputs {outputs.shape}; "
            "it must give one number for each network and sample, "
            f"{outputs.shape[:2]}."
        )
    return np.where(is_finite, losses, np.nan)


def traced_samples(
    inputs: Float[np.ndarray, "samples inputs"],
    fitness: Callable[[Float[np.ndarray, "networks samples outputs"]], np.ndarray],
) -> TracedFitness | None:
    """A fitness of the outputs for all samples, if these are few."""
    if len(inputs) > _BLOCK or inputs.size > _MAX_CONSTANT:
        return None

    def outcome(network: NetworkFunction, key: Key[Array, ""]) -> Array:
        del key
        return network(jnp.asarray(inputs, network.dtype))

    return TracedFitness(outcome, fitness)


def traced_loss(
    inputs: Float[np.ndarray, "samples inputs"],
    targets: Float[np.ndarray, "samples outputs"],
    loss: LossFunction,
) -> TracedFitness | None:
    """1 minus the mean loss, as `mean_loss` has it, if samples are few."""

    def fitness(outputs: Float[np.ndarray, "networks samples outputs"]) -> np.ndarray:
        return 1.0 - _losses(outputs, targets, loss).sum(axis=1) / len(inputs)

    return traced_samples(inputs, fitness)


def scores_of(
    networks: Networks,
    inputs: Float[np.ndarray, "samples inputs"],
    chunk_size: int,
    resources: Resources | None = None,
) -> Iterator[tuple[int, Float[np.ndarray, "networks samples"]]]:
    """The only output of each network for all samples, some networks at a time."""
    step = max(1, _MAX_VALUES // max(1, len(inputs)))
    for begin in range(0, len(networks), step):
        part = networks.part(begin, min(begin + step, len(networks)))
        chunks = _outputs(part, inputs, chunk_size, resources)
        yield begin, np.concatenate([values[:, :, 0] for _, values in chunks], axis=1)


def auc(scores: Float[np.ndarray, " n"], labels: Float[np.ndarray, " n"]) -> float:
    """Area under the ROC curve: how often a 1 scores higher than a 0.

    By ranks (Mann & Whitney 1947); equal scores share their mean rank, so a tie counts
    half. NaN if a score is not finite, or if all labels are the same.
    """
    is_one = labels > 0.5
    num_one = int(is_one.sum())
    num_zero = is_one.size - num_one
    if not num_one or not num_zero or not np.isfinite(scores).all():
        return float("nan")
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    # Runs of equal scores: the mean of their ranks is (first + last) / 2.
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ends = np.concatenate([starts[1:], [ordered.size]])
    rank = np.repeat((starts + 1 + ends) / 2, ends - starts)
    # Multiples of a half, far below 2^53: these sums are exact, in any order.
    rank_sum = rank[is_one[order]].sum()
    return float((rank_sum - num_one * (num_one + 1) / 2) / (num_one * num_zero))


def draw_samples(key: Key[Array, ""], num: int, total: int) -> Int[np.ndarray, " some"]:
    """`num` of `total` samples without repetition, in order, decided by the key."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    # Sorted, so that to draw all of them is to take all, to the bit.
    return np.sort(rng.choice(total, num, replace=False))
