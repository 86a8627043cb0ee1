"""How a data set was understood, in a sentence for whoever gave it."""

from .._types import counted, shown
from ._base import AbstractProblem

_MOST_LABELS = 6


def data_in_words(problem: AbstractProblem) -> str | None:
    """Rows, columns, and what is to be answered; None where nobody gave any data.

    Tables of logic functions and the like have samples as well, but are not scaled.
    """
    prepared, samples = problem.preparation, problem.samples()
    if samples is None or prepared.shift is None:
        return None
    inputs, targets = samples
    test = problem.test_samples()
    parts = [_rows(len(inputs), 0 if test is None else len(test[0]))]
    if problem.num_left_out:
        parts.append(f"{problem.num_left_out:,} left out, as a value is missing")
    num_columns = prepared.num_columns(inputs.shape[1])
    parts.append(counted(num_columns, "column"))
    names = prepared.target_names or ()
    called = ", ".join(map(shown, names)) if len(names) == 1 else "the answers"
    if prepared.classes is not None:
        labels = [shown(label) for label in prepared.classes[:_MOST_LABELS]]
        more = len(prepared.classes) - len(labels)
        rest = f" and {more} more" if more else ""
        what = f"{called} as labels: {', '.join(labels)}{rest}"
    else:
        shift, scale = prepared.output_shift, prepared.output_scale
        what = f"{called} as {'numbers' if targets.shape[1] > 1 else 'a number'}"
        if shift is not None and scale is not None and targets.shape[1] == 1:
            what += f", mean {shift[0]:.4g}, deviation {scale[0]:.4g}"
    return f"{', '.join(parts)}; {what}"


def _rows(num_learnt: int, num_test: int) -> str:
    total = num_learnt + num_test
    if not num_test:
        return f"{total:,} rows, none held back"
    return f"{total:,} rows, of them {num_test:,} held back as a test"
