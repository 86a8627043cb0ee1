"""One small run, evolved once, and its report."""

from pathlib import Path

import pytest

from substrax.config import Experiment
from substrax.report import write_report
from tests.report.support import EVOLVED


@pytest.fixture(scope="session")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run of three generations."""
    path = tmp_path_factory.mktemp("report") / "run"
    Experiment.from_toml(EVOLVED).evolve(directory=path)
    return path


@pytest.fixture(scope="session")
def page(evolved: Path) -> Path:
    """Its report."""
    return write_report(evolved)
