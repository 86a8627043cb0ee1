"""Ready-made configurations, named after where their numbers come from.

Each takes what depends on the task and any field of `NEATConfig` to override.
"""

from typing import Any

from ._config import (
    CrossoverConfig,
    FloatGeneConfig,
    MutationConfig,
    NEATConfig,
    ReproductionConfig,
    SpeciationConfig,
)


def _build(defaults: dict[str, Any], overrides: dict[str, Any]) -> NEATConfig:
    return NEATConfig(**{**defaults, **overrides})


def stanley2002(*, num_inputs: int, num_outputs: int, **overrides: Any) -> NEATConfig:
    """Section 4.1 of the NEAT paper, for small problems such as XOR.

    The paper's nodes have no bias: it feeds a constant 1 as one more input. Give that
    input, or override `bias`. Link weights start and are replaced uniformly in
    [-2, 2]; the paper does not say how large a perturbation is, 2.5 is the mutation
    power of the authors' own program. "Weight mutation: 80 %, of these 90 % perturbed
    and 10 % replaced; 25 % of offspring from mutation alone; interspecies mating
    0.001; new node 0.03; new link 0.05", distance coefficients 1, 1, 0.4, threshold 3.

    The paper's activation is a sigmoid of slope 4.9, `1 / (1 + exp(-4.9 z))`. The name
    `sigmoid` says nothing of the slope: the dialect in which genomes are evaluated
    does. It is 5 in `"neat-python"`, which is close to the paper, and 1 in `"plain"`.
    """
    defaults = {
        "num_inputs": num_inputs,
        "num_outputs": num_outputs,
        "population_size": 150,
        "activation_options": ("sigmoid",),
        "activation_default": "sigmoid",
        "weight": FloatGeneConfig(
            init_stdev=1.0,
            init_distribution="uniform",
            mutate_rate=0.8,
            perturb_rate=0.9,
            perturb_power=2.5,
            replace_rate=0.1,
            perturb_distribution="uniform",
        ),
        "bias": FloatGeneConfig(
            init_stdev=0.0, mutate_rate=0.0, perturb_rate=0.0, replace_rate=0.0
        ),
        "mutation": MutationConfig(
            add_node_rate=0.03,
            add_link_rate=0.05,
            add_link_attempts=20,
        ),
        "crossover": CrossoverConfig(
            crossover_rate=0.75,
            interspecies_rate=0.001,
            disable_rate=0.75,
            disable_rate_both=0.75,
            equal_fitness="both",
        ),
        "speciation": SpeciationConfig(
            compatibility_threshold=3.0,
            excess_coefficient=1.0,
            disjoint_coefficient=1.0,
            weight_coefficient=0.4,
        ),
        "reproduction": ReproductionConfig(
            survival_rate=0.2,
            elitism=1,
            elitism_min_size=6,
            max_stagnation=15,
            population_stagnation=20,
        ),
    }
    return _build(defaults, overrides)


def neat_python(
    *, num_inputs: int = 2, num_outputs: int = 1, **overrides: Any
) -> NEATConfig:
    """neat-python's XOR example (`examples/xor/config-feedforward`) and its rules.

    Genomes that split the same link do not share the new node there (see
    `MutationConfig.share_split_nodes`). neat-python 2.0 flips a coin for the switch of
    a matching gene before the 75 % rule applies, which makes 87.5 % with one disabled
    parent and 100 % with two.
    """
    defaults = {
        "num_inputs": num_inputs,
        "num_outputs": num_outputs,
        "population_size": 150,
        "activation_options": ("sigmoid",),
        "activation_default": "sigmoid",
        "weight": FloatGeneConfig(perturb_rate=0.8, replace_rate=0.1),
        "bias": FloatGeneConfig(perturb_rate=0.7, replace_rate=0.1),
        "mutation": MutationConfig(
            add_node_rate=0.2,
            delete_node_rate=0.2,
            add_link_rate=0.5,
            delete_link_rate=0.5,
            enable_rate=0.005,
            disable_rate=0.005,
            split_disabled_links=True,
            share_split_nodes=False,
        ),
        "crossover": CrossoverConfig(
            crossover_rate=1.0,
            interspecies_rate=0.0,
            disable_rate=0.875,
            disable_rate_both=1.0,
            per_attribute=True,
        ),
        "speciation": SpeciationConfig(
            compatibility_threshold=3.0,
            disjoint_coefficient=1.0,
            weight_coefficient=0.5,
            distance="neat_python",
            assignment="nearest",
            representative="nearest",
        ),
        "reproduction": ReproductionConfig(
            survival_rate=0.2,
            min_parents=2,
            elitism=2,
            elitism_min_size=0,
            min_species_size=2,
            max_stagnation=20,
            species_elitism=2,
            quota="damped",
        ),
    }
    return _build(defaults, overrides)


def pureples(
    *, num_inputs: int = 5, num_outputs: int = 1, **overrides: Any
) -> NEATConfig:
    """The CPPNs of PUREPLES' XOR experiment (`config_cppn_xor`)."""
    base = neat_python()
    defaults = {
        "num_inputs": num_inputs,
        "num_outputs": num_outputs,
        "activation_options": ("gauss", "sin", "tanh"),
        "activation_default": "tanh",
        "weight": base.weight,
        "bias": base.bias,
        "mutation": MutationConfig(
            add_node_rate=0.2,
            delete_node_rate=0.2,
            add_link_rate=0.5,
            delete_link_rate=0.5,
            enable_rate=0.005,
            disable_rate=0.005,
            activation_rate=0.5,
            split_disabled_links=True,
            share_split_nodes=False,
        ),
        "crossover": base.crossover,
        "speciation": base.speciation,
        "reproduction": ReproductionConfig(
            survival_rate=0.2,
            min_parents=2,
            elitism=15,
            elitism_min_size=0,
            min_species_size=1,
            max_stagnation=20,
            species_elitism=15,
            quota="damped",
        ),
    }
    return _build(defaults, overrides)


def risi2012(*, num_inputs: int, num_outputs: int, **overrides: Any) -> NEATConfig:
    """The CPPNs of ES-HyperNEAT's retina experiment, as AHNI once had them.

    These are of a revision that AHNI has given up: its last one has other depths,
    weights and inputs, and its README says that the experiments of 2012 could not be
    reproduced. The paper's own program is not published.

    "pop 300, survival 0.3, crossover 0.5, add-node .02, add-link .03, weight-mutation
    .94, c1=c2=1 c3=.1, 20 target species, weights +-20"; `ramp` has no counterpart and
    is left out. Nodes have no bias, and a new link is drawn up to 20 times, as in
    `stanley2002`. Everything else is the default of the configuration classes, and
    differs from `stanley2002` there: weights start normally (deviation 1), their
    perturbations are normal (deviation 0.5), `equal_fitness` is `"one_parent"`, and
    the stagnation of the whole population has no consequence.
    """
    defaults = {
        "num_inputs": num_inputs,
        "num_outputs": num_outputs,
        "population_size": 300,
        "activation_options": ("abs", "sigmoid", "gauss", "identity", "sin", "step"),
        "weight": FloatGeneConfig(
            minimum=-20.0,
            maximum=20.0,
            mutate_rate=1.0,
            perturb_rate=0.94,
            replace_rate=0.0,
        ),
        "bias": FloatGeneConfig(
            init_stdev=0.0, mutate_rate=0.0, perturb_rate=0.0, replace_rate=0.0
        ),
        "mutation": MutationConfig(
            add_node_rate=0.02, add_link_rate=0.03, add_link_attempts=20
        ),
        "crossover": CrossoverConfig(crossover_rate=0.5),
        "speciation": SpeciationConfig(
            excess_coefficient=1.0,
            disjoint_coefficient=1.0,
            weight_coefficient=0.1,
            target_num_species=20,
        ),
        "reproduction": ReproductionConfig(survival_rate=0.3),
    }
    return _build(defaults, overrides)


def substrax(*, num_inputs: int, num_outputs: int, **overrides: Any) -> NEATConfig:
    """The preset of this package: a search that grows, chosen by solve rates.

    Genes are added and never deleted, and several places are tried for a new link. Nine
    of ten offspring change some two weights only, by steps of all sizes. There are
    few species, so that each has many members, and few parents in each: with many
    species and a quarter of each as parents, hardly a tenth of the offspring are made
    of what is best so far.
    """
    floats: dict[str, Any] = {
        "mutate_rate": 0.9,
        "perturb_rate": 0.9,
        "replace_rate": 0.1,
        "perturb_power": 4.0,
        "perturb_decades": 2.0,
        "few_rate": 0.9,
        "few": 2.0,
    }
    defaults = {
        "num_inputs": num_inputs,
        "num_outputs": num_outputs,
        "population_size": 150,
        "activation_options": ("gauss", "sin", "tanh", "sigmoid", "identity"),
        "weight": FloatGeneConfig(**floats),
        "bias": FloatGeneConfig(**floats),
        "mutation": MutationConfig(
            add_node_rate=0.1,
            add_link_rate=0.3,
            add_link_attempts=8,
            activation_rate=0.02,
            enable_rate=0.01,
            disable_rate=0.01,
        ),
        "crossover": CrossoverConfig(crossover_rate=0.2),
        "speciation": SpeciationConfig(
            weight_coefficient=0.4,
            target_num_species=4,
        ),
        "reproduction": ReproductionConfig(
            survival_rate=0.05,
            max_stagnation=60,
            species_elitism=3,
            elitism_min_size=3,
        ),
    }
    return _build(defaults, overrides)


PRESETS = {
    "substrax": substrax,
    "stanley2002": stanley2002,
    "neat_python": neat_python,
    "pureples": pureples,
    "risi2012": risi2012,
}
"""All presets by name."""
