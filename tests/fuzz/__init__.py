"""Hostile input for everything that reads what people, or other programs, wrote.

A case is named by its target, a seed and a number, and made of nothing else: `replay`
runs it again. `make fuzz MINUTES=30 SEED=7` looks for new ones, `test_fuzz.py` runs
some in every build.
"""

from ._replay import fuzz as fuzz
from ._replay import replay as replay
