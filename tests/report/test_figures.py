"""Figures by themselves: layouts, classes of links, what is drawn and what is not."""

import itertools
from typing import Any

import jax
import numpy as np
import pytest

from substrax.decoders import CPPNReading, Direct, HyperNEAT, emr_hyperneat
from substrax.decoders import FixedSubstrate as Fixed
from substrax.neat import Genome, GenomeData
from substrax.network import Networks, describe
from substrax.report import _layers as layers
from substrax.report import _substrate as substrate
from substrax.report import (
    plot_fields,
    plot_fitness,
    plot_genome,
    plot_grid,
    plot_growth,
    plot_link_classes,
    plot_species,
    plot_substrate,
)
from substrax.report._view import CPPNView, some_of
from substrax.substrate import EMRRule, Layout, line
from tests.report.support import CONSTANT, PLAIN, RIDGES, genome, metrics_line

LAYOUT = Layout.spread(3, 1)
READING = CPPNReading(activations=("gauss", "sin", "tanh"))
FULL = emr_hyperneat(LAYOUT, EMRRule(depth=2, connections="full"), reading=READING)


def decode(decoder: Any, one: Genome) -> Networks:
    return decoder.decode(jax.tree.map(lambda x: x[None], one))[0]


@pytest.fixture(scope="module")
def full() -> Networks:
    """A network with links of all classes."""
    return decode(FULL, genome(RIDGES))


def texts(figure: Any) -> str:
    import matplotlib.text

    found = figure.findobj(matplotlib.text.Text)
    return "\n".join(text.get_text() for text in found)


def random_graph(seed: int, num_nodes: int, num_links: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    is_input, is_output = (np.zeros(num_nodes, bool) for _ in range(2))
    is_input[:3], is_output[3:5] = True, True
    source = rng.integers(0, num_nodes, num_links)
    target = rng.integers(3, num_nodes, num_links)
    return is_input, is_output, source, target


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("is_cyclic", [False, True])
def test_layers_ascend_from_inputs_to_outputs(seed: int, is_cyclic: bool):
    is_input, is_output, source, target = random_graph(seed, 14, 30)
    if not is_cyclic:  # hidden nodes in order, then the outputs
        rank = np.where(is_output, 99, np.arange(14))
        rises = rank[source] < rank[target]
        source, target = source[rises], target[rises]
    graph = layers.layer_graph(14, is_input, is_output, source, target)
    assert (graph.layer[is_input] == 0).all()
    assert (graph.layer[is_output] == graph.num_layers - 1).all()
    assert is_cyclic or not graph.is_backward.any()
    forward = ~graph.is_backward
    assert (graph.layer[source] < graph.layer[target])[forward].all()
    for s, t, route in zip(source, target, graph.routes, strict=True):
        assert route[0].tolist() == [graph.x[s], graph.layer[s]]
        assert route[-1].tolist() == [graph.x[t], graph.layer[t]]
    for k in range(graph.num_layers):
        assert (np.diff(np.sort(graph.x[graph.layer == k])) > 1 - 1e-9).all()


def test_inputs_keep_their_order():
    is_input, is_output, source, target = random_graph(1, 10, 20)
    graph = layers.layer_graph(10, is_input, is_output, source, target)
    assert (np.diff(graph.x[is_input]) > 0).all()


def test_isolated_nodes_have_a_place_too():
    is_input, is_output, *_ = random_graph(0, 6, 0)
    none = np.zeros(0, np.int64)
    graph = layers.layer_graph(6, is_input, is_output, none, none)
    assert graph.num_layers == 3 and np.isfinite(graph.x).all()


def test_genome_names_nodes_and_leaves_out_disabled_links():
    figure = plot_genome(
        genome(RIDGES),
        input_names=["x1", "y1", "x2", "y2", "bias"],
        output_names=["weight"],
    )
    words = texts(figure)
    for word in ("x1", "bias", "weight\ntanh\n\N{MINUS SIGN}0.5", "gauss\n+0.25"):
        assert word in words
    assert figure.get_size_inches()[0] == pytest.approx(3.4)


def test_genome_without_links_says_so():
    figure = plot_genome(
        genome(PLAIN | {"connections": []}),
        input_names=["a", "b", "c"],
        output_names=["out"],
    )
    assert "no link is enabled" in texts(figure)


def test_wide_genome_is_drawn_with_dots_and_a_legend():
    inputs = [-k for k in range(1, 31)]
    wide = {
        "input_ids": inputs,
        "output_ids": [0],
        "nodes": [{"id": 0, "activation": "tanh", "bias": 0.0}],
        "connections": [[i, 0, 1.0] for i in inputs],
    }
    names = [f"in {k}" for k in range(30)]
    figure = plot_genome(genome(wide), input_names=names, output_names=["out"])
    assert "in 3" not in texts(figure) and "tanh" in texts(figure)


def test_links_that_pass_by_nodes_are_within_the_figure():
    """A column of nodes, each linked to all that follow: most pass by the others."""
    nodes = range(1, 8)
    column = {
        "input_ids": [-1],
        "output_ids": [0],
        "nodes": [{"id": k, "activation": "tanh", "bias": 0.0} for k in (*nodes, 0)],
        "connections": [
            [a, b, 1.0] for a, b in itertools.combinations([-1, *nodes, 0], 2)
        ],
    }
    figure = plot_genome(genome(column), input_names=["in"], output_names=["out"])
    axes = figure.axes[0]
    left, right = axes.get_xlim()
    for path in axes.collections[0].get_paths():
        x = np.asarray(path.vertices)[:, 0]
        assert left < x.min() and x.max() < right


def test_classes_of_links_are_those_of_describe(full: Networks):
    counted = {name: int(m.sum()) for name, m in substrate.link_masks(full).items()}
    expected = describe(full).links
    assert counted == {k: v for k, v in expected.items() if k != "unplaced"}
    assert all(counted.values()), "this network was to have all of them"


def test_legend_counts_nodes_and_links(full: Networks):
    figure = plot_substrate(full)
    words = texts(figure)
    for name, num in describe(full).links.items():
        assert (f"{name}: {num}" in words) == (num > 0)
    assert f"hidden: {int(full.num_hidden[0])}" in words


@pytest.mark.parametrize("most", [3, 10**6])
def test_many_links_become_an_image_inside_the_svg(
    full: Networks, most: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(substrate, "MAX_VECTOR_SHAPES", most)
    figure = plot_substrate(full)
    lines = figure.axes[0].collections
    assert any(c.get_rasterized() for c in lines) == (most == 3)


def test_of_very_many_links_the_strongest_are_drawn(
    full: Networks, monkeypatch: pytest.MonkeyPatch
):
    from matplotlib.collections import LineCollection

    monkeypatch.setattr(substrate, "MAX_DRAWN_LINKS", 5)
    figure = plot_substrate(full, colour="weight")
    [lines] = figure.axes[0].findobj(LineCollection)
    assert len(lines.get_segments()) == 5


def test_each_class_has_a_panel(full: Networks):
    figure = plot_link_classes(full)
    titles = [axes.get_title() for axes in figure.axes]
    assert [t.split(":")[0] for t in titles] == [
        "forward",
        "backward",
        "lateral",
        "self",
    ]


def test_network_that_lies_nowhere_has_no_substrate():
    network = decode(Direct(3, 1, dialect="neat-python"), genome(PLAIN))
    for plot in (plot_substrate, plot_link_classes):
        with pytest.raises(ValueError, match=r"no substrate.* Use plot_genome"):
            plot(network)


def test_only_cppns_have_fields_and_only_discovery_has_a_grid():
    plain = Direct(3, 1, dialect="neat-python")
    for plot in (plot_fields, plot_grid):
        with pytest.raises(ValueError, match=r"plain NEAT .* Use plot_genome"):
            plot(plain, genome(PLAIN))
    fixed = HyperNEAT(Fixed.layered([line(3, -1.0), line(1, 1.0)]), READING)
    with pytest.raises(ValueError, match=r"no grid.* Use plot_substrate"):
        plot_grid(fixed, genome(RIDGES))


def test_fields_show_each_input_and_output():
    figure = plot_fields(FULL, genome(RIDGES))
    titles = [axes.get_title() for axes in figure.axes[:4]]
    assert titles == ["from input 0", "from input 1", "from input 2", "to output 0"]


def test_flat_field_says_that_it_is_constant():
    figure = plot_fields(FULL, genome(CONSTANT))
    assert texts(figure).count("constant: ") == 4


def test_grid_has_a_row_for_each_input_and_one_for_all():
    figure = plot_grid(FULL, genome(RIDGES))
    assert len(figure.axes) == 4 * 3 + 2  # rows by levels, and two colour bars
    assert "4 active, 4 linked" in texts(figure)


@pytest.mark.parametrize("colour", ["class", "weight"])
def test_empty_network_is_drawn_as_its_diagnosis(colour: str):
    network = decode(FULL, genome(CONSTANT))
    figure = plot_substrate(network, colour=colour)
    assert "made no hidden position" in texts(figure).replace("\n", " ")


def test_unknown_colour_is_refused(full: Networks):
    with pytest.raises(ValueError, match="'class' or 'weight'"):
        plot_substrate(full, colour="height")


def test_failed_generations_are_gaps_not_zeros():
    lines = [metrics_line(0), metrics_line(1, best_fitness=None), metrics_line(2)]
    figure = plot_fitness(lines, target=float("inf"))
    best = next(
        line
        for line in figure.axes[0].get_lines()
        if line.get_label() == "best of generation"
    )
    assert np.isnan(np.asarray(best.get_ydata(), float)).tolist() == [
        False,
        True,
        False,
    ]
    assert "target" not in texts(figure)


def test_species_stack_up_to_the_population():
    figure = plot_species([metrics_line(g) for g in range(5)])
    assert figure.axes[0].get_ylim() == (0, 16)
    assert figure.axes[0].get_title(loc="left").startswith("6 species in all, 2 in")


def test_nothing_is_drawn_of_a_run_without_generations():
    for plot in (plot_fitness, plot_growth, plot_species):
        with pytest.raises(ValueError, match="no finished generation"):
            plot([])
    with pytest.raises(ValueError, match="which species"):
        plot_species([metrics_line(0, species_size=[])])


def test_figures_leave_the_settings_of_the_user_alone():
    import matplotlib

    with matplotlib.rc_context({"font.size": 23.0}):
        plot_fitness([metrics_line(0)])
        assert matplotlib.rcParams["font.size"] == 23.0


@pytest.mark.parametrize("num", [1, 3, 8, 121])
def test_some_are_spread_from_first_to_last(num: int):
    some = some_of(num, 8)
    assert len(some) == min(num, 8)
    assert some[0] == 0 and some[-1] == num - 1


@pytest.mark.parametrize(
    "outputs", [("weight", "bias"), ("bias", "weight"), ("leo", "bias", "weight")]
)
def test_fields_read_outputs_by_name(outputs: tuple[str, ...]):
    has_leo = "leo" in outputs
    data = GenomeData.read(
        ["weight identity", "out:bias identity", *(["leo identity"] * has_leo)],
        [
            "x2 -> weight 1.0",
            "x1 -> out:bias -2.0",
            "bias -> out:bias -3.0",
            *(["x2 -> leo 1.0"] * has_leo),
        ],
    )
    reading = CPPNReading(outputs=outputs, activations=("identity",))
    one = data.genome(reading.coordinates, reading.outputs)
    layout = Layout(LAYOUT.inputs, [(0.5, 1.0)])
    decoder = emr_hyperneat(layout, EMRRule(depth=2), reading=reading, bias_scale=0.5)
    view = CPPNView.of(decoder, one)
    assert view is not None
    field = view.field(LAYOUT.inputs[0], outgoing=True, resolution=4)
    if has_leo:
        assert np.isnan(field[:, :2]).all() and (field[:, 2:] > 0).all()
    else:
        assert (field[:, :2] < 0).all() and (field[:, 2:] > 0).all()
    biases = view.bias_field(resolution=4)
    np.testing.assert_allclose(biases[0], [-0.75, -1.25, -1.75, -2.25])
    figure = plot_fields(decoder, one)
    assert "bias of a node" in texts(figure)
    weights = plot_substrate(decode(decoder, one), colour="weight")
    assert "bias of a node" in texts(weights)
