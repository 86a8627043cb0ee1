"""Networks: compact arrays, evaluation, description, export."""

from ._describe import Description as Description
from ._describe import describe as describe
from ._evaluate import Stepper as Stepper
from ._evaluate import evaluate as evaluate
from ._export import check_network as check_network
from ._export import from_json as from_json
from ._export import json_pieces as json_pieces
from ._export import to_arrays as to_arrays
from ._export import to_json as to_json
from ._export import to_networkx as to_networkx
from ._networks import Networks as Networks
from ._networks import silence_unfed as silence_unfed
from ._plan import Plan as Plan
from ._plan import advance as advance
from ._plan import make_plan as make_plan
from ._plan import settle as settle
