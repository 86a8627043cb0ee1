"""Plain NEAT: the genome is the network."""

import jax
import neat.activations
import numpy as np
import pytest
from neat.nn import RecurrentNetwork

from substrax.decoders import Direct
from substrax.neat import NEAT, Genome, NEATConfig
from substrax.network import evaluate
from tests.cppns import random_cppn
from tests.decoders.support import genomes_of, take
from tests.network.support import assert_same_bits, assert_same_networks
from tests.reference.cppn import ARRAY
from tests.reference.cppn import evaluate as evaluate_cppn
from tests.substrate.support import ACTIVATIONS

SIZES = (0, 1, 4, 9)


def drawn(seed: int) -> list[dict]:
    """Five inputs and two outputs each."""
    rng = np.random.default_rng(seed)
    return [random_cppn(rng, size, leo=True) for size in SIZES]


def samples(num: int = 6) -> np.ndarray:
    """Rows x1, y1, x2, y2 and 1."""
    rows = np.random.default_rng(0).uniform(-1, 1, (num, 5))
    rows[:, 4] = 1.0
    return rows


def direct(**options) -> Direct:
    return Direct(
        **{
            "num_inputs": 5,
            "num_outputs": 2,
            "activations": ACTIVATIONS,
            "precision": "f64",
            **options,
        }
    )


@pytest.mark.parametrize("dialect", ["plain", "neat-python"])
@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_feed_forward_genome_is_the_function_of_its_graph(dialect, precision) -> None:
    """An unfed node yields activation(bias), not 0."""
    tolerance = {"f32": 2e-5, "f64": 1e-12}[precision]
    for seed in range(3):
        cppns = drawn(seed)
        networks = direct(dialect=dialect, precision=precision).decode(
            genomes_of(cppns)
        )
        assert networks.is_acyclic
        rows = samples()
        values = evaluate(networks, rows)
        for cppn, result in zip(cppns, values, strict=True):
            wanted = evaluate_cppn(cppn, rows[:, :4], dialect=dialect, unfed="bias")
            np.testing.assert_allclose(
                result, np.stack([wanted[0], wanted[1]], 1), rtol=0, atol=tolerance
            )


def make_cyclic(cppn: dict, rng: np.random.Generator) -> dict:
    """Links between any two nodes that are no inputs, to themselves as well."""
    ids = [node["id"] for node in cppn["nodes"]]
    known = {(s, t) for s, t, _ in cppn["connections"]}
    extra = [
        [s, t, float(np.float32(rng.normal()))]
        for s in ids
        for t in ids
        if (s, t) not in known and rng.uniform() < 0.4
    ]
    # Both outputs on a cycle: no genome of them is feed-forward by chance.
    extra = [link for link in extra if (link[0], link[1]) not in ((0, 1), (1, 0))]
    extra += [[0, 1, 0.5], [1, 0, -0.5]]
    return {**cppn, "connections": [*cppn["connections"], *extra]}


def drawn_cyclic(seed: int) -> list[dict]:
    rng = np.random.default_rng(seed)
    return [make_cyclic(cppn, rng) for cppn in drawn(seed)]


def step_naively(cppn: dict, rows: np.ndarray, steps: int, dialect: str) -> np.ndarray:
    """All nodes at once, from the values of the step before; from zero; inputs held."""
    held = dict(zip(cppn["input_ids"], rows.T, strict=True))
    state = {node["id"]: np.zeros(len(rows)) for node in cppn["nodes"]} | held
    for _ in range(steps):
        new = dict(held)
        for node in cppn["nodes"]:
            total = node["bias"] + sum(
                w * state[s] for s, t, w in cppn["connections"] if t == node["id"]
            )
            total = np.broadcast_to(total, (len(rows),)).astype(float)
            new[node["id"]] = ARRAY[dialect][node["activation"]](total)
        state = new
    return np.stack([state[0], state[1]], axis=1)


@pytest.mark.parametrize("dialect", ["plain", "neat-python"])
def test_recurrent_genome_is_updated_synchronously(dialect: str) -> None:
    for seed in range(3):
        cppns = drawn_cyclic(seed)
        decoder = direct(dialect=dialect, is_recurrent=True, steps=4)
        networks = decoder.decode(genomes_of(cppns))
        assert not networks.is_acyclic
        rows = samples()
        for steps in (None, 1, 7):
            values = evaluate(networks, rows, steps=steps)
            for cppn, result in zip(cppns, values, strict=True):
                wanted = step_naively(cppn, rows, steps or 4, dialect)
                np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-9)


def test_recurrent_genome_is_that_of_neat_python() -> None:
    """`neat.nn.RecurrentNetwork`, activated once per step."""
    cppns = drawn_cyclic(5)
    networks = direct(dialect="neat-python", is_recurrent=True).decode(
        genomes_of(cppns)
    )
    rows = samples(3)
    values = evaluate(networks, rows, steps=3)
    for cppn, result in zip(cppns, values, strict=True):
        nodes = [
            (
                node["id"],
                getattr(neat.activations, f"{node['activation']}_activation"),
                sum,
                node["bias"],
                node["response"],
                [(s, w) for s, t, w in cppn["connections"] if t == node["id"]],
            )
            for node in cppn["nodes"]
        ]
        for row, wanted in zip(rows, result, strict=True):
            theirs = RecurrentNetwork(cppn["input_ids"], [0, 1], nodes)
            answer = [theirs.activate(row.tolist())[:] for _ in range(3)][-1]
            np.testing.assert_allclose(wanted, answer, rtol=0, atol=1e-9)


def shuffled(genomes: Genome, seed: int) -> Genome:
    """The same genes in other slots."""
    rng = np.random.default_rng(seed)
    arrays = {name: np.array(value) for name, value in vars(genomes).items()}
    for kind in ("node", "link"):
        names = [name for name in arrays if name.startswith(kind)]
        for g in range(len(arrays["node_id"])):
            order = rng.permutation(arrays[names[0]].shape[1])
            for name in names:
                arrays[name][g] = arrays[name][g, order]
    with jax.enable_x64(True):
        return Genome(**{name: jax.numpy.asarray(a) for name, a in arrays.items()})


@pytest.mark.parametrize("is_recurrent", [False, True])
def test_order_of_genes_changes_nothing(is_recurrent: bool) -> None:
    genomes = genomes_of(drawn_cyclic(2) if is_recurrent else drawn(2))
    decoder = direct(is_recurrent=is_recurrent)
    networks = decoder.decode(genomes)
    other = decoder.decode(shuffled(genomes, 0))
    assert_same_networks(other, networks)
    assert_same_bits(evaluate(other, samples()), evaluate(networks, samples()))


def test_disabled_links_do_not_exist() -> None:
    genomes = genomes_of(drawn(1))
    with jax.enable_x64(True):
        off = jax.numpy.zeros_like(genomes.link_enabled)
        genomes = Genome(**{**vars(genomes), "link_enabled": off})
    networks = direct().decode(genomes)
    assert networks.num_links.tolist() == [0, 0, 0, 0]
    assert networks.num_hidden.tolist() == list(SIZES)


def test_cyclic_genome_of_a_feed_forward_decoder_gets_a_sentence() -> None:
    genomes = genomes_of([*drawn(0)[:2], drawn_cyclic(0)[2]])
    with pytest.raises(ValueError, match=r"genome 2 is cyclic.*recurrent network"):
        direct().decode(genomes)


def test_unlisted_activation_gets_a_sentence() -> None:
    """A kernel compiled without a function would compute another one."""
    with pytest.raises(ValueError, match=r"genomes use .*tanh.* does not list"):
        direct(activations=("sigmoid", "sin", "gauss")).decode(genomes_of(drawn(0)))


def test_activations_that_occur_are_found() -> None:
    genomes = take(genomes_of(drawn(0)), [1])
    narrow, wide = direct(activations=None).decode(genomes), direct().decode(genomes)
    assert set(narrow.activation_ids) <= set(wide.activation_ids)
    assert_same_bits(evaluate(narrow, samples()), evaluate(wide, samples()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "latin"}, "unknown dialect"),
        ({"precision": "f16"}, "unknown precision 'f16'"),
        ({"activations": ("tahn",)}, "did you mean 'tanh'"),
        ({"steps": 0}, "steps must be positive"),
    ],
)
def test_bad_settings_get_a_sentence(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        direct(**options)


def test_wrong_arity_gets_a_sentence() -> None:
    with pytest.raises(ValueError, match="num_inputs=6 and num_outputs=2 ask for 8"):
        direct(num_inputs=6).decode(genomes_of(drawn(0)[:1]))


def test_genomes_of_neat_with_more_inputs_than_are_read_get_a_sentence() -> None:
    neat = NEAT(NEATConfig(num_inputs=3, num_outputs=1, population_size=4))
    genomes = neat.ask(neat.init(key=jax.random.key(0)))
    with pytest.raises(ValueError, match="genome 0 has 3 inputs, but is read with num"):
        Direct(num_inputs=2, num_outputs=2).decode(genomes)
    assert len(Direct(num_inputs=3, num_outputs=1).decode(genomes)) == 4
