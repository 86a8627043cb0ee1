"""Tables and figures of the paper, run anew: plans, runs, statistics, pages."""

from ._evolution import Abandoned as Abandoned
from ._extras import require_extras as require_extras
from ._machine import machine_facts as machine_facts
from ._machine import machine_lines as machine_lines
from ._paper import paper_numbers as paper_numbers
from ._plan import Plan as Plan
from ._plan import Task as Task
from ._plan import builtin_plans as builtin_plans
from ._plan import load_plan as load_plan
from ._publish import publish as publish
from ._quadtree import Decoding as Decoding
from ._quadtree import quadtree_decode as quadtree_decode
from ._schedule import Outcome as Outcome
from ._schedule import Progress as Progress
from ._schedule import run_tasks as run_tasks
from ._sheet import Sheet as Sheet
from ._sheet import read_tables as read_tables
from ._statistics import cliffs_delta as cliffs_delta
from ._statistics import fisher as fisher
from ._statistics import holm as holm
from ._statistics import mann_whitney as mann_whitney
from ._statistics import rate as rate
from ._statistics import ratio_of_medians as ratio_of_medians
from ._statistics import spearman as spearman
from ._tables import Table as Table
from ._work import work as work
