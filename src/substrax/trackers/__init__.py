"""Runs in TensorBoard, Weights & Biases and MLflow."""

from ._mlflow import MLflowTracker as MLflowTracker
from ._registry import TRACKERS as TRACKERS
from ._registry import make_trackers as make_trackers
from ._scalars import scalars as scalars
from ._tensorboard import TensorBoardTracker as TensorBoardTracker
from ._wandb import WandbTracker as WandbTracker
