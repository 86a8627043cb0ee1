"""Decoders: genome to network. NEAT evolves genomes and knows nothing of them."""

from ._base import OUTPUTS as OUTPUTS
from ._base import PRECISIONS as PRECISIONS
from ._base import AbstractCPPNDecoder as AbstractCPPNDecoder
from ._base import AbstractDecoder as AbstractDecoder
from ._base import CPPNReading as CPPNReading
from ._cache import NetworkCache as NetworkCache
from ._direct import Direct as Direct
from ._discovered import Discovered as Discovered
from ._discovered import emr_hyperneat as emr_hyperneat
from ._discovered import es_hyperneat as es_hyperneat
from ._hyperneat import FixedSubstrate as FixedSubstrate
from ._hyperneat import HyperNEAT as HyperNEAT
from ._hyperneat import check_num_links as check_num_links
from ._on_device import OnDevice as OnDevice
from ._on_device import genomes_at as genomes_at
from ._on_device import run_on_device as run_on_device
from ._seeds import SEED_ACTIVATIONS as SEED_ACTIVATIONS
from ._seeds import SEEDS as SEEDS
from ._seeds import seed_genome as seed_genome
