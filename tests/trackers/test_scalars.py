"""Which numbers are tracked, and by which names."""

import dataclasses

from substrax.evolution import GenerationRecord
from substrax.trackers import scalars
from substrax.trackers._scalars import GROUPS

from .support import run


def test_every_number_of_a_record_is_in_one_group():
    named = [name for names in GROUPS.values() for name in names]
    fields = {field.name for field in dataclasses.fields(GenerationRecord)}
    assert sorted(named) == sorted(fields - {"generation", "species_size"})


def test_numbers_have_the_names_of_metrics_and_none_is_left_out():
    record = run(generations=1).history[0]
    numbers = scalars(record)
    assert numbers["fitness/best_ever"] == record.best_ever
    assert numbers["species/num_species"] == record.num_species
    assert all(type(value) is float for value in numbers.values())
    failed = dataclasses.replace(record, best_fitness=None)
    assert numbers.keys() - scalars(failed).keys() == {"fitness/best_fitness"}
