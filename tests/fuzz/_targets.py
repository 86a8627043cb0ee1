"""What is attacked, by name."""

from collections.abc import Callable

from ._case import Case
from .arrays import attack_native_module
from .commands import attack_command_line
from .configurations import attack_configuration
from .deaths import (
    attack_disk,
    attack_file_operations,
    attack_with_sigkill,
    can_mount,
)
from .directories import attack_run_directory, attack_sweep
from .imports import attack_import

TARGETS: dict[str, Callable[[Case], None]] = {
    "directories": attack_run_directory,
    "sweeps": attack_sweep,
    "configurations": attack_configuration,
    "commands": attack_command_line,
    "imports": attack_import,
    "arrays": attack_native_module,
    "operations": attack_file_operations,
    "kills": attack_with_sigkill,
}
if can_mount():
    TARGETS["disks"] = attack_disk
