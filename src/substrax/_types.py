"""Names for types that many modules share."""

from typing import Any

ArrayLike = Any
"""Anything that `numpy.asarray` understands: arrays, nested lists, single numbers.

NumPy's own alias is not used because run-time checks of it refuse a plain `int`.
"""
