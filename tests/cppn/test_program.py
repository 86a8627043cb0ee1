"""What compiling a graph must refuse, and what it must say."""

import numpy as np
import pytest

from substrax.cppn import compile_programs
from tests.cppns import population_arrays, random_cppn


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return population_arrays([random_cppn(rng, 3), random_cppn(rng, 2)])


def compiled(arrays, **options):
    options = {"num_inputs": 5, "num_outputs": 1, "dialect": "plain"} | options
    return compile_programs(**arrays, **options)


def test_rows_of_a_population_lie_behind_each_other(arrays):
    programs = compiled(arrays)
    assert programs.first_row[0] == 0
    assert programs.first_row[1] == programs.num_rows[0]
    assert programs.num_rows.sum() == programs.bias.size


def test_a_cycle_is_refused_with_the_genome_named(arrays):
    hidden = arrays["node_id"][1, -1]
    hidden = arrays["node_id"][1][arrays["node_id"][1] > 5][0]
    for k, (source, target) in enumerate([(hidden, hidden), (hidden, 5)]):
        arrays["link_source"][1, k], arrays["link_target"][1, k] = source, target
        arrays["link_enabled"][1, k] = True
    with pytest.raises(ValueError, match="genome 1 is cyclic"):
        compiled(arrays)


def test_a_cycle_that_leads_nowhere_does_no_harm(arrays):
    before = compiled(arrays)
    arrays["node_id"] = np.pad(arrays["node_id"], ((0, 0), (0, 1)), constant_values=99)
    for name in ("node_activation", "node_bias"):
        arrays[name] = np.pad(arrays[name], ((0, 0), (0, 1)))
    for name, value in (
        ("link_source", 99), ("link_target", 99), ("link_enabled", True),
        ("link_weight", 1.0),
    ):  # fmt: skip
        arrays[name] = np.pad(arrays[name], ((0, 0), (0, 1)), constant_values=value)
    after = compiled(arrays)
    np.testing.assert_array_equal(before.source, after.source)


def test_nan_weight_is_refused(arrays):
    arrays["link_weight"][1, 0] = np.nan
    with pytest.raises(ValueError, match="genome 1 has a link weight that is nan"):
        compiled(arrays)


def test_infinite_bias_is_refused(arrays):
    arrays["node_bias"][0, 5] = np.inf
    with pytest.raises(ValueError, match="genome 0 has a bias that is inf"):
        compiled(arrays)


def test_link_to_nowhere_is_refused(arrays):
    arrays["link_source"][0, 0] = 77
    with pytest.raises(ValueError, match="whose source is node 77"):
        compiled(arrays)


def test_link_into_an_input_is_refused(arrays):
    arrays["link_target"][0, 0] = 2
    with pytest.raises(ValueError, match="link into input node 2"):
        compiled(arrays)


def test_wrong_arity_is_refused(arrays):
    with pytest.raises(ValueError, match="num_inputs=7 and num_outputs=1 ask for 8"):
        compiled(arrays, num_inputs=7)


def test_unknown_activation_id_is_refused(arrays):
    arrays["node_activation"][0, 5] = 999
    with pytest.raises(ValueError, match=r"node \d+ of genome 0 has activation id 999"):
        compiled(arrays)


def test_activation_outside_the_given_set_is_refused(arrays):
    with pytest.raises(ValueError, match="which `activations` does not list"):
        compiled(arrays, activations=["relu"])


def test_shapes_must_agree(arrays):
    arrays["node_bias"] = arrays["node_bias"][:, :-1]
    with pytest.raises(ValueError, match="node_bias has shape"):
        compiled(arrays)
