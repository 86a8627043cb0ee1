"""Networks, the phenotype: compact arrays over the nodes that exist."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from .._memory import forget_pages, joined
from .._resources import Resources
from ..cppn import ACTIVATION_NAMES, Dialect

if TYPE_CHECKING:
    from ._describe import Description

AXES = {
    "node_bounds": ("networks + 1",),
    "node_activation": ("nodes",),
    "node_bias": ("nodes",),
    "node_rank": ("nodes",),
    "node_point": ("nodes", "2"),
    "link_bounds": ("networks + 1",),
    "link_source": ("links",),
    "link_target": ("links",),
    "link_weight": ("links",),
    "num_found": ("networks",),
}
"""The arrays of networks, and what their axes are."""


@dataclasses.dataclass(frozen=True, eq=False)
class Networks:
    """The networks of a population, behind each other, of any sizes.

    Network g has nodes `node_bounds[g]:node_bounds[g+1]`: inputs, outputs, hidden ones;
    and links `link_bounds[g]:link_bounds[g+1]`, whose ends are node numbers within it.
    A node's value is `activation(bias + sum of weight * source)`, added in link order;
    inputs hold what they are given. `node_rank` orders evaluation: if every link leads
    to a higher rank, the networks are acyclic and can settle.

    `point` is where nodes lie on the substrate, NaN where they lie nowhere. `num_found`
    says how many positions a decoder found before cleaning up, -1 if it did not look.
    """

    num_inputs: int
    num_outputs: int
    node_bounds: Int[np.ndarray, " networks_and_one"]
    node_activation: Int[np.ndarray, " nodes"]
    node_bias: Float[np.ndarray, " nodes"]
    node_rank: Int[np.ndarray, " nodes"]
    node_point: Float[np.ndarray, "nodes 2"]
    link_bounds: Int[np.ndarray, " networks_and_one"]
    link_source: Int[np.ndarray, " links"]
    link_target: Int[np.ndarray, " links"]
    link_weight: Float[np.ndarray, " links"]
    num_found: Int[np.ndarray, " networks"]
    is_acyclic: bool
    dialect: Dialect
    activation_ids: tuple[int, ...]
    """Activations that may occur; kernels are compiled for these."""
    steps: int = 1
    """Synchronous updates that a network with cycles makes for one input."""

    def __len__(self) -> int:
        return self.node_bounds.shape[0] - 1

    @property
    def num_nodes(self) -> Int[np.ndarray, " networks"]:
        return np.diff(self.node_bounds)

    @property
    def num_hidden(self) -> Int[np.ndarray, " networks"]:
        return self.num_nodes - self.num_inputs - self.num_outputs

    @property
    def num_links(self) -> Int[np.ndarray, " networks"]:
        return np.diff(self.link_bounds)

    @property
    def dtype(self) -> np.dtype:
        return self.link_weight.dtype

    def part(self, begin: int, stop: int) -> "Networks":
        """Networks `begin` to `stop - 1`."""
        if not 0 <= begin <= stop <= len(self):
            raise IndexError(
                f"there are no networks {begin} to {stop - 1} among {len(self)}."
            )
        nodes = slice(self.node_bounds[begin], self.node_bounds[stop])
        links = slice(self.link_bounds[begin], self.link_bounds[stop])
        part = dataclasses.replace(
            self,
            node_bounds=self.node_bounds[begin : stop + 1] - self.node_bounds[begin],
            node_activation=self.node_activation[nodes],
            node_bias=self.node_bias[nodes],
            node_rank=self.node_rank[nodes],
            node_point=self.node_point[nodes],
            link_bounds=self.link_bounds[begin : stop + 1] - self.link_bounds[begin],
            link_source=self.link_source[links],
            link_target=self.link_target[links],
            link_weight=self.link_weight[links],
            num_found=self.num_found[begin:stop],
        )
        return checked(part) if is_checked(self) else part

    def take(self, which: Int[np.ndarray, " some"]) -> "Networks":
        """Some networks, in that order, as new arrays."""

        def places(bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            first, counts = bounds[which], np.diff(bounds)[which]
            ends = np.cumsum(counts)
            within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
            return np.repeat(first, counts) + within, np.concatenate([[0], ends])

        node, node_bounds = places(self.node_bounds)
        link, link_bounds = places(self.link_bounds)
        part = dataclasses.replace(
            self,
            node_bounds=node_bounds,
            node_activation=self.node_activation[node],
            node_bias=self.node_bias[node],
            node_rank=self.node_rank[node],
            node_point=self.node_point[node],
            link_bounds=link_bounds,
            link_source=self.link_source[link],
            link_target=self.link_target[link],
            link_weight=self.link_weight[link],
            num_found=self.num_found[which],
        )
        return checked(part) if is_checked(self) else part

    def __getitem__(self, index: int) -> "Networks":
        """One network, as a population of one."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no network {index} among {len(self)}.")
        index %= len(self)
        return self.part(index, index + 1)

    def __iter__(self) -> Iterator["Networks"]:
        return (self[g] for g in range(len(self)))

    @staticmethod
    def join(parts: "list[Networks]", resources: Resources | None = None) -> "Networks":
        """Networks of several populations of the same kind, behind each other."""
        if not parts:
            raise ValueError("joining needs at least one population of networks.")
        first = parts[0]
        for name in ("num_inputs", "num_outputs", "dtype", "dialect", "steps"):
            values = {getattr(p, name) for p in parts}
            if len(values) > 1:
                raise ValueError(
                    f"networks that are joined differ in {name}: "
                    f"{', '.join(map(str, values))}. Decode them alike."
                )
        nodes = np.cumsum([0, *(p.node_bounds[-1] for p in parts)])
        links = np.cumsum([0, *(p.link_bounds[-1] for p in parts)])

        resources = resources or Resources()
        limit, folder = resources.budget // 16, resources.scratch

        def together(name: str) -> np.ndarray:
            return joined([getattr(p, name) for p in parts], limit, folder)

        def bounds(name: str, offsets: np.ndarray) -> np.ndarray:
            shifted = [
                getattr(p, name)[:-1] + o
                for p, o in zip(parts, offsets[:-1], strict=True)
            ]
            return np.concatenate([*shifted, offsets[-1:]])

        whole = dataclasses.replace(
            first,
            node_bounds=bounds("node_bounds", nodes),
            link_bounds=bounds("link_bounds", links),
            is_acyclic=all(p.is_acyclic for p in parts),
            activation_ids=tuple(sorted({a for p in parts for a in p.activation_ids})),
            **{
                name: together(name)
                for name in (
                    "node_activation", "node_bias", "node_rank", "node_point",
                    "link_source", "link_target", "link_weight", "num_found",
                )
            },
        )  # fmt: skip
        return checked(whole) if all(map(is_checked, parts)) else whole

    def link_slices(self, size: int) -> Iterator[slice]:
        """All links in runs of `size`; what lies on the disk takes the memory of one
        run."""
        num = int(self.link_bounds[-1])
        for begin in range(0, num, size):
            yield slice(begin, min(begin + size, num))
            forget_pages(self.link_source, self.link_target, self.link_weight)

    def describe(self) -> "Description":
        """Describes one network: its size, its links, and why it is empty or constant
        if it is."""
        from ._describe import describe  # which evaluates networks

        return describe(self)

    def activation_name(self, node: int) -> str:
        return ACTIVATION_NAMES[int(self.node_activation[node])]


def checked(networks: Networks) -> Networks:
    """The same networks, which are known to be sound; see `check_networks`.

    Their arrays can only be read from now on, so that they stay so.
    """
    for name in AXES:
        array = getattr(networks, name)
        if array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
            object.__setattr__(networks, name, array)
    object.__setattr__(networks, "_is_checked", True)
    return networks


def is_checked(networks: Networks) -> bool:
    # No field: what `dataclasses.replace` makes of them is to be checked again. So are
    # copies, whose arrays can be written to.
    return getattr(networks, "_is_checked", False) and not any(
        getattr(networks, name).flags.writeable for name in AXES
    )
