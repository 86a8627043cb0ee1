"""Slow, obvious oracles: what substrax computes, written a second time.

Pure Python and NumPy in float64, nothing from the package itself, no cleverness. An
oracle is here to be read and believed; the tests hold the fast code against it.
"""
