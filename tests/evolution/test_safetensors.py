"""Arrays as large as the memory, in a format that others read."""

import hashlib
import json

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from substrax._safetensors import map_safetensors, safetensors_pieces

KINDS = st.sampled_from(["<f8", "<f4", "<i8", "<i4", "|u1", "|b1"])
ARRAYS = st.dictionaries(
    st.sampled_from(["a", "b.c", "ä", "d"]),
    KINDS.flatmap(
        lambda kind: arrays_of.arrays(
            kind, arrays_of.array_shapes(min_dims=1, min_side=0)
        )
    ),
)


@given(ARRAYS, st.text())
@settings(max_examples=30)
def test_it_is_read_by_the_package_and_by_us(tmp_path_factory, arrays, text) -> None:
    path = tmp_path_factory.mktemp("arrays") / "file"
    path.write_bytes(b"".join(safetensors_pieces(arrays, {"note": text})))
    for found in (safetensors.numpy.load_file(path), map_safetensors(path)[0]):
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            assert found[name].shape == array.shape
            assert found[name].tobytes() == array.tobytes()
    assert map_safetensors(path)[1] == {"note": text}
    with safetensors.safe_open(path, "numpy") as file:
        metadata = file.metadata()
        assert metadata.pop("sha256")
        assert metadata == {"note": text}


def test_arrays_are_read_when_they_are_looked_at(tmp_path) -> None:
    array = np.arange(3_000_000)
    pieces = list(safetensors_pieces({"a": array}, {}))
    assert max(map(len, pieces)) <= 1 << 22 < array.nbytes
    path = tmp_path / "file"
    path.write_bytes(b"".join(pieces))
    found = map_safetensors(path)[0]["a"]
    np.testing.assert_array_equal(found, array)
    assert not found.flags.writeable


def test_a_flipped_bit_is_noticed(tmp_path) -> None:
    arrays = {"a": np.arange(5.0), "b": np.arange(3, dtype=np.int32)}
    content = b"".join(safetensors_pieces(arrays, {"note": "x"}))
    path = tmp_path / "file"
    for place in range(8 * len(content)):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            found, metadata = map_safetensors(path)
        except (ValueError, KeyError, TypeError, AttributeError, MemoryError):
            continue
        # the same in other words, such as another case of an escaped letter
        assert metadata == {"note": "x"}, place
        for name, array in arrays.items():
            assert found[name].tobytes() == array.tobytes()


def test_what_contradicts_itself_is_refused(tmp_path) -> None:
    path = tmp_path / "file"

    def write(entry: dict, data: bytes) -> None:
        header: dict = {"__metadata__": {}, "a": entry}
        digest = hashlib.sha256(json.dumps(header, separators=(",", ":")).encode())
        digest.update(data)
        header["__metadata__"] = {"sha256": digest.hexdigest()}
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + data)

    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    write(entry, b"01234567")
    assert map_safetensors(path)[0]["a"].shape == (2,)
    write(entry, b"0123456")
    with pytest.raises(ValueError, match="ends before 'a' does"):
        map_safetensors(path)
    write(entry | {"shape": [3]}, b"01234567")
    with pytest.raises(ValueError, match="another size"):
        map_safetensors(path)


@pytest.mark.parametrize(
    "header",
    [
        {"__metadata__": 3},
        {"__metadata__": [1]},
        {"__metadata__": {"sha256": 3}},
        {"__metadata__": {"sha256": None, "substrax": {}}},
        {"__metadata__": {}},
        {},
        [],
        3,
        None,
        "text",
    ],
)
def test_headers_that_are_something_else_are_refused_in_words(tmp_path, header) -> None:
    path = tmp_path / "file"
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(ValueError, match=r"^it (is no|has no)|^its header is not"):
        map_safetensors(path)


@pytest.mark.parametrize(
    "entry",
    [
        3,
        [],
        {},
        {"dtype": "F33", "shape": [2], "data_offsets": [0, 8]},
        {"dtype": ["F32"], "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": 2, "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2], "data_offsets": [0]},
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 8, 9]},
        {"dtype": "F32", "shape": [2], "data_offsets": [False, "8"]},
    ],
)
def test_entries_that_are_something_else_are_refused_in_words(tmp_path, entry) -> None:
    path, data = tmp_path / "file", b"01234567"
    header: dict = {"__metadata__": {}, "a": entry}
    digest = hashlib.sha256(json.dumps(header, separators=(",", ":")).encode() + data)
    header["__metadata__"] = {"sha256": digest.hexdigest()}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    with pytest.raises(ValueError, match="does not say what 'a' is"):
        map_safetensors(path)
