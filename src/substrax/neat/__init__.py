"""NEAT: genomes, their variation, species, and the algorithm as init / ask / tell."""

from . import presets as presets
from ._config import CrossoverConfig as CrossoverConfig
from ._config import FloatGeneConfig as FloatGeneConfig
from ._config import MutationConfig as MutationConfig
from ._config import NEATConfig as NEATConfig
from ._config import ReproductionConfig as ReproductionConfig
from ._config import SpeciationConfig as SpeciationConfig
from ._distance import pair_distance as pair_distance
from ._genome import NO_LINK as NO_LINK
from ._genome import NO_NODE as NO_NODE
from ._genome import Genome as Genome
from ._genome_data import GenomeData as GenomeData
from ._genome_data import LinkData as LinkData
from ._genome_data import NodeData as NodeData
from ._growth import CapacityError as CapacityError
from ._growth import check_info as check_info
from ._growth import grow as grow
from ._growth import tell_growing as tell_growing
from ._import_config import from_neat_python_config as from_neat_python_config
from ._import_genome import genome_from_neat_python as genome_from_neat_python
from ._mutation import Overflow as Overflow
from ._neat import NEAT as NEAT
from ._neat import NEATInfo as NEATInfo
from ._neat import NEATState as NEATState
from ._speciation import SpeciesTable as SpeciesTable
from ._start import Start as Start
