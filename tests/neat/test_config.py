"""Configuration: bad values are refused with a sentence that says what to change."""

import jax
import jax.numpy as jnp
import pytest

from substrax.neat import (
    NEAT,
    CrossoverConfig,
    FloatGeneConfig,
    MutationConfig,
    NEATConfig,
    ReproductionConfig,
    SpeciationConfig,
    presets,
)
from substrax.neat._reproduction import SpeciesStatistics, quotas


@pytest.mark.parametrize(
    "build,message",
    [
        (lambda: MutationConfig(add_node_rate=1.5), "add_node_rate.*0 to 1"),
        (lambda: MutationConfig(add_link_attempts=0), "add_link_attempts"),
        (lambda: FloatGeneConfig(perturb_rate=0.8, replace_rate=0.4), "sum"),
        (lambda: FloatGeneConfig(minimum=1.0, maximum=-1.0), "Swap"),
        (lambda: FloatGeneConfig(init_stdev=-1.0), "init_stdev.*not negative"),
        (lambda: CrossoverConfig(disable_rate=-0.1), "disable_rate"),
        (lambda: SpeciationConfig(compatibility_threshold=-1.0), "threshold"),
        (lambda: SpeciationConfig(threshold_min=2.0, threshold_max=1.0), "Swap"),
        (lambda: ReproductionConfig(min_parents=0), "min_parents"),
        (lambda: ReproductionConfig(survival_rate=2.0), "survival_rate"),
        (lambda: NEATConfig(num_inputs=0), "num_inputs.*at least 1"),
        (lambda: NEATConfig(population_size=0), "population_size"),
        (lambda: NEATConfig(activation_options=()), "activation_options"),
        (lambda: NEATConfig(activation_options=("sigmoyd",)), "sigmoid"),
        (lambda: NEATConfig(activation_default="nothing"), "nothing"),
        (lambda: NEATConfig(max_nodes=2), "max_nodes.*at least 3"),
        (lambda: NEATConfig(initial_self_links=True), "feed_forward"),
        (lambda: NEATConfig(max_nodes=2**40), r"max_nodes.*2\^31 - 1"),
        (lambda: NEATConfig(max_links=2**20), "max_links.*up to 16384"),
        (lambda: NEATConfig(population_size=2**33), "population_size must lie"),
        (lambda: NEATConfig(num_hidden=2**30), "num_hidden.*at most 16384"),
        (lambda: FloatGeneConfig(maximum=1e308), "maximum must be a number between"),
        (lambda: FloatGeneConfig(init_stdev=float("nan")), "init_stdev must be"),
        (lambda: FloatGeneConfig(minimum=float("-inf")), "minimum must be"),
        (lambda: MutationConfig(add_node_rate=1e308), "add_node_rate.*0 to 1"),
        (lambda: SpeciationConfig(threshold_max=1e39), "threshold_max must be"),
        (lambda: ReproductionConfig(elitism=2**40), "elitism must lie"),
        (
            lambda: NEAT(NEATConfig(num_inputs=8000, num_hidden=8000)).init(
                key=jax.random.key(0)
            ),
            "initial_connection.*at most 16,384 links",
        ),
        (
            lambda: NEAT(NEATConfig(max_links=1)).init(key=jax.random.key(0)),
            "max_links.*at least 2",
        ),
    ],
)
def test_bad_values_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_rates_are_leaves_and_sizes_are_not():
    leaves, structure = jax.tree.flatten(NEAT(NEATConfig()))
    other = NEAT(NEATConfig(mutation=MutationConfig(add_node_rate=0.5)))
    assert jax.tree.structure(other) == structure
    assert jax.tree.structure(NEAT(NEATConfig(population_size=9))) != structure
    assert all(leaf.shape == () for leaf in leaves)


def test_what_risi2012_does_not_say_is_the_default():
    config = presets.risi2012(num_inputs=5, num_outputs=1)
    assert config.activation_default is None
    assert config.weight == FloatGeneConfig(
        minimum=-20.0, maximum=20.0, perturb_rate=0.94, replace_rate=0.0
    )
    assert config.crossover == CrossoverConfig(crossover_rate=0.5)
    assert config.reproduction == ReproductionConfig(survival_rate=0.3)
    assert config.speciation == SpeciationConfig(
        weight_coefficient=0.1, target_num_species=20
    )


@pytest.mark.parametrize("quota", ["proportional", "damped"])
def test_the_minimal_species_size_is_lowered_where_the_population_is_too_small(quota):
    config = NEATConfig(
        population_size=11,
        reproduction=ReproductionConfig(min_species_size=5, quota=quota),
    )
    mean = jnp.array([9.0, 0.0, 0.0, 0.0])
    statistics = SpeciesStatistics(jnp.array([2, 3, 3, 3], jnp.int32), mean, mean)
    result = quotas(
        config, statistics, jnp.ones(4, bool), jnp.float32(0.0), jnp.float32(9.0)
    )
    assert int(result.sum()) == 11 and int(result.min()) == 2
