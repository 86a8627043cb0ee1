"""The engine for accelerators: genomes to networks to outputs, within one jit.

Everything here is a pure function of one genome, with arrays of fixed sizes: `vmap`,
`scan`, `shard_map` and `grad` apply. The native engine does the same on CPUs.
"""

from ._capacity import Capacity as Capacity
from ._capacity import Shortage as Shortage
from ._capacity import num_cells as num_cells
from ._direct import direct_network as direct_network
from ._discover import Discoverer as Discoverer
from ._fixed import FixedWiring as FixedWiring
from ._grid import MAX_DEPTH as MAX_DEPTH
from ._population import over_genomes as over_genomes
from ._population import population_mesh as population_mesh
from ._reading import Reader as Reader
from ._traced import Traced as Traced
from ._wiring import rows_at_once as rows_at_once
