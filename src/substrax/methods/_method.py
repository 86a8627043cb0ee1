"""What a method is, and the settings that methods with CPPNs share."""

import abc
import dataclasses
from typing import Any, ClassVar

from .._types import chosen
from ..cppn import COORDINATES, DIALECTS
from ..decoders import OUTPUTS, PRECISIONS, AbstractDecoder, CPPNReading
from ..substrate import WEIGHT_MAPS, Layout, WeightMap


class AbstractMethod(abc.ABC):
    """Makes a decoder for any problem."""

    name: ClassVar[str]
    """How configurations and the command line call it."""
    title: ClassVar[str]
    """How people call it."""

    @abc.abstractmethod
    def decoder(
        self, layout: Layout, activations: tuple[str, ...] | None = None
    ) -> AbstractDecoder:
        """The decoder for a problem's inputs and outputs.

        **Arguments:**

        - `layout`: where inputs and outputs lie.
        - `activations`: the functions that genomes may use; left out, those that occur.
        """


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbstractCPPNMethod(AbstractMethod):
    """A method that reads genomes as CPPNs.

    **Arguments:**

    - `dialect`, `coordinates`, `outputs`, `precision`: see `CPPNReading`.
    - `weight_map`, `max_weight`: from the CPPN's output to a weight, see `WeightMap`.
    - `bias_scale`: what the CPPN's output `bias`, if it has one, is multiplied with;
      None takes `max_weight`.
    - `hidden_activation`, `output_activation`: of the network, in the dialect.
    - `steps`: updates per input of a network with cycles; one that has none settles.
    """

    dialect: str = chosen("plain", DIALECTS)
    coordinates: tuple[str, ...] = chosen(CPPNReading.coordinates, COORDINATES)
    outputs: tuple[str, ...] = chosen(CPPNReading.outputs, OUTPUTS)
    precision: str = chosen("f32", PRECISIONS)
    weight_map: str = chosen("linear", WEIGHT_MAPS)
    max_weight: float = 8.0
    bias_scale: float | None = None
    hidden_activation: str = "sigmoid"
    output_activation: str = "sigmoid"
    steps: int = 8

    def network_settings(self, activations: tuple[str, ...] | None) -> dict[str, Any]:
        """What the decoders of all these methods take."""
        return {
            "reading": CPPNReading(
                dialect=self.dialect,
                coordinates=self.coordinates,
                outputs=self.outputs,
                activations=activations,
                precision=self.precision,
            ),
            "weight_map": WeightMap(self.weight_map, self.max_weight),
            "bias_scale": self.bias_scale,
            "hidden_activation": self.hidden_activation,
            "output_activation": self.output_activation,
            "steps": self.steps,
        }
