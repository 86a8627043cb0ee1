"""`seeds.json`: which runs in a folder belong together."""

import json
from pathlib import Path

import pytest

from substrax.runs import (
    FACTS,
    SEEDS,
    check_directory,
    note_seeds,
    read_seeds,
    sealed,
    unsealed,
)


def begun(folder: Path, *seeds: int) -> None:
    """As runs that have begun."""
    for seed in seeds:
        (folder / f"seed{seed}").mkdir(parents=True)
        (folder / f"seed{seed}" / FACTS).write_text("{}")


def test_seeds_are_noted_with_their_folders_and_a_seal(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    note_seeds(folder, [3, 1])
    assert unsealed((folder / SEEDS).read_bytes())["runs"] == [
        {"seed": 1, "folder": "seed1"},
        {"seed": 3, "folder": "seed3"},
    ]
    assert [p.name for p in folder.iterdir()] == [SEEDS]
    assert read_seeds(folder) == {1: folder / "seed1", 3: folder / "seed3"}
    before = (folder / SEEDS).stat()
    note_seeds(folder, [3])
    assert (folder / SEEDS).stat().st_mtime_ns == before.st_mtime_ns
    note_seeds(folder, [-2, 3])
    assert list(read_seeds(folder) or ()) == [-2, 1, 3]


def test_folders_without_a_list_and_seeds_of_other_machines_are_found(
    tmp_path: Path,
) -> None:
    begun(tmp_path, 10, 2)
    (tmp_path / "seed5").mkdir()  # not begun
    (tmp_path / "seed007").mkdir()
    (tmp_path / "seed007" / FACTS).write_text("{}")  # nothing of ours
    (tmp_path / "seeds").write_text("mine")
    assert list(read_seeds(tmp_path) or ()) == [2, 10]
    note_seeds(tmp_path, [2, 3])
    assert list(read_seeds(tmp_path) or ()) == [2, 3, 10]


def test_what_is_no_such_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for name in ("file", "empty", "nowhere"):
        assert read_seeds(tmp_path / name) is None
    begun(tmp_path, 0)
    assert read_seeds(tmp_path / "seed0") is None  # a run
    with pytest.raises(ValueError, match=r"already holds a run\. Choose another"):
        note_seeds(tmp_path / "seed0", [1])
    with pytest.raises(ValueError, match=r"several seeds: name one of them.*seed0"):
        check_directory(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        json.dumps({"format": "substrax-seeds", "version": 1, "runs": []}),
        sealed({"format": "substrax-seeds", "version": 2, "runs": []}),
        sealed({"format": "substrax-seeds", "version": 1, "runs": ["seed0"]}),
        sealed(
            {
                "format": "substrax-seeds",
                "version": 1,
                "runs": [{"seed": 0, "folder": "../seed0"}],
            }
        ),
    ],
)
def test_a_damaged_list_is_told_with_what_to_do(tmp_path: Path, text: str) -> None:
    begun(tmp_path, 0)
    (tmp_path / SEEDS).write_text(text)
    for read in (read_seeds, lambda path: note_seeds(path, [1])):
        with pytest.raises(ValueError, match=r"seeds\.json cannot be used.*Delete it"):
            read(tmp_path)
    (tmp_path / SEEDS).unlink()
    assert list(read_seeds(tmp_path) or ()) == [0]


def test_a_list_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / SEEDS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="is a symbolic link"):
        note_seeds(tmp_path / "runs", [0])
    assert (tmp_path / "elsewhere").read_text() == "mine"
