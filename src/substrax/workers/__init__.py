"""Work that is shared out: slices of it for workers, which may fail. Without JAX.

What the work is, nothing here knows: a function that can be imported, and arguments
that can be pickled.
"""

from ._crew import AbstractCrew as AbstractCrew
from ._crew import ProcessCrew as ProcessCrew
from ._crew import open_crew as open_crew
from ._crew import this_place as this_place
from ._errors import WorkersError as WorkersError
from ._names import check_executor as check_executor
from ._names import check_reachable as check_reachable
from ._names import num_processes as num_processes
from ._processes import Processes as Processes
from ._share import Answer as Answer
from ._share import Share as Share
from ._share import Span as Span
from ._sizes import Sizes as Sizes
