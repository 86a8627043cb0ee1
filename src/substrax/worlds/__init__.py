"""Between environments and networks: spaces, actions, normalisation."""

from ._actions import CHOICES as CHOICES
from ._actions import SQUASHES as SQUASHES
from ._interface import Interface as Interface
from ._spaces import AbstractSpace as AbstractSpace
from ._spaces import Box as Box
from ._spaces import Compound as Compound
from ._spaces import Discrete as Discrete
from ._spaces import MultiDiscrete as MultiDiscrete
from ._spaces import batched as batched
from ._spaces import one_of as one_of
from ._spaces import space_from_document as space_from_document
from ._spaces import space_of as space_of
from ._statistics import Seen as Seen
from ._statistics import Statistics as Statistics
