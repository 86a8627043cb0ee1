"""Each rule of the mutation of weights, biases, activations and switches."""

from typing import Any

import numpy as np
import pytest

from substrax.neat import FloatGeneConfig
from tests.neat.mutants import (
    FROM_OUTPUTS,
    NODES,
    ROWS,
    SIGMOID,
    SIN,
    SURER,
    TANH,
    UNIFORM,
    mutants,
    still_config,
)


def _weights(genomes):
    """Weights of the eight links, and the step from what they were."""
    weights = genomes.link_weight[:, :8]
    before = np.array([row[3] for row in ROWS], np.float32)
    return weights, weights - before


def _gene(**kwargs: Any):
    """All numbers are perturbed, with room for large ones."""
    everything = {"perturb_rate": 1.0, "replace_rate": 0.0}
    limits = {"minimum": -500.0, "maximum": 500.0}
    return FloatGeneConfig(**{**everything, **limits, **kwargs})


REPLACED: dict[str, Any] = {"perturb_rate": 0.0, "replace_rate": 1.0}


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_perturbed_weights_move_by_a_normal_step_of_the_given_deviation(power):
    _, steps = _weights(mutants(still_config(weight=_gene(perturb_power=power))))
    assert (steps != 0).mean() > 0.999
    assert steps.mean() == pytest.approx(0.0, abs=0.05 * power)
    assert steps.std() == pytest.approx(power, rel=0.05)
    # Normal: 68 % within one deviation, and each weight has a step of its own.
    assert (np.abs(steps) < power).mean() == pytest.approx(0.683, abs=0.03)
    assert np.abs(np.corrcoef(steps.T) - np.eye(8)).max() < 0.15


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_uniform_perturbation_stays_within_its_power(power):
    weight = _gene(perturb_power=power, **UNIFORM)
    config = still_config(**{**SURER, "weight": weight})
    _, steps = _weights(mutants(config))
    assert np.abs(steps).max() <= power * 1.0001
    assert steps.min() < -0.98 * power and steps.max() > 0.98 * power
    assert steps.mean() == pytest.approx(0.0, abs=0.05 * power)
    assert np.abs(steps).mean() == pytest.approx(0.5 * power, rel=0.05)


def test_replaced_weights_are_fresh_whatever_they_were():
    weight = _gene(init_mean=40.0, init_stdev=3.0, **REPLACED)
    weights, _ = _weights(mutants(still_config(weight=weight)))
    np.testing.assert_allclose(weights.mean(0), 40.0, atol=0.5)
    np.testing.assert_allclose(weights.std(0), 3.0, atol=0.4)


def test_a_uniform_fresh_weight_spans_two_deviations_to_both_sides():
    weight = _gene(init_mean=40.0, init_stdev=3.0, **REPLACED, **UNIFORM)
    weights, _ = _weights(mutants(still_config(**{**SURER, "weight": weight})))
    assert 34.0 <= weights.min() < 34.1 and 45.9 < weights.max() <= 46.0
    np.testing.assert_allclose(weights.mean(0), 40.0, atol=0.5)


def test_weights_are_perturbed_replaced_or_kept_at_their_rates():
    weight = _gene(perturb_rate=0.5, replace_rate=0.2, init_mean=200.0)
    weights, steps = _weights(mutants(still_config(weight=weight)))
    is_replaced, is_kept = weights > 100.0, steps == 0.0
    is_perturbed = ~is_replaced & ~is_kept
    assert is_perturbed.mean() == pytest.approx(0.5, abs=0.03)
    assert is_replaced.mean() == pytest.approx(0.2, abs=0.03)
    assert is_kept.mean() == pytest.approx(0.3, abs=0.03)


def test_the_mutate_rate_is_for_all_weights_of_a_genome_together():
    """ "There was an 80% chance of a genome having its connection weights mutated." """
    _, steps = _weights(mutants(still_config(weight=_gene(mutate_rate=0.8))))
    is_mutated = (steps != 0).any(1)
    assert is_mutated.mean() == pytest.approx(0.8, abs=0.05)
    assert (steps[is_mutated] != 0).mean() > 0.99


@pytest.mark.parametrize("kind", [{}, REPLACED], ids=["perturbed", "replaced"])
def test_weights_are_clipped_to_their_bounds(kind):
    bounds = {"minimum": -4.0, "maximum": 5.0}
    sizes = {"perturb_power": 9.0, "init_stdev": 9.0}
    weight = _gene(**bounds, **sizes, **kind)
    weights, _ = _weights(mutants(still_config(weight=weight)))
    assert weights.min() == -4.0 and weights.max() == 5.0
    is_inside = (weights > -4.0) & (weights < 5.0)
    assert 0.2 < is_inside.mean() < 0.6


def test_biases_of_all_but_inputs_mutate_at_their_own_rates():
    config = still_config(bias=_gene(perturb_power=2.0))
    genomes = mutants(config)
    before = np.array([node[2] for node in NODES], np.float32)
    steps = genomes.node_bias[:, :6] - before
    assert (steps[:, :2] == 0).all()
    assert (steps[:, 2:] != 0).mean() > 0.999
    np.testing.assert_allclose(steps[:, 2:].mean(0), 0.0, atol=0.3)
    np.testing.assert_allclose(steps[:, 2:].std(0), 2.0, atol=0.2)
    # Weights have rates of their own.
    assert (_weights(genomes)[1] == 0).all()


def test_biases_are_replaced_and_clipped_like_weights():
    bounds = {"init_mean": 5.0, "init_stdev": 1.0, "maximum": 6.0}
    gene = _gene(mutate_rate=0.5, **REPLACED, **bounds)
    biases = mutants(still_config(bias=gene)).node_bias[:, 2:6]
    before = np.array([node[2] for node in NODES[2:]], np.float32)
    is_mutated = (biases != before).any(1)
    assert is_mutated.mean() == pytest.approx(0.5, abs=0.06)
    fresh = biases[is_mutated]
    assert fresh.max() == 6.0
    np.testing.assert_allclose(np.median(fresh, axis=0), 5.0, atol=0.3)


def test_activations_of_all_but_inputs_are_drawn_from_the_options():
    genomes = mutants(still_config(activation_rate=1.0))
    activations = genomes.node_activation[:, :6]
    # All were sigmoids, which is none of the options.
    np.testing.assert_array_equal(activations[:, :2], 0)
    assert set(activations[:, 2:].ravel().tolist()) == {SIN, TANH}
    np.testing.assert_allclose((activations[:, 2:] == SIN).mean(0), 0.5, atol=0.06)


def test_activations_mutate_at_their_rate_per_node():
    genomes = mutants(still_config(activation_rate=0.25))
    is_changed = genomes.node_activation[:, 2:6] != SIGMOID
    np.testing.assert_allclose(is_changed.mean(0), 0.25, atol=0.06)


def test_activations_of_outputs_stay_where_asked():
    genomes = mutants(still_config(activation_rate=1.0, **FROM_OUTPUTS))
    assert (genomes.node_activation[:, 2:4] == SIGMOID).all()
    assert set(genomes.node_activation[:, 4:6].ravel().tolist()) == {SIN, TANH}


@pytest.mark.parametrize(
    ("disable", "enable"), [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.2, 0.6)]
)
def test_links_are_disabled_and_enabled_at_their_rates(disable, enable):
    genomes = mutants(still_config(disable_rate=disable, enable_rate=enable))
    before = np.array([row[4] for row in ROWS])
    is_toggled = genomes.link_enabled[:, :8] != before
    assert is_toggled[:, before].mean() == pytest.approx(disable, abs=0.03)
    assert is_toggled[:, ~before].mean() == pytest.approx(enable, abs=0.06)


def test_few_weights_change_in_a_share_of_the_offspring():
    """Two of eight on average, in half of the offspring; all in the other half."""
    config = still_config(weight=_gene(few_rate=0.5, few=2.0))
    _, steps = _weights(mutants(config))
    number = (steps != 0).sum(axis=1)
    is_few = number < 8
    assert is_few.mean() == pytest.approx(0.5, abs=0.05)
    assert number[is_few].mean() == pytest.approx(2.0, abs=0.15)


def test_fewer_weights_than_few_all_change():
    config = still_config(weight=_gene(few_rate=1.0, few=50.0))
    _, steps = _weights(mutants(config))
    assert (steps != 0).mean() > 0.999


@pytest.mark.parametrize("few_rate", [0.0, 1.0])
def test_logarithms_of_steps_are_uniform(few_rate):
    """From the power down to a hundredth of it, whether few change or all."""
    gene = {"perturb_power": 1.0, "perturb_decades": 2.0, **UNIFORM}
    weight = _gene(few_rate=few_rate, few=4.0, **gene)
    _, steps = _weights(mutants(still_config(**{**SURER, "weight": weight})))
    sizes = np.abs(steps[steps != 0])
    # |uniform| times 10^-U(0, 2): half of that is below 0.1 times the mean logarithm
    mean = np.log10(sizes).mean()
    assert mean == pytest.approx(-1.0 - 1 / np.log(10), abs=0.06)
    assert (sizes < 1e-3).any() and (sizes > 0.5).any()


@pytest.mark.parametrize("kind", ["weight", "bias"])
def test_the_size_of_a_change_does_not_depend_on_whether_it_happens(kind):
    rates = {"perturb_rate": 0.3, "replace_rate": 0.2}
    gene = _gene(perturb_power=1.0, init_mean=100.0, init_stdev=1.0, **rates)
    genomes = mutants(still_config(**{kind: gene}))
    if kind == "weight":
        values, steps = _weights(genomes)
    else:
        values = genomes.node_bias[:, 2:6]
        steps = values - np.array([node[2] for node in NODES[2:]], np.float32)
    is_replaced = values > 50.0
    perturbed, fresh = steps[(steps != 0) & ~is_replaced], values[is_replaced] - 100.0
    for sizes in (perturbed, fresh):
        assert sizes.mean() == pytest.approx(0.0, abs=0.15)
        assert sizes.std() == pytest.approx(1.0, abs=0.1)


def test_which_activation_a_node_gets_does_not_depend_on_whether_it_changes():
    genomes = mutants(still_config(activation_rate=0.25))
    activations = genomes.node_activation[:, 2:6]
    drawn = activations[activations != SIGMOID]
    assert (drawn == SIN).mean() == pytest.approx(0.5, abs=0.06)
