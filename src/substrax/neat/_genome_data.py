"""A genome as data that people read and write: names, activations, weights.

A node is a line `NAME ACTIVATION [BIAS]`, a link a line `SOURCE -> TARGET WEIGHT`,
followed by `off` if it is disabled. In files of JSON or TOML they may be tables, too.

An input and an output may have the same name, as `bias` of CPPNs. Where a link begins
it is the input, where it ends, and as a node, it is the output; `out:bias` always is.
"""

import collections
import dataclasses
import itertools
import json
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._documents import parse_json, parse_toml, read_text
from .._files import write_atomically
from .._suggest import suggest
from .._types import check_settings, shown
from ..cppn import ACTIVATION_NAMES, NO_ACTIVATION, activation_id
from ..settings import dump_toml
from ._genome import NO_LINK, NO_NODE, Genome, empty_genome

_ARROW, _OFF, _OUT = "->", "off", "out:"
_JSON = ".json"


@dataclasses.dataclass(frozen=True)
class NodeData:
    """A hidden node, or an output whose activation and bias are given."""

    name: str
    activation: str
    bias: float = 0.0

    def __str__(self) -> str:
        return f"{self.name} {self.activation} {self.bias!r}"


@dataclasses.dataclass(frozen=True)
class LinkData:
    """A link between nodes by their names."""

    source: str
    target: str
    weight: float
    enabled: bool = True

    def __str__(self) -> str:
        line = f"{self.source} {_ARROW} {self.target} {self.weight!r}"
        return line if self.enabled else f"{line} {_OFF}"


@dataclasses.dataclass(frozen=True)
class GenomeData:
    """Nodes and links by name. Names that are no node's are inputs or outputs."""

    nodes: tuple[NodeData, ...] = ()
    links: tuple[LinkData, ...] = ()

    @staticmethod
    def read(nodes: Any, links: Any) -> "GenomeData":
        """From lists of lines, or of tables with the fields of `NodeData` and
        `LinkData`. Whatever a file holds may be given: what is no list is refused."""
        for name, items in (("nodes", nodes), ("links", links)):
            if not isinstance(items, list | tuple):
                raise ValueError(
                    f"the {name} of a genome are a list, one line or table for each, "
                    f"not {shown(items)}."
                )
        return GenomeData(
            tuple(_one(NodeData, _node_line, node) for node in nodes),
            tuple(_one(LinkData, _link_line, link) for link in links),
        )

    @staticmethod
    def load(path: str | Path) -> "GenomeData":
        """From a file with `nodes` and `links`: JSON if it is called so, else TOML."""
        path = Path(path)
        parse = parse_json if path.suffix == _JSON else parse_toml
        document = parse(read_text(path), str(path))
        if not isinstance(document, dict) or "links" not in document:
            raise ValueError(
                f"{path} has no `links`. A genome has a list of nodes, such as "
                '"near gauss", and one of links, such as "x1 -> near 1.0".'
            )
        extra = set(document) - {"nodes", "links"}
        if extra:
            raise ValueError(
                f"{path} has {shown(min(extra))}, which means nothing in a genome; it "
                "has nodes and links."
            )
        try:
            return GenomeData.read(document.get("nodes", []), document["links"])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def save(self, path: str | Path) -> None:
        """To a file that `load` reads."""
        path = Path(path)
        document = {"nodes": self.node_lines, "links": self.link_lines}
        if path.suffix == _JSON:
            text = json.dumps(document, indent=1) + "\n"
        else:
            text = dump_toml(document)
        write_atomically(path, text)

    @property
    def node_lines(self) -> list[str]:
        return [str(node) for node in self.nodes]

    @property
    def link_lines(self) -> list[str]:
        return [str(link) for link in self.links]

    @staticmethod
    def of(
        genome: Genome, inputs: Sequence[str], outputs: Sequence[str]
    ) -> "GenomeData":
        """One genome, whose inputs and outputs have these names."""
        fixed = [*inputs, *_distinct(inputs, outputs)]
        arrays = {name: np.asarray(value) for name, value in vars(genome).items()}
        ids = [int(n) for n in arrays["node_id"] if n != NO_NODE]
        # The first slots are the inputs and the outputs, whatever genome it is.
        names = dict(zip(ids, fixed, strict=False))
        names |= {n: f"h{k}" for k, n in enumerate(ids[len(fixed) :])}
        nodes = [
            NodeData(
                names[n],
                ACTIVATION_NAMES[int(arrays["node_activation"][slot])],
                _short(arrays["node_bias"][slot]),
            )
            for slot, n in enumerate(ids)
            if slot >= len(inputs)
        ]
        links = [
            LinkData(
                names[int(arrays["link_source"][slot])],
                names[int(arrays["link_target"][slot])],
                _short(arrays["link_weight"][slot]),
                bool(arrays["link_enabled"][slot]),
            )
            for slot in np.flatnonzero(arrays["link_id"] != NO_LINK)
        ]
        return GenomeData(tuple(nodes), tuple(links))

    def genome(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        default_activation: str = "identity",
    ) -> Genome:
        """The genome for some inputs and outputs, by their names.

        Outputs that are not among the nodes get `default_activation`.
        """
        names = dict(zip(outputs, _distinct(inputs, outputs), strict=True))
        data = GenomeData(
            tuple(
                dataclasses.replace(n, name=names.get(n.name, n.name))
                for n in self.nodes
            ),
            tuple(
                dataclasses.replace(link, target=names.get(link.target, link.target))
                for link in self.links
            ),
        )
        return data._distinct_genome(inputs, tuple(names.values()), default_activation)

    def _distinct_genome(
        self, inputs: Sequence[str], outputs: Sequence[str], default_activation: str
    ) -> Genome:
        """The genome, where no input and output have the same name."""
        given = {node.name: node for node in self.nodes}
        self._check(given, inputs, outputs)
        hidden = [n.name for n in self.nodes if n.name not in outputs]
        order = [*inputs, *outputs, *hidden]
        number = {name: k for k, name in enumerate(order)}
        # One slot at least: operators clamp indices to the last one.
        blank = empty_genome(len(order), max(len(self.links), 1))
        arrays = {name: np.array(value) for name, value in vars(blank).items()}
        for name, slot in number.items():
            arrays["node_id"][slot] = slot
            if slot < len(inputs):
                arrays["node_activation"][slot] = NO_ACTIVATION
                continue
            node = given.get(name, NodeData(name, default_activation))
            arrays["node_activation"][slot] = activation_id(node.activation)
            arrays["node_bias"][slot] = node.bias
        for slot, link in enumerate(self.links):
            arrays["link_id"][slot] = slot
            arrays["link_source"][slot] = number[link.source]
            arrays["link_target"][slot] = number[link.target]
            arrays["link_weight"][slot] = link.weight
            arrays["link_enabled"][slot] = link.enabled
        return Genome(**{name: jnp.asarray(value) for name, value in arrays.items()})

    def _check(
        self,
        given: Mapping[str, NodeData],
        inputs: Sequence[str],
        outputs: Sequence[str],
    ) -> None:
        if len(given) < len(self.nodes):
            raise ValueError("two nodes of a genome have the same name; rename one.")
        known = [*inputs, *outputs, *given]
        for node in self.nodes:
            activation_id(node.activation)
            if node.name in inputs:
                raise ValueError(f"{node.name} is an input, and cannot be a node, too.")
        known = set(known)
        ends = [(link.source, link.target) for link in self.links]
        count = collections.Counter(ends)
        for link, pair in zip(self.links, ends, strict=True):
            for name in pair:
                if name not in known:
                    raise ValueError(
                        f"the link {_quoted(link)} names "
                        f"{shown(name)}{suggest(name, known)}, but inputs are "
                        f"{_listed(inputs)}, outputs {_listed(outputs)}, nodes "
                        f"{_listed(given)}."
                    )
            if count[pair] > 1:
                raise ValueError(f"the link {_quoted(link)} occurs twice; remove one.")


def _distinct(inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """Names of outputs, other than those of inputs."""
    return [_OUT + name if name in inputs else name for name in outputs]


def _short(value: np.floating) -> float:
    """The shortest decimal that is the same number in 32 bits."""
    return float(str(np.float32(value)))


def _one(cls: type, read_line: Any, item: Any) -> Any:
    if isinstance(item, str):
        return read_line(item)
    if not isinstance(item, Mapping):
        raise ValueError(f"{shown(item)} is neither a line nor a table of a genome.")
    try:
        found = cls(**item)
    except TypeError:
        names = ", ".join(field.name for field in dataclasses.fields(cls))
        raise ValueError(
            f"{shown(dict(item))} does not have the fields {names}."
        ) from None
    check_settings(found)
    # As a line, so that a table cannot say what no line could: a name with a space, or
    # a number that 32 bits do not hold.
    return read_line(str(found))


def _number(text: str, line: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    # A number may be finite in 64 bits and not in the 32 of a genome.
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(np.float32(number))
    if not is_finite:
        raise ValueError(
            f"{shown(text)} in {_quoted(line)} is no finite number of 32 bits."
        )
    return number


def _quoted(line: object) -> str:
    """A line for a sentence, not all of it if it is long."""
    text = str(line)
    return f"`{text}`" if len(text) <= 80 else f"`{text[:77]}...`"


def _listed(names: Collection[str]) -> str:
    """Some names for a sentence."""
    first = ", ".join(itertools.islice(names, 12))
    text = first if len(first) <= 200 else f"{first[:197]}..."
    return f"{text}, ..." if len(names) > 12 else text or "none"


def _node_line(line: str) -> NodeData:
    words = line.split()
    if not 2 <= len(words) <= 3 or _ARROW in words:
        raise ValueError(
            f"{_quoted(line)} is no node: write its name, its activation and, if it is "
            "not 0, its bias, such as `near gauss -0.5`."
        )
    return NodeData(words[0], words[1], *(_number(w, line) for w in words[2:]))


def _link_line(line: str) -> LinkData:
    words = line.split()
    enabled = words[-1:] != [_OFF]
    if not enabled:
        words = words[:-1]
    if len(words) != 4 or words[1] != _ARROW:
        raise ValueError(
            f"{_quoted(line)} is no link: write its two ends and its weight, such as "
            "`x1 -> near 1.0`."
        )
    return LinkData(words[0], words[2], _number(words[3], line), enabled)
