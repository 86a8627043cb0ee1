"""A table of your own, from a CSV or Parquet file."""

import dataclasses
import functools
import hashlib
from typing import ClassVar

import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import check_settings, chosen, shown
from ..network import Networks
from ..substrate import Layout
from ._arrays import ArrayProblem
from ._base import AbstractProblem, TracedFitness, check_positive
from ._data import TooManyTextsError, data_problem
from ._held_back import check_test_share
from ._preparation import Preparation
from ._table import SEPARATORS, no_column, read_columns


@dataclasses.dataclass(frozen=True)
class Table(AbstractProblem):
    """A table of your own, a CSV or Parquet file: predict one column from the others.

    Columns of numbers are scaled to mean 0 and deviation 1, a column of text becomes a
    column of 0s and 1s for each of its labels, and there is a bias. If the answers are
    text, or only a few different whole numbers, they are labels, and networks have an
    output for each (one for two); otherwise they are numbers. Some rows are held back
    as a test.

    **Fitness** on the other rows is 1 minus the mean squared error; of numbers, in
    units of their variance, so that always answering with their mean gives 0.

    **Solved**: never, unless you set `target`. Compare `measures`: those of the rows
    held back begin with `test_`.

    **Coordinates**: columns and bias evenly along the lower edge, in the order of the
    file; outputs along the upper edge.

    **Arguments:**

    - `path`: the file. The first line of a CSV names the columns.
    - `target_column`: the column to predict; left out, the last one.
    - `feature_columns`: what to predict it from; left out, all others.
    - `is_classification`: whether the answers are labels, if that is not plain to see.
    - `missing`: `error`, or `drop` rows in which a value is missing.
    - `test_share`: the share of the rows that is held back: 0 for none; left out, a
      fifth, or none of fewer than 20 rows. Each label has its share.
    - `split_seed`: other seeds hold back other rows.
    - `samples_per_generation`, `chunk_size`: as in `ArrayProblem`.
    - `separator`: what stands between the fields of a CSV: one character, or `tab`;
      left out, a comma, or what separates the names in the first line.
    """

    path: str = ""
    target_column: str = ""
    feature_columns: tuple[str, ...] | None = None
    is_classification: bool | None = None
    missing: str = chosen("error", ("error", "drop"))
    test_share: float | None = None
    split_seed: int = 0
    samples_per_generation: int | None = None
    chunk_size: int = 16_384
    separator: str | None = None

    name: ClassVar[str] = "table"
    target: ClassVar[float] = float("inf")
    is_separable: ClassVar[bool | None] = True

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.path:
            raise ValueError(
                'say which table: path = "data.csv" (--path data.csv), a CSV or '
                "Parquet file, and target_column if it is not the last."
            )
        mark = self._mark
        if mark is not None and (len(mark) != 1 or mark in '"\r\n'):
            raise ValueError(
                f"separator is {shown(self.separator)}; give one character, such as "
                "';', or tab."
            )
        check_test_share(self.test_share)
        check_positive("chunk_size", self.chunk_size)
        if self.samples_per_generation is not None:
            check_positive("samples_per_generation", self.samples_per_generation)

    @property
    def _mark(self) -> str | None:
        return "\t" if self.separator in ("tab", "\\t") else self.separator

    @property
    def data(self) -> ArrayProblem:
        """Its rows, read when first asked for."""
        return self._read[0]

    @property
    def num_left_out(self) -> int:
        return self._read[1]

    @functools.cached_property
    def _read(self) -> tuple[ArrayProblem, int]:
        """The rows that are used, and how many are not."""
        columns = read_columns(self.path, self._mark)
        answer = self.target_column or list(columns)[-1]
        names = self.feature_columns
        if names is None:
            names = tuple(name for name in columns if name != answer)
        for name in (answer, *names):
            if name not in columns:
                raise ValueError(no_column(self.path, name, list(columns)))
        if not names:
            *most, last = SEPARATORS.values()
            marks = f"{', '.join(most)} and {last} were looked for as separators"
            if self.separator is not None:
                marks = f"{shown(self.separator)} should separate fields"
            raise ValueError(
                f"{self.path} has no column besides {shown(answer)} to learn from. In "
                f"a CSV file, {marks}; the setting separator names another character."
            )
        if answer in names:
            raise ValueError(
                f"{shown(answer)} is to be predicted, so it cannot be one of "
                "feature_columns."
            )
        used = {name: columns[name] for name in (answer, *names)}
        kept = self._kept(used)
        X = np.array([used[name][kept] for name in names], object).T
        if all(used[name].dtype.kind == "f" for name in names):
            X = X.astype(np.float64)
        y = _as_whole(used[answer][kept])
        if self.is_classification and y.dtype.kind == "f":
            y = y.astype(str)
        try:
            data = data_problem(
                X,
                y,
                test_share=self.test_share,
                split_seed=self.split_seed,
                is_classification=self.is_classification,
                feature_names=names,
                target_names=(answer,),
                samples_per_generation=self.samples_per_generation,
                chunk_size=self.chunk_size,
                name=self.name,
            )
        except TooManyTextsError as error:
            raise ValueError(
                f"column {error.called} of {self.path} holds {error.found}. Name the "
                "columns to learn from without it (feature_columns, --feature-columns "
                "a,b,c), or turn it into numbers."
            ) from None
        return data, int((~kept).sum())

    def _kept(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Which rows are used."""
        is_missing = {
            name: np.isnan(column) if column.dtype.kind == "f" else column == ""
            for name, column in columns.items()
        }
        if self.missing == "drop":
            kept = ~np.any(list(is_missing.values()), axis=0)
            if not kept.any():
                raise ValueError(f"every row of {self.path} lacks some value.")
            return kept
        for name, column in is_missing.items():
            if column.any():
                row, num = int(np.flatnonzero(column)[0]) + 1, int(column.sum())
                lacking = (
                    f"row {row} of {self.path} has no {shown(name)}"
                    if num == 1
                    else f"{num} rows of {self.path} have no {shown(name)}; the first "
                    f"of them is row {row}"
                )
                raise ValueError(
                    f'{lacking}. Fill it in, leave out such rows (missing = "drop", '
                    "--missing drop), or name the columns to learn from without it "
                    "(feature_columns, --feature-columns a,b,c)."
                )
        return np.ones(len(next(iter(columns.values()))), bool)

    @property
    def layout(self) -> Layout:
        return self.data.layout

    @property
    def suggested(self) -> dict[str, object]:
        return self.data.suggested

    @property
    def preparation(self) -> Preparation:
        return self.data.preparation

    def data_digest(self) -> dict[str, str]:
        digest = hashlib.sha256()
        for array in (self.data.inputs, self.data.targets):
            digest.update(np.ascontiguousarray(array).tobytes())
        return {"data": digest.hexdigest()[:32]}

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        return self.data.fitness(networks, key=key, resources=resources)

    def traced(self) -> TracedFitness | None:
        return self.data.traced()

    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        return self.data.samples()

    def test_samples(self) -> tuple[np.ndarray, np.ndarray] | None:
        return self.data.test_samples()

    def measures(self, network: Networks) -> dict[str, float]:
        return self.data.measures(network)


def _as_whole(answers: np.ndarray) -> np.ndarray:
    """Files do not tell whole numbers from others."""
    if answers.dtype.kind != "f":
        return answers
    # Beyond 2^53 floats are whole numbers by nature, infinity among them.
    is_whole = (answers == np.round(answers)) & (np.abs(answers) < 2.0**53)
    return answers.astype(np.int64) if is_whole.all() else answers
