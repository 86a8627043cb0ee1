"""A small run, and readers of what trackers wrote."""

import importlib
import struct
from pathlib import Path
from typing import Any

from substrax.evolution import RunDirectory, evolve
from tests.evolution.support import parts


def run(*callbacks: Any, generations: int = 3, directory: Any = None, **more: Any):
    """Starts a run, or goes on with the one in `directory`."""
    if directory is not None and (Path(directory) / "run.json").exists():
        directory = RunDirectory(directory)
    return evolve(
        *parts(),
        seed=3,
        generations=generations,
        callbacks=callbacks,
        directory=directory,
        **more,
    )


def events(folder: Path) -> list[Any]:
    """All events of a folder of TensorBoard's, file by file.

    A record is its length, a checksum of that, the data, and a checksum of these.
    """
    # generated classes, which the type checker does not see
    event: Any = importlib.import_module("tensorboardX.proto.event_pb2").Event
    found = []
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data, begin = path.read_bytes(), 0
        while begin < len(data):
            (length,) = struct.unpack_from("<Q", data, begin)
            found.append(event.FromString(data[begin + 12 : begin + 12 + length]))
            begin += length + 16
    return found


def values(folder: Path, tag: str) -> list[tuple[int, float]]:
    """Steps and values of a scalar, of every time it was written."""
    return [
        (event.step, value.simple_value)
        for event in events(folder)
        for value in event.summary.value
        if value.tag == tag
    ]


def tags(folder: Path) -> set[str]:
    return {value.tag for event in events(folder) for value in event.summary.value}
