"""A program of its own: the same evolution on one, two and eight devices and by two
workers, with the optimisation that users have; a digest of each."""

import hashlib
import sys
from typing import Any

import substrax as sx


def digest(**where: Any) -> str:
    run = sx.evolve(
        "xor",
        method="emr",
        depth=1,
        population=37,  # divides by nothing here
        generations=3,
        target=2.0,
        engine="device",
        progress=False,
        **where,
    )
    told = [(r.best_fitness, r.mean_fitness, r.mean_network_links) for r in run.history]
    genome = run.result.best_genome
    assert genome is not None
    parts = [repr(told).encode(), genome.link_weight.tobytes()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


if __name__ == "__main__":
    for where in ({"devices": 1}, {"devices": 2}, {"devices": 8},
                  {"devices": 1, "executor": "processes:2"}):  # fmt: skip
        sys.stdout.write(f"digest {digest(**where)} {where}\n")
