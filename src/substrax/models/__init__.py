"""Models: a network, and what is done to data before and after it."""

from ._file import INCOMPLETE as INCOMPLETE
from ._file import activation_numbers as activation_numbers
from ._file import network_arrays as network_arrays
from ._file import network_facts as network_facts
from ._file import network_from as network_from
from ._file import read_facts as read_facts
from ._model import Model as Model
from ._policy import Policy as Policy
from ._policy import PolicyState as PolicyState
