"""Libraries that not everybody has: which are there, and what is said if not."""

import sys

import pytest

from substrax._extra import import_extra, require_extra

ADVICE = r"is missing; install it with: pip install 'substrax\[report\]'"


@pytest.mark.parametrize("ask", [require_extra, import_extra])
def test_a_missing_library_is_told_with_its_extra(ask, tmp_path, monkeypatch):
    with pytest.raises(ImportError, match=f"no_such_library {ADVICE}"):
        ask("no_such_library", "report")
    # as W&B leaves it: a folder of runs, which Python takes for an empty package
    (tmp_path / "folder_of_runs").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=f"folder_of_runs {ADVICE}"):
        ask("folder_of_runs", "report")
    monkeypatch.setitem(sys.modules, "hidden_library", None)
    with pytest.raises(ImportError, match=f"hidden_library {ADVICE}"):
        ask("hidden_library", "report")
    ask("json", "report")


def test_asking_for_a_library_does_not_import_it(tmp_path, monkeypatch):
    (tmp_path / "large_library.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    require_extra("large_library", "report")
    assert "large_library" not in sys.modules
