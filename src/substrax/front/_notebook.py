"""What notebooks show: words, and figures beside them."""

import base64
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def beside_figures(figures: "Callable[[], Sequence[Figure]]", words: str) -> str:
    """HTML with figures and words; without matplotlib there are words."""
    try:
        pictures = "".join(f'<img src="{_embedded(figure)}">' for figure in figures())
    except ImportError:
        return words
    style = "display:flex;flex-wrap:wrap;align-items:flex-start;gap:1em"
    return f'<div style="{style}">{pictures}{words}</div>'


def _embedded(figure: "Figure") -> str:
    """A picture that stands in the page itself."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
