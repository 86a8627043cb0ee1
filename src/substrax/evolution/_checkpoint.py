"""A run's state on disk: arrays in safetensors, and a checksum beside them in JSON."""

import hashlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
import safetensors
import safetensors.numpy

from .._files import write_atomically
from .._safetensors import safetensors_pieces
from ..runs import CHECKPOINT_NAMES, DamagedRunError, sealed, unsealed

FORMAT, VERSION = "substrax-checkpoint", 2
NUM_KEPT = 2
NAMES = CHECKPOINT_NAMES

_log = logging.getLogger("substrax")

State = TypeVar("State")


def state_arrays(state: Any) -> dict[str, np.ndarray]:
    """Every array of a state under the path that leads to it."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return {jax.tree_util.keystr(p).lstrip("."): np.asarray(x) for p, x in leaves}


def state_from_arrays(like: State, arrays: dict[str, np.ndarray]) -> State:
    """The state that `state_arrays` took apart.

    `like` is a state of the same kind, or its shapes; capacities may differ, names,
    ranks and types may not.
    """
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    names = [jax.tree_util.keystr(path).lstrip(".") for path, _ in leaves]
    if set(names) != set(arrays):
        differing = ", ".join(sorted(set(names) ^ set(arrays)))
        raise DamagedRunError(f"its arrays are not those of a state ({differing})")
    values = []
    for name, (_, leaf) in zip(names, leaves, strict=True):
        array = arrays[name]
        if array.dtype != leaf.dtype or array.ndim != leaf.ndim:
            raise DamagedRunError(
                f"{name} is {array.dtype} of rank {array.ndim}, not {leaf.dtype} of "
                f"rank {leaf.ndim}"
            )
        # What is NumPy's stays so: JAX would make 32 bits of 64.
        is_host = isinstance(leaf, np.ndarray)
        values.append(array if is_host else jax.numpy.asarray(array))
    return jax.tree_util.tree_unflatten(structure, values)


class Checkpoint(NamedTuple):
    """What a checkpoint says besides the arrays of the state."""

    generation: int
    """How many are done."""
    identity: str
    """The digest of the settings that the results depend on."""
    metrics: str
    """The digest of the metrics up to there."""
    best: Mapping[str, Any] | None = None
    """The best up to there, and the digests of its files; see `Reached`."""


def _paths(folder: Path, generation: int) -> tuple[Path, Path]:
    name = f"{generation:06d}"
    return folder / f"{name}.safetensors", folder / f"{name}.json"


def ours(folder: Path) -> dict[Path, int]:
    """The files of checkpoints, with the generations that they are of."""
    found = ((path, NAMES.fullmatch(path.name)) for path in folder.iterdir())
    return {path: int(match[1]) for path, match in found if match is not None}


def generations(folder: Path) -> list[int]:
    """Of which numbers of generations there are checkpoints, the newest first."""
    numbers = (
        number for path, number in ours(folder).items() if path.suffix == ".json"
    )
    return sorted(numbers, reverse=True)


def write_checkpoint(folder: Path, checkpoint: Checkpoint, state: Any) -> None:
    """Keeps the state after some generations, and the one before it."""
    arrays_path, json_path = _paths(folder, checkpoint.generation)
    data = b"".join(safetensors_pieces(state_arrays(state), {}))
    write_atomically(arrays_path, data)
    document = {
        "format": FORMAT,
        "version": VERSION,
        **checkpoint._asdict(),
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    try:
        # written last: what has this file is complete
        write_atomically(json_path, sealed(document))
    except OSError:
        # No half of a checkpoint stays on a disk that is full: there is room again to
        # say why the run ended. If only the folder could not be synchronised, though,
        # both halves are there.
        if not json_path.exists():
            arrays_path.unlink(missing_ok=True)
        raise
    # Only now that the new one is complete: at any moment one at least is whole.
    prune(folder, checkpoint.generation)


def amend(folder: Path, checkpoint: Checkpoint) -> None:
    """Lets a checkpoint that is there say something else about the same state."""
    _, json_path = _paths(folder, checkpoint.generation)
    document = unsealed(json_path.read_bytes())
    write_atomically(json_path, sealed(document | checkpoint._asdict()))


def prune(folder: Path, newest: int) -> None:
    """Deletes all but the last checkpoints up to `newest`; also halves of others."""
    present = [number for number in generations(folder) if number <= newest]
    for path, number in ours(folder).items():
        if number not in present[:NUM_KEPT]:
            path.unlink()


def _read(
    folder: Path, generation: int, like: Callable[[], State]
) -> tuple[Checkpoint, State]:
    arrays_path, json_path = _paths(folder, generation)
    try:
        document = unsealed(json_path.read_bytes())
        if document["format"] != FORMAT or document["version"] != VERSION:
            raise DamagedRunError(
                f"its format is {document['format']} {document['version']}, this "
                f"release reads {FORMAT} {VERSION}"
            )
        data = arrays_path.read_bytes()
        if len(data) != document["bytes"]:
            raise DamagedRunError(
                f"it has {len(data)} bytes instead of {document['bytes']}"
            )
        if (
            hashlib.sha256(data).hexdigest() != document["sha256"]
            or document["generation"] != generation
        ):
            raise DamagedRunError("its checksum is wrong")
        checkpoint = Checkpoint(
            generation,
            str(document["identity"]),
            str(document["metrics"]),
            document.get("best", {}),
        )
        arrays = safetensors.numpy.load(data)
    except OSError as error:
        raise DamagedRunError(f"it cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, safetensors.SafetensorError) as error:
        raise DamagedRunError("it does not say all that a checkpoint is") from error
    # (it is a ValueError, too, and has its sentence already)
    except DamagedRunError:
        raise
    except ValueError as error:
        raise DamagedRunError(str(error)) from error
    return checkpoint, state_from_arrays(like(), arrays)


def read_newest(
    folder: Path, like: Callable[[], State]
) -> tuple[Checkpoint, State] | None:
    """The newest checkpoint that is intact.

    None if there never was one. One that is damaged is reported to the log and passed
    over; if all are, that is an error.
    """
    present = generations(folder)
    for generation in present:
        try:
            return _read(folder, generation, like)
        except DamagedRunError as error:
            _log.warning(
                "the checkpoint after %d generations (%s) is damaged: %s.",
                generation,
                _paths(folder, generation)[0],
                error,
            )
            damaged = error
    if present:
        raise DamagedRunError(
            f"no checkpoint in {folder} is intact (the last problem: {damaged}). "  # pyright: ignore[reportPossiblyUnboundVariable]
            "Nothing was changed. To run again from the start, with the same result, "
            f"use `substrax run {folder.parent / 'config.toml'} --out NEW_DIRECTORY`."
        )
    return None
