"""Sentences about searches that are stuck."""

import dataclasses

from substrax.evolution import GenerationRecord, diagnose

RECORD = GenerationRecord(
    generation=0,
    best_fitness=0.5,
    best_ever=0.5,
    mean_fitness=0.4,
    num_species=8,
    species_size=({"id": 0, "size": 60}, {"id": 1, "size": 40}),
    mean_genome_nodes=8.0,
    mean_genome_links=6.0,
    mean_hidden=4.0,
    mean_network_links=20.0,
    best_hidden=4,
    best_network_links=20,
    threshold=3.0,
    num_failed=0,
    num_empty=0,
    seconds=0.1,
    compile_seconds=0.0,
    fitness_spread=0.1,
)


def history(num: int = 60, **changes) -> list[GenerationRecord]:
    """Records in which nothing improves; changes are those after the first."""
    rest = dataclasses.replace(RECORD, **changes)
    return [RECORD, *(dataclasses.replace(rest, generation=g) for g in range(1, num))]


def test_a_search_that_goes_well_is_left_alone() -> None:
    assert diagnose([]) == ()
    assert diagnose(history()) == ()
    improving = [
        dataclasses.replace(r, num_species=1, best_ever=0.01 * r.generation)
        for r in history()
    ]
    assert diagnose(improving) == ()


def test_networks_without_links_are_noticed_at_once() -> None:
    (sentence,) = diagnose([dataclasses.replace(RECORD, num_unlinked=100)])
    assert "100 % of the networks have no link" in sentence
    assert "x-locality" in sentence
    (other,) = diagnose([dataclasses.replace(RECORD, num_unlinked=100)], "neat")
    assert "delete_link_rate" in other and "variance_threshold" not in other
    assert diagnose([dataclasses.replace(RECORD, num_unlinked=50)]) == ()


def test_networks_without_links_that_are_selected_are_told_from_those_that_happen():
    """Lower thresholds make links, and help nobody if networks with links are worse."""
    for stuck in (history(6, num_unlinked=98), history(num_unlinked=91)):
        stuck = [dataclasses.replace(r, best_network_links=0) for r in stuck]
        (sentence,) = diagnose(stuck, "emr")
        assert "networks without a link are selected: 0 % had none" in sentence
        assert "method.outputs weight,bias" in sentence
        assert "threshold" not in sentence
        (other,) = diagnose(stuck, "neat")
        assert "method.outputs" not in other
    found = [*history(num_unlinked=91)[:-1], RECORD]  # one with links is the best now
    assert diagnose(found, "emr") == ()


def test_fitness_that_is_the_same_for_all() -> None:
    (sentence,) = diagnose(history(fitness_spread=0.0))
    assert "same fitness" in sentence


def test_one_species() -> None:
    (sentence,) = diagnose(history(num_species=1))
    assert "one species" in sentence and "target_num_species" in sentence
    assert diagnose(history(20, num_species=1)) == ()


def test_genomes_that_shrink() -> None:
    (sentence,) = diagnose(history(mean_genome_links=2.5))
    assert "genomes shrink" in sentence and "6.0" in sentence and "2.5" in sentence


def test_a_fitness_that_is_never_a_number_is_noticed_at_once() -> None:
    (sentence,) = diagnose(history(2, num_failed=100))
    assert "every fitness of the last generation was NaN or infinite" in sentence
    assert diagnose(history(2, num_failed=99)) == ()
