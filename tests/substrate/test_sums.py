"""Small sums on the way of the device's engine, each beside the obvious one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from substrax.substrate._es import _pool
from substrax.substrate._pairs import _pieces

LEAVES = st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=9)


@given(children=st.lists(LEAVES, min_size=4, max_size=4))
def test_four_cells_have_the_variance_of_all_their_leaves(children) -> None:
    number = np.array([[len(leaves)] for leaves in children], np.float64)
    mean = np.array([[np.mean(leaves)] for leaves in children])
    deviation = np.array([[np.var(leaves) * len(leaves)] for leaves in children])
    pooled = _pool(number, mean, deviation)
    every = np.concatenate(children)
    assert pooled.total.tolist() == [every.size]
    assert pooled.mean[0] == pytest.approx(every.mean(), abs=1e-6)
    assert pooled.deviation[0] == pytest.approx(every.var() * every.size, abs=1e-5)


@given(
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=20),
    limit=st.integers(1, 12),
)
def test_pieces_hold_every_pair_once_and_few_at_a_time(counts, limit: int) -> None:
    sizes = np.array(counts)
    pieces = list(_pieces(sizes, limit))
    covered = [k for piece in pieces for k in range(piece.start, piece.stop)]
    assert covered == sorted(set(covered))
    assert sizes[covered].sum() == sizes.sum()
    for piece in pieces:
        assert sizes[piece].sum() <= limit or piece.stop == piece.start + 1
