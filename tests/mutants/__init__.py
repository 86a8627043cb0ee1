"""Faults put into the program one at a time: do the tests notice?

`make mutants` draws some for each module of `_subjects.py`, with the operators of
cosmic-ray and two of our own, and runs the module's tests on each, in a copy of the
checkout. What is not noticed, and need not be, stands in `equivalents.toml` with the
reason.
"""
