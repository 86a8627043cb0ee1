"""Sanity of the search: what the default preset does when nothing guides it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.config import load_experiment
from substrax.neat import NEAT, presets, tell_growing


def drift(generations: int, seed: int = 0, **overrides):
    """Links per genome and species, by generation, under random fitness."""
    neat = NEAT(
        presets.substrax(num_inputs=4, num_outputs=1, population_size=100, **overrides)
    )
    state = neat.init(key=jax.random.key(seed))
    tell = jax.jit(neat.tell)
    links, species = [], []
    for generation in range(generations):
        key_fitness, key_tell = jax.random.split(jax.random.key(1000 + generation))
        fitness = jax.random.uniform(key_fitness, (100,))
        state, info = tell_growing(neat, state, fitness, key=key_tell, tell_fn=tell)
        links.append(float(info.mean_links))
        species.append(int(info.num_species))
    return np.array(links), np.array(species)


def test_genomes_do_not_shrink_under_random_fitness() -> None:
    links, species = drift(60)
    assert links[0] == 4
    assert links[-10:].mean() > 1.5 * links[0]
    assert np.median(species) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_species_do_not_collapse_in_a_thousand_generations(seed: int) -> None:
    links, species = drift(1000, seed)
    assert links[-100:].mean() > links[0]
    assert np.median(species[-500:]) >= 2
    # Never one species only for long: collapsed is what does not recover.
    alone = "".join("1" if number == 1 else " " for number in species)
    assert max(map(len, alone.split()), default=0) < 50
    assert species.max() < 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_is_solved_is_solved_with_another_seed(seed: int) -> None:
    """XOR by plain NEAT, and the retina by HyperNEAT with its seed."""
    settings = {"method": "neat", "preset": "substrax", "seed": seed}
    xor = load_experiment("xor").with_settings(settings).evolve(keep_compiled=False)
    assert xor.is_solved
    retina = load_experiment("retina").with_settings(
        {"method": "hyperneat", "seed": seed}
    )
    assert retina.evolve(keep_compiled=False).is_solved


def test_few_parents_make_a_strong_selection() -> None:
    """Most offspring come from the best of their species (`survival_rate`)."""
    config = presets.substrax(num_inputs=2, num_outputs=1, population_size=100)
    neat = NEAT(config)
    state = neat.init(key=jax.random.key(0))
    fitness = jnp.arange(100, dtype=jnp.float32)
    _, info = jax.jit(neat.tell)(state, fitness, key=jax.random.key(1))
    parents = np.asarray(info.parent_index)[:, 0]
    sizes = np.asarray(info.species_size)
    allowed = np.maximum(np.ceil(0.05 * sizes), 1)[sizes > 0].sum()
    assert len(np.unique(parents)) <= allowed
