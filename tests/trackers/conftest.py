"""Nothing is sent anywhere: no curves, and nothing about who uses a library."""

import pytest

SETTINGS = {
    "WANDB_MODE": "offline",
    "WANDB_ERROR_REPORTING": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


@pytest.fixture(autouse=True)
def stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
