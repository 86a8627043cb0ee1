"""The rules that there are, by name."""

from ._emr import EMRRule
from ._es import ESRule
from ._rule import AbstractRule

RULES: dict[str, type[AbstractRule]] = {rule.name: rule for rule in (ESRule, EMRRule)}
