"""Benchmarks: this package beside its peers, and beside the machine."""
