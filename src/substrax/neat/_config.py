"""Configuration of NEAT.

Every class here is a frozen dataclass and a pytree at once. Rates, thresholds and
limits are its leaves: `NEAT` turns them into arrays, so that changing one neither
retraces nor needs another object, and a sweep is a `vmap`. Sizes, names and switches
are static: they decide what is compiled.
"""

from typing import Literal, get_args

import equinox as eqx

from .._types import as_number, check_settings, shown
from ..cppn import activation_id
from ._genome import LARGEST_GENOME

Distribution = Literal["normal", "uniform"]
InitialConnection = Literal[
    "none", "full", "full_direct", "partial", "partial_direct", "fs", "fs_hidden"
]
EqualFitness = Literal["one_parent", "both"]
DistanceRule = Literal["stanley2002", "neat_python"]
Assignment = Literal["first", "nearest"]
Representative = Literal["random", "nearest"]
QuotaRule = Literal["proportional", "damped"]
SpeciesFitness = Literal["max", "mean", "min"]


def _static(default):
    return eqx.field(default=default, static=True)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _check_rates(config: eqx.Module, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        _require(
            not isinstance(value, bool) and 0.0 <= as_number(value) <= 1.0,
            f"{type(config).__name__}.{name} is a probability, but is {shown(value)}. "
            "Choose a number from 0 to 1.",
        )


def _check_not_negative(config: eqx.Module, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        _require(
            value >= 0,
            f"{type(config).__name__}.{name} is {shown(value)}. "
            "Choose a number that is not negative.",
        )


def _check_choice(config: eqx.Module, name: str, choices: object) -> None:
    value = getattr(config, name)
    _require(
        value in get_args(choices),
        f"{type(config).__name__}.{name} is {shown(value)}. "
        f"Choose one of {', '.join(map(repr, get_args(choices)))}.",
    )


class FloatGeneConfig(eqx.Module):
    """How a number of a gene (a weight or a bias) starts and mutates.

    With probability `mutate_rate` an offspring's numbers of this kind mutate at all;
    then each one by itself is perturbed (`perturb_rate`), replaced by a fresh value
    (`replace_rate`) or left alone. The paper perturbs uniformly, neat-python normally;
    `perturb_power` is the half-width of the one and the deviation of the other. A
    uniform start spans two deviations to both sides, as in neat-python.

    In the share `few_rate` of the offspring that mutate, only some `few` of their
    numbers do, on average: the rates of each are scaled down to that. Where a genome is
    nearly right, changing one number improves it more often than changing all.
    `perturb_decades` above 0 makes steps of all sizes: `perturb_power` times a number
    from 1 down to `10 ** -perturb_decades`, whose logarithm is uniform. Neither is in
    the paper; both are here because parity and the retina are solved more often.
    """

    init_mean: float = 0.0
    init_stdev: float = 1.0
    minimum: float = -30.0
    maximum: float = 30.0
    mutate_rate: float = 1.0
    perturb_rate: float = 0.8
    perturb_power: float = 0.5
    replace_rate: float = 0.1
    few_rate: float = _static(0.0)  # as below: who does without does not pay for it
    few: float = 2.0
    perturb_decades: float = _static(0.0)
    init_distribution: Distribution = _static("normal")
    perturb_distribution: Distribution = _static("normal")

    def __check_init__(self):
        # Rates first, as their sentence says what to choose in place of a text, too.
        # What is compared below has to be a number by then.
        _check_rates(self, "mutate_rate", "perturb_rate", "replace_rate", "few_rate")
        check_settings(self)
        _check_not_negative(
            self, "init_stdev", "perturb_power", "few", "perturb_decades"
        )
        _check_choice(self, "init_distribution", Distribution)
        _check_choice(self, "perturb_distribution", Distribution)
        _require(
            self.perturb_rate + self.replace_rate <= 1.0 + 1e-6,
            f"perturb_rate {self.perturb_rate} and replace_rate {self.replace_rate} "
            "exclude one another, so their sum must not exceed 1. Lower one of them.",
        )
        _require(
            self.minimum <= self.maximum,
            f"minimum {self.minimum} lies above maximum {self.maximum}. Swap them.",
        )


class MutationConfig(eqx.Module):
    """Rates of the structural mutations, per offspring, and of switches, per gene.

    The order is neat-python's: add a node, delete a node, add a link, delete a link.
    With `single_structural` at most one of the four happens. `surer` (neat-python's
    `structural_mutation_surer`): a link that exists already is enabled instead of
    added, and a genome without links gets a link instead of a node. An added link is
    drawn `add_link_attempts` times until it fits (new, and no cycle where none may
    be); the paper does not say how often, neat-python tries once.

    `share_split_nodes`: genomes that split the same link in the same generation get the
    same node and links, as the paper asks. neat-python gives each of them a node of its
    own; the distances between them, and so the number of species at a given
    threshold, are then much larger.
    """

    add_node_rate: float = 0.03
    delete_node_rate: float = 0.0
    add_link_rate: float = 0.05
    delete_link_rate: float = 0.0
    enable_rate: float = 0.0
    disable_rate: float = 0.0
    activation_rate: float = 0.0
    single_structural: bool = _static(False)
    surer: bool = _static(False)
    add_link_attempts: int = _static(1)
    split_disabled_links: bool = _static(False)
    outputs_as_sources: bool = _static(False)
    mutate_output_activation: bool = _static(True)
    share_split_nodes: bool = _static(True)

    def __check_init__(self):
        _check_rates(
            self,
            "add_node_rate",
            "delete_node_rate",
            "add_link_rate",
            "delete_link_rate",
            "enable_rate",
            "disable_rate",
            "activation_rate",
        )
        check_settings(self)
        _require(
            1 <= self.add_link_attempts <= 64,
            f"add_link_attempts is {self.add_link_attempts}. Choose 1 to 64.",
        )


class CrossoverConfig(eqx.Module):
    """Mating.

    `crossover_rate`: share of offspring with two parents; the others are mutated
    copies. `disable_rate` (the paper's 75 %): chance that a gene disabled in one
    parent is disabled in the child; `disable_rate_both`: the same where both parents
    have it disabled. `per_attribute`: bias and activation of a matching node come from
    a parent each by itself, not together; links are not concerned, for they inherit
    nothing but a weight, and their switch follows the disable rates. `equal_fitness`:
    disjoint and excess genes of equally fit parents come from a random `one_parent`,
    or from `both`, each with probability 1/2.
    """

    crossover_rate: float = 0.75
    interspecies_rate: float = 0.001
    disable_rate: float = 0.75
    disable_rate_both: float = 0.75
    per_attribute: bool = _static(False)
    equal_fitness: EqualFitness = _static("one_parent")

    def __check_init__(self):
        _check_rates(
            self,
            "crossover_rate",
            "interspecies_rate",
            "disable_rate",
            "disable_rate_both",
        )
        check_settings(self)
        _check_choice(self, "equal_fitness", EqualFitness)


class SpeciationConfig(eqx.Module):
    """Compatibility distance and the way species are formed.

    `distance="stanley2002"`: `c1 E/N + c2 D/N + c3 W` with N set to 1 where both
    genomes have fewer than `small_genome_size` genes (0: always divide). With
    `"neat_python"`, its own distance: nodes count too, and `excess_coefficient` is
    not used. `target_num_species` above 0 moves the threshold by `threshold_step`
    each generation, within `threshold_min` and `threshold_max` (the "dynamic
    compatibility threshold" of Stanley's later programs; the paper has a fixed one).
    """

    compatibility_threshold: float = 3.0
    excess_coefficient: float = 1.0
    disjoint_coefficient: float = 1.0
    weight_coefficient: float = 0.4
    small_genome_size: int = 20
    target_num_species: int = 0
    threshold_step: float = 0.3
    threshold_min: float = 0.3
    threshold_max: float = 1e6
    distance: DistanceRule = _static("stanley2002")
    assignment: Assignment = _static("first")
    representative: Representative = _static("random")

    def __check_init__(self):
        check_settings(self)
        _check_not_negative(
            self,
            "compatibility_threshold",
            "excess_coefficient",
            "disjoint_coefficient",
            "weight_coefficient",
            "small_genome_size",
            "target_num_species",
            "threshold_step",
            "threshold_min",
        )
        _check_choice(self, "distance", DistanceRule)
        _check_choice(self, "assignment", Assignment)
        _check_choice(self, "representative", Representative)
        _require(
            self.threshold_min <= self.threshold_max,
            f"threshold_min {self.threshold_min} lies above threshold_max "
            f"{self.threshold_max}. Swap them.",
        )


class ReproductionConfig(eqx.Module):
    """Who reproduces, and how often.

    `survival_rate`: best share of each species that become parents, at least
    `min_parents`. `elitism`: best members copied unchanged, in species of at least
    `elitism_min_size` members (the paper: the champion, in species of more than
    five). `max_stagnation`: generations without improvement of `species_fitness`
    after which a species dies, except the best `species_elitism` ones, as neat-python
    has them; 0 turns it off. The best species is spared in any case, so
    `species_elitism=0` means 1.
    `population_stagnation`: generations without improvement of the whole population
    after which only the best `population_stagnation_species` species reproduce, once;
    then as many generations pass before it happens again; 0 turns it off.
    `quota="proportional"`: offspring in proportion to shared fitness; `"damped"`:
    neat-python's, half-way from the present size, on fitness shifted to the worst and
    scaled by the range. `min_species_size` bounds the quotas of species
    that reproduce from below (`"damped"`: so does `elitism`); in a population too small
    for that many in each, the bound is lowered to an equal share, rounded down.
    """

    survival_rate: float = 0.2
    min_parents: int = 1
    elitism: int = 1
    elitism_min_size: int = 6
    min_species_size: int = 0
    max_stagnation: int = 15
    species_elitism: int = 1
    population_stagnation: int = 0
    population_stagnation_species: int = 2
    quota: QuotaRule = _static("proportional")
    species_fitness: SpeciesFitness = _static("max")

    def __check_init__(self):
        _check_rates(self, "survival_rate")
        check_settings(self)
        _check_not_negative(
            self,
            "elitism",
            "elitism_min_size",
            "min_species_size",
            "max_stagnation",
            "species_elitism",
            "population_stagnation",
        )
        _check_choice(self, "quota", QuotaRule)
        _check_choice(self, "species_fitness", SpeciesFitness)
        _require(
            self.min_parents >= 1,
            f"min_parents is {self.min_parents}. A species needs at least 1 parent.",
        )
        _require(
            self.population_stagnation_species >= 1,
            "population_stagnation_species must be at least 1, or nobody reproduces.",
        )


class NEATConfig(eqx.Module):
    """Everything that `NEAT` needs to know.

    `activation_default=None` draws a new node's activation from `activation_options`;
    `output_activation` fixes what outputs start with (else as other nodes).
    `initial_connection`: `"none"`; `"full"`: inputs to hidden to outputs, inputs to
    outputs directly only where there is no hidden node; `"full_direct"`: directly as
    well; `"partial"`, `"partial_direct"`: a random share `initial_fraction` of these;
    `"fs"`, `"fs_hidden"`: one random input to all outputs (and hidden nodes).
    `max_nodes`, `max_links` and `max_species` are where capacities start; 0 lets
    `NEAT` choose. See `tell_growing` for what happens when they do not suffice.
    """

    num_inputs: int = _static(2)
    num_outputs: int = _static(1)
    population_size: int = _static(150)
    maximise: bool = _static(True)
    feed_forward: bool = _static(True)
    num_hidden: int = _static(0)
    initial_connection: InitialConnection = _static("full")
    initial_fraction: float = _static(1.0)
    initial_self_links: bool = _static(False)
    activation_options: tuple[str, ...] = _static(("sigmoid",))
    activation_default: str | None = _static(None)
    output_activation: str | None = _static(None)
    max_nodes: int = _static(0)
    max_links: int = _static(0)
    max_species: int = _static(0)
    weight: FloatGeneConfig = FloatGeneConfig()
    bias: FloatGeneConfig = FloatGeneConfig()
    mutation: MutationConfig = MutationConfig()
    crossover: CrossoverConfig = CrossoverConfig()
    speciation: SpeciationConfig = SpeciationConfig()
    reproduction: ReproductionConfig = ReproductionConfig()

    def __check_init__(self):
        check_settings(self)
        for name in ("num_inputs", "num_outputs", "population_size"):
            value = getattr(self, name)
            _require(value >= 1, f"{name} is {value}. Choose at least 1.")
        _check_not_negative(self, "num_hidden", "max_nodes", "max_links", "max_species")
        _check_choice(self, "initial_connection", InitialConnection)
        _check_rates(self, "initial_fraction")
        _require(
            len(self.activation_options) > 0,
            "activation_options is empty. Name at least one activation.",
        )
        names = (*self.activation_options, self.activation_default)
        # For its error alone: it names the functions that there are.
        for name in (*names, self.output_activation):
            if name is not None:
                activation_id(name)
        _require(
            not (self.feed_forward and self.initial_self_links),
            "initial_self_links makes cycles. Set feed_forward=False or leave it out.",
        )
        needed = self.num_inputs + self.num_outputs + self.num_hidden
        _require(
            needed <= LARGEST_GENOME,
            f"num_inputs {self.num_inputs}, num_outputs {self.num_outputs} and "
            f"num_hidden {self.num_hidden} make {needed} nodes, but a genome has at "
            f"most {LARGEST_GENOME}. Choose fewer.",
        )
        for name in ("max_nodes", "max_links"):
            value = getattr(self, name)
            _require(
                value <= LARGEST_GENOME,
                f"{name} is {value}, but genomes can be compared up to "
                f"{LARGEST_GENOME} nodes or links. Set {name} lower, or to 0 to leave "
                "it to NEAT.",
            )
        _require(
            self.max_nodes == 0 or self.max_nodes >= needed,
            f"max_nodes is {self.max_nodes}, but the first genomes have {needed} "
            f"nodes. Set max_nodes to at least {needed}, or to 0 to leave it to NEAT.",
        )
