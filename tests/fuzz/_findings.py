"""A finding as a test that fails until it is mended."""

import traceback
from pathlib import Path

FOLDER = Path(__file__).parent / "findings"

_TEMPLATE = '''"""Found by `make fuzz SEED={seed}`: target {target}, case {number}.

{told}
"""

from tests.fuzz import replay


def test_{target}_{seed}_{number}() -> None:
    replay({target!r}, {seed}, {number})
'''


def write_finding(target: str, seed: int, number: int, error: BaseException) -> Path:
    """Writes the test, with what was raised and what was handed over."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"test_{target}_{seed}_{number}.py"
    told = "".join(traceback.format_exception(error))[-12_000:]
    # As a docstring: nothing of it may end it, or be taken for an escape.
    told = told.encode("ascii", "backslashreplace").decode()
    told = told.replace("\\", "/").replace('"""', "'''")
    text = _TEMPLATE.format(target=target, seed=seed, number=number, told=told.strip())
    path.write_text(text, encoding="utf-8")
    return path
