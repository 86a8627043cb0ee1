"""The format safetensors, for arrays as large as the memory.

The package of that name holds a whole file in memory, several times over. The format is
simple: eight bytes with the length of a header, the header in JSON, the arrays.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._memory import forget_pages
from ._types import shown

_TYPES = {
    "F64": np.float64, "I64": np.int64, "U64": np.uint64,
    "F32": np.float32, "I32": np.int32, "U32": np.uint32,
    "I16": np.int16, "U16": np.uint16, "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}
_METADATA, _DIGEST = "__metadata__", "sha256"
_PIECE = 1 << 22


def safetensors_pieces(
    arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> Iterator[bytes | memoryview]:
    """The content of a file, piece by piece. Its metadata have its digest, too."""
    # wide types first, so that each array lies where its type may begin
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, object] = {_METADATA: dict(metadata)}
    end = 0
    for name in order:
        array = arrays[name]
        begin, end = end, end + array.nbytes
        kind = _NAMES[array.dtype]
        shape = list(array.shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    digest = hashlib.sha256(_packed(header))
    for name in order:
        for piece in _pieces(arrays[name]):
            digest.update(piece)
    header[_METADATA] = {**metadata, _DIGEST: digest.hexdigest()}
    text = _packed(header)
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        yield from _pieces(arrays[name])


def _packed(header: Mapping[str, object]) -> bytes:
    return json.dumps(header, separators=(",", ":")).encode()


def _pieces(array: np.ndarray) -> Iterator[memoryview]:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for begin in range(0, data.size, _PIECE):
        yield data[begin : begin + _PIECE].data
        forget_pages(data)


def map_safetensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a file, read when they are looked at, and its metadata.

    The whole file is read once, to compare it with the digest in its metadata.
    """
    if path.stat().st_size < 8:
        raise ValueError("it is no safetensors file, or damaged")
    content = np.memmap(path, np.uint8, "r").view(np.ndarray)
    length = int.from_bytes(content[:8].tobytes(), "little")
    header = _header(content[8 : 8 + length].tobytes())
    metadata = header[_METADATA]
    recorded = metadata.pop(_DIGEST)
    data = content[8 + length :]
    digest = hashlib.sha256(_packed(header))
    for piece in _pieces(data):
        digest.update(piece)
    if digest.hexdigest() != recorded:
        raise ValueError("its checksum is wrong")
    del header[_METADATA]
    arrays = {}
    for name, entry in header.items():
        begin, end, kind, shape = _entry(name, entry)
        if not 0 <= begin <= end <= data.size:
            raise ValueError(f"it ends before {shown(name)} does")
        if end - begin != math.prod(shape) * kind.itemsize:
            raise ValueError(f"{shown(name)} has another size than its shape")
        arrays[name] = data[begin:end].view(kind).reshape(shape)
    return arrays, metadata


def recorded_digest(path: Path) -> str:
    """The digest that a file says of itself, without reading the rest of it."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        # (no more than there is: a damaged file may say any length)
        text = file.read(min(length, path.stat().st_size))
    return _header(text)[_METADATA][_DIGEST]


def _header(text: bytes) -> dict[str, Any]:
    """The header of a file of ours; its metadata are texts, with a digest."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no safetensors file, or damaged") from error
    metadata = header.get(_METADATA) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        raise ValueError("its header is not what a safetensors file of ours has")
    if _DIGEST not in metadata:
        raise ValueError("it has no checksum")
    return header


def _entry(name: str, entry: Any) -> tuple[int, int, np.dtype, list[int]]:
    """Where an array begins and ends, its type and its shape."""
    found: dict[str, Any] = entry if isinstance(entry, dict) else {}
    kind: Any = found.get("dtype")
    shape: Any = found.get("shape")
    offsets: Any = found.get("data_offsets")
    if (
        not (isinstance(kind, str) and kind in _TYPES)
        or not _are_sizes(shape)
        or not _are_sizes(offsets)
        or len(offsets) != 2
    ):
        raise ValueError(f"it does not say what {shown(name)} is")
    return offsets[0], offsets[1], np.dtype(_TYPES[kind]), shape


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and value >= 0 for value in values
    )
