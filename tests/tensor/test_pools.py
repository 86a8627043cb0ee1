"""Leaves of quadtrees, added up: as if all their values were looked at together."""

import jax.numpy as jnp
import numpy as np

from substrax.tensor._rules import _pool


def test_pools_of_unequal_members_are_those_of_all_values_together() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        parts = [rng.normal(size=rng.integers(1, 17)) for _ in range(4)]
        members = [[len(p), p.mean(), ((p - p.mean()) ** 2).sum()] for p in parts]
        n, m, s = jnp.asarray(members, jnp.float32).T[:, None]
        total, mean, deviation = (float(x[0]) for x in _pool(n, m, s)[:3])
        together = np.concatenate(parts)
        assert total == len(together)
        np.testing.assert_allclose(mean, together.mean(), atol=1e-5)
        wanted = ((together - together.mean()) ** 2).sum()
        np.testing.assert_allclose(deviation, wanted, rtol=1e-4)
