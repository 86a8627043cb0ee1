"""ES-HyperNEAT and EMR-HyperNEAT: substrates that are discovered."""

import dataclasses
from typing import Any, ClassVar

from .._types import chosen
from ..cppn import DIALECTS
from ..decoders import Discovered
from ..substrate import (
    STRATEGIES,
    WEIGHT_MAPS,
    AbstractRule,
    EMRRule,
    ESRule,
    Layout,
)
from ._method import AbstractCPPNMethod


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Discovering(AbstractCPPNMethod):
    """A method whose decoder is `Discovered`, with a rule.

    `strategy` is `auto`, `frontier` or `eager`; all give the same networks.
    """

    strategy: str = chosen("auto", STRATEGIES)

    rule_class: ClassVar[type[AbstractRule]]

    def decoder(
        self, layout: Layout, activations: tuple[str, ...] | None = None
    ) -> Discovered:
        fields: tuple[Any, ...] = dataclasses.fields(self.rule_class)  # type: ignore[arg-type]
        rule = self.rule_class(**{f.name: getattr(self, f.name) for f in fields})
        return Discovered(
            layout, rule, strategy=self.strategy, **self.network_settings(activations)
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ESHyperNEAT(_Discovering, ESRule):
    """ES-HyperNEAT (Risi & Stanley 2012) exactly as PUREPLES has it, its defaults too.

    Its settings are those of `ESRule` and of every method with CPPNs.
    """

    dialect: str = chosen("neat-python", DIALECTS)
    weight_map: str = chosen("deadzone", WEIGHT_MAPS)
    max_weight: float = 5.0

    rule_class: ClassVar[type[AbstractRule]] = ESRule


@dataclasses.dataclass(frozen=True, kw_only=True)
class EMRHyperNEAT(_Discovering, EMRRule):
    """EMR-HyperNEAT (Claret et al. 2026), with six connection configurations.

    Its settings are those of `EMRRule` and of every method with CPPNs.
    """

    hidden_activation: str = "tanh"

    rule_class: ClassVar[type[AbstractRule]] = EMRRule
