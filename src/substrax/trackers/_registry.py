"""Trackers by name."""

from collections.abc import Callable, Sequence

from ..evolution import Tracker
from ..settings import check_trackers
from ._mlflow import MLflowTracker
from ._tensorboard import TensorBoardTracker
from ._wandb import WandbTracker

TRACKERS: dict[str, Callable[[], Tracker]] = {
    "tensorboard": TensorBoardTracker,
    "wandb": WandbTracker,
    "mlflow": MLflowTracker,
}
"""What `--track` knows."""


def make_trackers(names: Sequence[str]) -> list[Tracker]:
    """Trackers with nothing but defaults; a missing library is an `ImportError`."""
    check_trackers(names)
    return [TRACKERS[name]() for name in names]
