"""Discovery: which networks the CPPNs of a population ask for.

A clean-up keeps what lies on a path from an input to an output. The result for a genome
is a function of that genome and the settings alone. The native engine does it on CPUs;
see src/native/discovery.hpp. On accelerators `substrax.tensor` does.
"""

import dataclasses
import time
from typing import Any, NamedTuple

import numpy as np

from .._memory import map_scratch
from .._native import Engine, native_array
from .._resources import Progress, Resources
from .._types import check_settings
from ..cppn import Programs, QueryEngine, activation_id, hold_programs
from ..network import Networks, check_steps, checked
from ._cells import find_cells
from ._layout import Layout
from ._rule import AbstractRule, check_depth
from ._weights import WeightMap


@dataclasses.dataclass(frozen=True)
class NetworkSettings:
    """What the networks of a discovery are, besides their nodes and links: one
    activation for all hidden nodes and one for outputs, and `steps` updates for each
    input if there are cycles. A node that no link feeds yields 0, unless nodes are
    going to have biases (`has_bias`)."""

    hidden_activation: str = "sigmoid"
    output_activation: str = "sigmoid"
    steps: int = 8
    has_bias: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        activation_id(self.hidden_activation)
        activation_id(self.output_activation)
        check_steps(self.steps)


class Discovery(NamedTuple):
    """The networks of a population, and how many queries they took."""

    networks: Networks
    num_queries: int


def discover(
    programs: Programs,
    coordinates: tuple[str, ...],
    layout: Layout,
    rule: AbstractRule,
    weight_map: WeightMap,
    settings: NetworkSettings | None = None,
    *,
    strategy: str = "auto",
    resources: Resources | None = None,
) -> Discovery:
    """The networks of CPPNs whose inputs are `coordinates`, by a rule, as the native
    engine finds them."""
    settings = settings or NetworkSettings()
    resources = resources or Resources()
    rule.check_strategy(strategy, resources.budget)
    is_eager = strategy == "eager"
    native = required_native(resources)
    QueryEngine(programs, coordinates, resources=resources)  # checks them
    return express(
        native,
        programs,
        coordinates,
        layout,
        rule.native_settings(native, is_eager=is_eager),
        weight_map,
        settings,
        is_acyclic=rule.is_acyclic,
        depth=rule.depth,
        resources=resources,
    )


def required_native(resources: Resources) -> Engine:
    """The native engine, without which nothing is found here."""
    if resources.native is None:
        raise ValueError(
            "this needs the native engine, but resources say engine device. Decoders "
            "work there: use their decode or trace."
        )
    return resources.native


def express(
    native: Engine,
    programs: Programs,
    coordinates: tuple[str, ...],
    layout: Layout,
    rule: Any,
    weight_map: WeightMap,
    settings: NetworkSettings,
    *,
    is_acyclic: bool,
    depth: int | None,
    resources: Resources,
) -> Discovery:
    """The networks that the native engine finds by the settings of a rule.

    `depth` is that of the grid, None if nodes do not lie on one.
    """
    module = native.module
    budget = resources.budget
    points = layout.points
    if not (np.abs(points) <= 1).all():
        raise ValueError("the points of this layout were changed; make a new Layout.")
    if depth is None:
        cells = np.full(len(points), -1, np.int64)
    else:
        check_depth(depth)
        cells = find_cells(points, depth)
    began = time.monotonic()

    def on_progress(done: int, queries: int, links: int) -> None:
        listener = resources.on_progress
        assert listener is not None
        seconds = time.monotonic() - began
        listener(Progress(programs.num_genomes, done, queries, links, seconds))

    found = native.discover(
        hold_programs(native, programs, coordinates),
        module.Layout.hold(native_array(points, np.float64), cells, len(layout.inputs)),
        rule,
        module.DiscoverySettings.make(
            is_deadzone=weight_map.name == "deadzone",
            max_weight=weight_map.max_weight,
            hidden_activation=activation_id(settings.hidden_activation),
            output_activation=activation_id(settings.output_activation),
            silences_unfed=not settings.has_bias,
            depth=depth or 0,
            memory_budget=budget,
        ),
        num_threads=resources.num_threads,
        budget=budget,
        open_scratch=resources.open_scratch,
        on_progress=None if resources.on_progress is None else on_progress,
        scratch=resources.scratch,
    )
    num_queries = found.pop("num_queries")
    weight_type = programs.bias.dtype
    for name in ("node_bounds", "link_bounds", "num_found"):
        # C's long long is another type to NumPy than its int64, on some systems.
        found[name] = found[name].view(np.int64)
    num_links = int(found["link_bounds"][-1])
    for name in ("link_source", "link_target", "link_weight"):
        if isinstance(found[name], int):  # a file
            dtype = weight_type if name == "link_weight" else np.dtype(np.int32)
            found[name] = map_scratch(found[name], dtype, num_links)
    networks = Networks(
        num_inputs=len(layout.inputs),
        num_outputs=len(layout.outputs),
        node_bias=np.zeros(found["node_rank"].size, weight_type),
        is_acyclic=is_acyclic,
        dialect=programs.dialect,
        activation_ids=_activation_ids(settings),
        steps=settings.steps,
        **found,
    )
    return Discovery(checked(networks), num_queries)


def _activation_ids(settings: NetworkSettings) -> tuple[int, ...]:
    names = (settings.hidden_activation, settings.output_activation, "identity")
    return tuple(sorted({activation_id(name) for name in names}))
