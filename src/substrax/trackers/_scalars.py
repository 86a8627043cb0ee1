"""The numbers of a generation under the names that trackers show."""

from ..evolution import GenerationRecord

GROUPS = {
    "fitness": (
        "best_fitness",
        "best_ever",
        "mean_fitness",
        "fitness_spread",
        "num_failed",
    ),
    "species": ("num_species", "threshold"),
    "genomes": ("mean_genome_nodes", "mean_genome_links"),
    "networks": (
        "mean_hidden",
        "mean_network_links",
        "best_hidden",
        "best_network_links",
        "num_empty",
        "num_unlinked",
        "num_cached",
        "num_grown",
        "num_on_host",
        "num_steps",
    ),
    "time": ("seconds", "compile_seconds"),
}
"""Services draw what begins alike side by side."""


def scalars(record: GenerationRecord) -> dict[str, float]:
    """Numbers by names such as `fitness/best_ever`; what is None is left out."""
    named = {
        f"{group}/{name}": getattr(record, name)
        for group, names in GROUPS.items()
        for name in names
    }
    return {name: float(value) for name, value in named.items() if value is not None}
