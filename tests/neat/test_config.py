"""Configuration: bad values are refused with a sentence that says what to change."""

import jax
import pytest

from substrax.neat import (
    NEAT,
    CrossoverConfig,
    FloatGeneConfig,
    MutationConfig,
    NEATConfig,
    ReproductionConfig,
    SpeciationConfig,
)


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
