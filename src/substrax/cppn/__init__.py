"""CPPNs: activation functions, compiled programs and the batched query engine."""

from ._activation import ACTIVATION_NAMES as ACTIVATION_NAMES
from ._activation import NO_ACTIVATION as NO_ACTIVATION
from ._activation import activation_form as activation_form
from ._activation import activation_function as activation_function
from ._activation import activation_functions as activation_functions
from ._activation import activation_id as activation_id
from ._activation import activation_ids_of as activation_ids_of
from ._activation import check_dialect as check_dialect
from ._activation_table import DIALECTS as DIALECTS
from ._activation_table import Dialect as Dialect
from ._enclose import enclose as enclose
from ._graph import Graphs as Graphs
from ._graph import evaluation_depths as evaluation_depths
from ._graph import longest_paths as longest_paths
from ._graph import read_graphs as read_graphs
from ._interval import Interval as Interval
from ._kernel import COORDINATES as COORDINATES
from ._native_programs import check_coordinate_names as check_coordinate_names
from ._native_programs import check_names as check_names
from ._native_programs import hold_programs as hold_programs
from ._program import Programs as Programs
from ._program import compile_programs as compile_programs
from ._query import QueryEngine as QueryEngine
