"""Tensorised NEAT and the HyperNEAT family, in JAX."""
