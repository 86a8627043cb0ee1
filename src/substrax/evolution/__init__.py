"""The loop, its records, and run directories that survive being killed."""

from ..runs import DATA as DATA
from ..runs import TENSORBOARD as TENSORBOARD
from ..runs import TIMES as TIMES
from ..runs import DamagedRunError as DamagedRunError
from ..runs import GenerationRecord as GenerationRecord
from ..runs import StopReason as StopReason
from ..runs import diagnose as diagnose
from ._best import Best as Best
from ._best import best_to_safetensors as best_to_safetensors
from ._best import genome_size as genome_size
from ._callbacks import Callback as Callback
from ._callbacks import Tracker as Tracker
from ._callbacks import TrackerError as TrackerError
from ._callbacks import check_callbacks as check_callbacks
from ._checks import check_limits as check_limits
from ._checks import check_memory as check_memory
from ._compile_clock import xla_seconds as xla_seconds
from ._directory import RunDirectory as RunDirectory
from ._facts import surroundings as surroundings
from ._generation import Generation as Generation
from ._generation import RunInfo as RunInfo
from ._lock import RunLockedError as RunLockedError
from ._lock import lock as lock
from ._loop import MAX_CACHED_BYTES as MAX_CACHED_BYTES
from ._loop import evolve as evolve
from ._record import Result as Result
