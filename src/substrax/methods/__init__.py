"""Methods: how genomes become networks, as settings that know of no problem yet.

A method is a frozen dataclass. Its fields are its settings, in configurations and on
the command line; `method.decoder(layout)` makes the decoder for a problem.
"""

from ._discovered import EMRHyperNEAT as EMRHyperNEAT
from ._discovered import ESHyperNEAT as ESHyperNEAT
from ._hyperneat import HyperNEAT as HyperNEAT
from ._method import AbstractMethod as AbstractMethod
from ._neat import NEAT as NEAT

METHODS: dict[str, type[AbstractMethod]] = {
    method.name: method for method in (NEAT, HyperNEAT, ESHyperNEAT, EMRHyperNEAT)
}
"""The methods by name."""
