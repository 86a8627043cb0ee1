"""NEAT: genomes, their variation, species, and the algorithm as init / ask / tell."""

from ._genome import NO_LINK as NO_LINK
from ._genome import NO_NODE as NO_NODE
from ._genome import Genome as Genome
from ._neat import NEAT as NEAT
from ._neat import NEATInfo as NEATInfo
from ._neat import NEATState as NEATState
