"""The data of a run: what is in them, and how well they are answered."""

from collections.abc import Iterator

from .._types import counted
from ..problems import Preparation
from ._answers import MAX_PANELS, MAX_POINTS, Answers, explained, plot_answers
from ._figures import Picture
from ._html import card, columns, escape, facts, named_rows, note, paragraph
from ._run import Run


def data_pictures(run: Run) -> Iterator[Picture]:
    """Answers over targets, where they are numbers."""
    answers = run.answers
    if answers is None:
        return
    names = run.preparation.output_names(answers.targets.shape[1])
    figure = plot_answers(answers, names)
    if figure is None:
        return
    rows, num = int(answers.is_finite.sum()), len(names)
    shares = [
        explained(
            answers.targets[answers.is_finite, k], answers.outputs[answers.is_finite, k]
        )
        for k in range(num)
    ]
    caption = (
        f"What the best network answers, over the target, for {_which(answers)}. On "
        "the line, both are the same. R\u00b2, the share of the variance that is "
        f"explained: {', '.join(f'{share:.3g}' for share in shares[:MAX_PANELS])}."
    )
    if rows > MAX_POINTS:
        caption += f" Drawn are {MAX_POINTS} of {rows} rows."
    if num > MAX_PANELS:
        caption += f" Drawn are the first {MAX_PANELS} of {num} outputs."
    yield Picture(
        "answers",
        "data",
        "Answers and targets",
        caption,
        f"Scatter plot of {rows} rows: answers of the best network over targets, for "
        f"{', '.join(names[:MAX_PANELS])}.",
        figure,
    )


def _which(answers: Answers) -> str:
    if answers.is_test:
        return "the rows of the test, which evolution did not see"
    return "the training rows, as there is no test"


def data_section(run: Run, shown: list[str]) -> str:
    """The content of the part about the data; empty if there is none."""
    answers = run.answers
    if answers is None or run.problem is None:
        return ""
    samples, test = run.problem.samples(), run.problem.test_samples()
    num_train = 0 if samples is None else len(samples[0])
    num_test = 0 if test is None else len(test[0])
    left_out = run.problem.num_left_out
    boxes = [
        ("Rows", str(num_train + num_test + left_out), ""),
        ("Training", str(num_train), "rows that fitness is computed on"),
        ("Test", str(num_test), "rows held back from evolution" if num_test else ""),
    ]
    if left_out:
        boxes.append(("Left out", str(left_out), "rows with a missing value"))
    parts = []
    num_bad = int((~answers.is_finite).sum())
    if num_bad:
        text = f"the best network's outputs are not finite for {num_bad} rows."
        parts.append(note("No answer:", text))
    cards = [*shown]
    if answers.classes is not None:
        cards.append(_confusion(answers))
    cards.append(_columns(run.preparation, run.problem.num_inputs))
    return facts(boxes) + "".join(parts) + columns(filter(None, cards))


def _confusion(answers: Answers) -> str:
    assert answers.classes is not None
    counts = answers.confusion()
    has_undecided = bool(counts[:, -1].any())
    names = [str(label) for label in answers.classes]
    rows = []
    for k, line in enumerate(counts.tolist()):
        share = line[k] / sum(line) if sum(line) else None
        cells = line if has_undecided else line[:-1]
        rows.append((names[k], [*cells, "none" if share is None else f"{share:.0%}"]))
    text = (
        f"Of {_which(answers)}. A row for each class, a column for each answer of the "
        "best network; recall is the share of a class that is answered rightly."
    )
    if has_undecided:
        text += " Undecided: the largest outputs are equal, or the only one is 0.5."
    extra = ["undecided"] if has_undecided else []
    table = named_rows("class", [*names, *extra, "recall"], rows, has_diagonal=True)
    return card("Confusion matrix", paragraph(text) + table)


def _columns(preparation: Preparation, num_inputs: int) -> str:
    """What columns there are, and which inputs they become."""
    categories, first = preparation.categories, 0
    num_columns = preparation.num_columns(num_inputs)
    names = preparation.feature_names
    if names is None and categories is None and preparation.shift is None:
        return ""
    rows = []
    for k in range(num_columns):
        labels = () if categories is None else categories[k]
        last = first + max(len(labels), 1) - 1
        rows.append(
            (
                str(k) if names is None else names[k],
                [
                    str(first) if first == last else f"{first} to {last}",
                    ", ".join(labels) or _scale(preparation, first),
                ],
            )
        )
        first = last + 1
    if preparation.has_bias:
        rows.append(("bias", [str(first), "always 1"]))
    table = named_rows("column", ("input", "values"), rows)
    is_long = len(rows) > 20
    title = counted(num_columns, "column")
    return card(
        "Columns",
        f"<details{'' if is_long else ' open'}><summary>{escape(title)}</summary>"
        f"{table}</details>",
    )


def _scale(preparation: Preparation, number: int) -> str:
    """How a column of numbers is scaled."""
    shift, scale = preparation.shift, preparation.scale
    if shift is None or scale is None:
        return "numbers, as they are"
    return f"mean {shift[number]:.4g}, deviation {scale[number]:.4g}"
