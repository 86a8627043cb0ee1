"""Settings: which there are, what a person means by a key, the value that each has.

Nothing here imports JAX. A misspelt setting is told at once, and so is what there is.
"""

from ._changeable import changeable as changeable
from ._names import NAMES as NAMES
from ._names import changed as changed
from ._names import key_of as key_of
from ._names import known_settings as known_settings
from ._resolve import Resolved as Resolved
from ._resolve import resolve as resolve
from ._setting import NONE as NONE
from ._setting import SWITCHED_ON as SWITCHED_ON
from ._setting import Setting as Setting
from ._setting import setting_of as setting_of
from ._tables import FILE as FILE
from ._tables import IN_PYTHON as IN_PYTHON
from ._tables import FindOwn as FindOwn
from ._tables import Tables as Tables
from ._tables import tables as tables
from ._toml import dump_toml as dump_toml
from ._toml import dump_value as dump_value
from ._toml import flatten as flatten
from ._trackers import check_trackers as check_trackers
