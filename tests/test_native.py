"""The native engine as it is found, and what its callers must not be able to change."""

import copy
import dataclasses
import importlib.machinery
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from unittest import mock

import numpy as np
import pytest

from substrax import Resources, _memory, _native, _resources
from substrax.cppn import compile_programs
from substrax.decoders import FixedSubstrate
from substrax.network import Networks, Stepper, checked, evaluate, secured
from substrax.substrate import Layout
from tests.network.support import assert_same_bits, random_networks, samples_for

# ------------------------------------------------------------------ how it is found


@pytest.fixture
def nothing_known() -> Iterator[None]:
    """No engine was looked for yet, and none will be remembered."""
    caches = (
        _native.engine, _native._import, _native._warn_once, _resources._automatic,
    )  # fmt: skip
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.fixture
def broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_known: None
) -> Iterator[str]:
    """The name of a module that was built, and is damaged."""
    name = "substrax_engine_that_is_broken"
    file = tmp_path / f"{name}{importlib.machinery.EXTENSION_SUFFIXES[0]}"
    file.write_bytes(b"not a shared object")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def test_an_engine_that_was_not_built_is_missing(nothing_known: None) -> None:
    with mock.patch.object(_native, "PLAIN", "substrax._engine_of_nobody"):
        assert _native.engine() is None
        with pytest.raises(ValueError, match=r"was not built\. Install a C\+\+ comp"):
            _native.required()


def test_an_engine_that_cannot_be_loaded_is_told_with_the_reason_once(
    broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        mock.patch.object(_native, "PLAIN", broken),
        caplog.at_level(logging.WARNING, _native.__name__),
    ):
        assert _native.engine_or_warning() is None
        assert _native.engine_or_warning() is None
        with pytest.raises(ValueError, match=rf"cannot be loaded \(.*{broken}"):
            _native.required()
    (record,) = caplog.records
    assert "was built, but cannot be loaded (" in record.message
    assert broken in record.message
    assert "evaluated by JAX" in record.message


def test_jax_takes_the_place_of_an_engine_that_cannot_be_loaded(broken: str) -> None:
    networks = random_networks(1, (3,), dtype=np.float32)
    samples = samples_for(networks)
    wanted = evaluate(networks, samples, resources=Resources(engine="device"))
    with mock.patch.object(_native, "PLAIN", broken):
        assert Resources().native is None
        assert_same_bits(evaluate(networks, samples), wanted)


def test_the_plain_engine_takes_the_place_of_a_fast_one_that_cannot_be_loaded(
    broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    plain = ModuleType("substrax_plain")
    plain.__dict__.update(has_fma=lambda: True, MemoryPool=object)
    with (
        mock.patch.object(_native, "FAST", broken),
        mock.patch.dict(sys.modules, {"substrax_plain": plain}),
        mock.patch.object(_native, "PLAIN", "substrax_plain"),
        caplog.at_level(logging.WARNING, _native.__name__),
    ):
        found = _native.engine()
    assert found is not None
    assert found.module is plain
    (record,) = caplog.records
    assert "any processor takes its place" in record.message


def test_a_missing_module_that_an_engine_needs_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_known: None
) -> None:
    (tmp_path / "substrax_engine_in_need.py").write_text("import substrax_nowhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="substrax_nowhere"):
        _native.engine("substrax_engine_in_need")


# -------------------------------------------------------- what was checked stays so


def test_checked_networks_cannot_be_written_to() -> None:
    networks = checked(random_networks(0))
    for name in ("link_source", "node_bounds", "node_activation"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(networks, name)[0] = 10**6


def test_copies_of_checked_networks_are_checked_again() -> None:
    networks = copy.deepcopy(checked(random_networks(0)))
    networks.link_source[0] = 10**6
    with pytest.raises(ValueError, match="link_source names a node"):
        evaluate(networks, samples_for(networks))


def test_networks_whose_arrays_are_written_to_later_are_checked_again() -> None:
    networks = random_networks(0)
    samples = samples_for(networks)
    evaluate(networks, samples)
    networks.link_target[0] = 10**6
    with pytest.raises(ValueError, match="link_target names a node"):
        evaluate(networks, samples)


def test_a_stepper_keeps_networks_as_they_were() -> None:
    networks = random_networks(0, cyclic=True)
    samples = samples_for(networks)
    stepper = Stepper.of(networks)
    _, before = stepper(stepper.start(len(samples)), samples)
    networks.link_source[:] = 10**6
    _, after = stepper(stepper.start(len(samples)), samples)
    assert_same_bits(after, before)


def test_secured_networks_are_not_copied_again() -> None:
    once = secured(random_networks(0))
    assert secured(once) is once


def test_a_layout_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Layout.spread(2, 1).inputs[0, 1] = np.nan


# ------------------------------------------------------------------------------ files


LINKS = ("link_source", "link_target", "link_weight")


def mapped(array: np.ndarray, folder: Path, mode: str) -> np.ndarray:
    """The array in a file, mapped."""
    path = folder / f"{len(list(folder.iterdir()))}.bin"
    array.tofile(path)
    return np.memmap(path, array.dtype, mode, shape=array.shape)  # pyright: ignore[reportCallIssue, reportArgumentType]


@pytest.fixture
def large() -> Networks:
    """More links than a page has, in an order that takes several passes."""
    return random_networks(3, (2000,), dtype=np.float32)


@pytest.mark.parametrize("names", [("link_source", "link_weight"), LINKS])
def test_memory_that_is_no_file_is_never_given_back(
    names: tuple[str, ...], large: Networks, tmp_path: Path
) -> None:
    """Links that are converted, or are partly in memory, are not those of a file."""
    samples = samples_for(large)
    wanted = evaluate(large, samples)
    for dtype in (np.int32, np.int64):
        arrays = {
            name: getattr(large, name).astype(
                large.dtype if name == "link_weight" else dtype
            )
            for name in LINKS
        }
        kept = {name: array.copy() for name, array in arrays.items()}
        held = arrays | {n: mapped(arrays[n], tmp_path, "r") for n in names}
        networks = dataclasses.replace(large, **held)
        for _ in range(2):
            assert_same_bits(evaluate(networks, samples), wanted)
        for name in LINKS:
            assert_same_bits(arrays[name], kept[name])


def test_what_was_written_into_a_private_map_stays(
    large: Networks, tmp_path: Path
) -> None:
    arrays = {n: mapped(getattr(large, n), tmp_path, "c") for n in LINKS}
    arrays["link_weight"][:] = 0.5
    networks = dataclasses.replace(large, **arrays)
    evaluate(networks, samples_for(large))
    assert (arrays["link_weight"] == 0.5).all()
    assert not _memory.is_on_disk(arrays["link_weight"])


def test_arrays_of_different_dtypes_are_joined_on_the_disk(tmp_path: Path) -> None:
    parts = [np.arange(3, dtype=np.int32), np.arange(2, dtype=np.int64) + 2**40]
    whole = _memory.joined(parts, 0, tmp_path)
    np.testing.assert_array_equal(whole, np.concatenate(parts))


# -------------------------------------------------------------------------- sentences


def test_hidden_numbers_are_not_taken_for_checked_ones() -> None:
    """Directly, as tests check types before."""
    networks = random_networks(0)
    source = np.ma.masked_array(networks.link_source, mask=True)
    object.__setattr__(networks, "link_source", source)
    with pytest.raises(ValueError, match="link_source must be a NumPy array"):
        evaluate(networks, samples_for(networks))


def test_ids_that_do_not_fit_32_bits_are_refused() -> None:
    one = {"node_activation": [[0, 0, 1]], "node_bias": np.zeros((1, 3))}
    link = {"link_weight": [[1.0]], "link_enabled": [[True]], "link_source": [[0]]}
    options = {"num_inputs": 1, "num_outputs": 1, "dialect": "plain"}
    with pytest.raises(ValueError, match="ids of nodes are at most"):
        compile_programs(
            node_id=[[0, 1, 2**32 + 5]], link_target=[[1]], **one, **link, **options
        )  # fmt: skip
    with pytest.raises(ValueError, match=r"target is node 4294967298, which is not"):
        compile_programs(
            node_id=[[0, 1, 2]], link_target=[[2**32 + 2]], **one, **link, **options
        )  # fmt: skip


@pytest.mark.parametrize("rank", [-(2**31) - 1, 2**31])
def test_ranks_that_do_not_fit_32_bits_are_refused(rank: int) -> None:
    networks = dataclasses.replace(random_networks(0), is_acyclic=False)
    ranks = networks.node_rank.astype(np.int64)
    largest = ranks.copy()
    largest[-1] = rank - np.sign(rank)
    secured(dataclasses.replace(networks, node_rank=largest))
    ranks[-1] = rank
    with pytest.raises(ValueError, match=f"node_rank runs from .*{rank}.*fit 32 bits"):
        secured(dataclasses.replace(networks, node_rank=ranks))


def test_a_substrate_made_by_hand_is_looked_at() -> None:
    layout, none = Layout.spread(1, 1), np.zeros((0, 2))
    ends, rank = np.array([0]), np.array([0, 1])
    FixedSubstrate(layout, none, ends, ends + 1, rank)
    with pytest.raises(ValueError, match="a link names node 7"):
        FixedSubstrate(layout, none, ends, ends + 7, rank)
    with pytest.raises(ValueError, match=r"rank has shape \(1,\), expected \(2,\)"):
        FixedSubstrate(layout, none, ends, ends + 1, rank[:1])


def test_parts_that_are_not_there_are_refused() -> None:
    networks = random_networks(0)
    for begin, stop in ((-1, 2), (3, 1), (0, 6)):
        with pytest.raises(IndexError, match="among 5"):
            networks.part(begin, stop)
