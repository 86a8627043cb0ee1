"""A function of one genome for a whole population, within a jit: in blocks, and spread
over the devices of a mesh.

Every block has the same size, and the last is filled up. So the program that judges a
genome is the same whatever the population and wherever its genomes lie, and neither
the number of devices nor that of processes changes a bit.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from .._types import check_counts
from ..neat import Genome

GENOMES = "genomes"
"""The axis of a mesh over which populations are spread."""


def population_mesh(num: int | None = None) -> Mesh:
    """All devices there are, of all processes, in a row; or some of them."""
    devices = jax.devices()
    if num is not None and not 1 <= num <= len(devices):
        raise ValueError(
            f"devices is {num}, but JAX has {len(devices)} here "
            f"({devices[0].platform}). `--devices none`, or devices=None in Python, "
            "uses all there are."
        )
    idle = jax.process_count() - len({d.process_index for d in devices[:num]})
    if idle:
        raise ValueError(
            f"devices is {num}, which leaves {idle} of {jax.process_count()} processes "
            "without a device. Start fewer processes, or use all devices: "
            "`--devices none`, or devices=None in Python."
        )
    # Not by jax.make_mesh: whether its axes are explicit depends on JAX's version.
    return Mesh(np.asarray(devices[:num]), (GENOMES,))


def over_genomes(
    fn: Callable[..., Any],
    genomes: Genome,
    *shared: Any,
    block: int = 32,
    mesh: Mesh | None = None,
) -> Any:
    """`fn(genome, *shared)` for each genome of a population.

    **Arguments:**

    - `fn`: of one genome; what it gives is a tree of arrays. All that is traced and not
      its genome's belongs into `shared`.
    - `genomes`: a population, with its axis in front.
    - `block`: how many genomes are worked on side by side, which is what bounds memory.
    - `mesh`: devices that the population is spread over, along an axis called
      `genomes`; see `population_mesh`. Left out, all work is done where the genomes
      are.

    What comes back is on all devices.
    """
    check_counts(block=block)
    if not block:
        raise ValueError("block is 0; give the number of genomes at a time.")
    if mesh is not None and GENOMES not in mesh.shape:
        raise ValueError(
            f"the mesh has the axes {', '.join(mesh.shape) or 'of none'}, but a "
            f"population is spread over one called {GENOMES}. Use population_mesh()."
        )
    num = genomes.node_id.shape[0]
    num_devices = 1 if mesh is None else mesh.shape[GENOMES]
    share = num_devices * block
    num_padded = -(-num // share) * share
    # Filled up with genomes that are there: they are as sound as the others.
    index = jnp.minimum(jnp.arange(num_padded), max(num - 1, 0))
    padded = jax.tree.map(lambda x: x[index], genomes)

    def some(genomes: Genome, *shared: Any) -> Any:
        blocks = jax.tree.map(lambda x: x.reshape(-1, block, *x.shape[1:]), genomes)
        work = jax.vmap(lambda genome: fn(genome, *shared))
        values = lax.map(work, blocks)
        return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), values)

    if mesh is not None:
        here, everywhere = PartitionSpec(GENOMES), PartitionSpec()

        def gathered(genomes: Genome, *shared: Any) -> Any:
            values = some(genomes, *shared)
            gather = lambda x: lax.all_gather(x, GENOMES, tiled=True)
            return jax.tree.map(gather, values)

        spread = jax.shard_map(
            gathered,
            mesh=mesh,
            in_specs=(here, *(everywhere for _ in shared)),
            out_specs=everywhere,
            check_vma=False,  # loops inside begin with values that belong to no device
        )
        values = spread(padded, *shared)
    else:
        values = some(padded, *shared)
    return jax.tree.map(lambda x: x[:num], values)
