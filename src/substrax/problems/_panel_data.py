"""Panels of firms over time: generated, or read from a file.

Features are cross-sectional ranks in [-1, 1] and missing values are 0, the middle, as
is usual where machine learning meets asset pricing (Gu, Kelly & Xiu 2020, Empirical
Asset Pricing via Machine Learning, Review of Financial Studies 33(5)).
"""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int

from .._types import shown
from ._table import read_table

MISSING = ("error", "zero", "drop")
_NUM_FACTORS = 5
_MISSING_SHARE = 0.08
_TERM_WEIGHTS = (1.0, 0.75, 0.5)


@dataclasses.dataclass(frozen=True, eq=False)
class PanelData:
    """Rows of a panel, in order of their periods."""

    features: Float[np.ndarray, "rows features"]
    target: Float[np.ndarray, " rows"]
    """0 or 1."""
    period: Int[np.ndarray, " rows"]
    """The number of the row's period, from 0."""
    feature_names: tuple[str, ...]

    @property
    def num_periods(self) -> int:
        return int(self.period[-1]) + 1

    def is_test(self, test_share: float) -> Bool[np.ndarray, " rows"]:
        """Rows of the last periods, `test_share` of all periods and at least one."""
        num_test = max(1, round(test_share * self.num_periods))
        if num_test >= self.num_periods:
            raise ValueError(
                f"a split by time needs periods to learn from and periods to test on; "
                f"there are {self.num_periods}, and test_share is {test_share}."
            )
        return self.period >= self.num_periods - num_test


def centred_ranks(
    values: Float[np.ndarray, "rows columns"],
) -> Float[np.ndarray, "rows columns"]:
    """Ranks of each column in (-1, 1), their middle at 0; NaN becomes 0.

    The m values that are there get (2 i + 1) / m - 1, i = 0 ... m - 1; equal ones share
    their mean rank.
    """
    result = np.zeros(values.shape)
    for k, column in enumerate(values.T):
        there = np.flatnonzero(~np.isnan(column))
        unique, inverse, counts = np.unique(
            column[there], return_inverse=True, return_counts=True
        )
        if unique.size:
            # The mean of the ranks, from 0, that equal values have together.
            middle = np.cumsum(counts) - (counts + 1) / 2
            result[there, k] = (2 * middle[inverse] + 1) / there.size - 1
    return result


def _standardise(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / x.std()


def _signal(u: Float[np.ndarray, "firms features"]) -> Float[np.ndarray, " firms"]:
    """What next period's return owes to the ranks of the first five features."""
    terms = (
        u[:, 0] * u[:, 1],
        np.sign(u[:, 2]) * u[:, 3] ** 2,
        np.sin(np.pi * u[:, 4]),
    )
    weighted = [
        w * _standardise(term) for w, term in zip(_TERM_WEIGHTS, terms, strict=True)
    ]
    return _standardise(sum(weighted, np.zeros(len(u))))


def generate_panel(
    *,
    num_rows: int = 94_464,
    num_features: int = 20,
    num_periods: int = 40,
    ic: float = 0.3,
    seed: int = 0,
) -> PanelData:
    """A synthetic panel of firms, to stand in for CRSP/Compustat, which is proprietary.

    - Each feature of a firm is an AR(1) process with its own persistence, 0.6 to 0.98,
      plus the firm's exposure to five common factors that are Student-t with 4 degrees
      of freedom.
    - The next period's return is `ic` times a signal plus noise (Student-t, 3 degrees
      of freedom), scaled so that `ic`, the information coefficient, is the correlation
      of the two. The signal is 1 : 0.75 : 0.5 of `u0 * u1`, `sign(u2) * u3^2` and
      `sin(pi * u4)`, each standardised, u being ranks in (-1, 1) within the period. The
      other features mean nothing.
    - The target is 1 if the return is above the median of its period.
    - 8 % of the features are missing at random. What is left is ranked within its
      period; a missing value becomes 0.

    Periods are of equal size, the first ones larger by one if need be.
    """
    if num_features < 5:
        raise ValueError(f"num_features must be 5 or more, not {num_features}.")
    if not 0 <= ic < 1:
        raise ValueError(f"ic is a correlation in [0, 1), not {ic}.")
    if num_periods < 1 or num_rows < 10 * num_periods:
        raise ValueError(
            f"a panel needs 10 rows or more in each period; {num_rows} rows are too "
            f"few for {num_periods} periods."
        )
    # The order of the draws makes the panel: it must not change.
    rng = np.random.default_rng(seed)
    sizes = np.full(num_periods, num_rows // num_periods)
    sizes[: num_rows % num_periods] += 1
    num_firms = int(sizes[0])
    persistence = rng.permutation(np.linspace(0.6, 0.98, num_features))
    exposure = rng.normal(size=(num_firms, _NUM_FACTORS))
    mixture = rng.normal(scale=0.3, size=(_NUM_FACTORS, num_features))
    # Student's t of n degrees has the variance n / (n - 2).
    factors = rng.standard_t(4, (num_periods, _NUM_FACTORS)) / np.sqrt(2)
    own = rng.normal(size=(num_firms, num_features))
    features, target = [], []
    for size, factor in zip(sizes, factors, strict=True):
        shock = rng.normal(size=own.shape)
        # The variance stays 1, whatever the persistence.
        own = persistence * own + np.sqrt(1 - persistence**2) * shock
        raw = (own + (exposure * factor) @ mixture)[:size]
        noise = rng.standard_t(3, size) / np.sqrt(3)
        returns = ic * _signal(centred_ranks(raw)) + np.sqrt(1 - ic**2) * noise
        # After the returns: they owe to features that networks do not see.
        raw[rng.uniform(size=raw.shape) < _MISSING_SHARE] = np.nan
        features.append(centred_ranks(raw))
        target.append(returns > np.median(returns))
    return PanelData(
        features=np.concatenate(features),
        target=np.concatenate(target).astype(np.float64),
        period=np.repeat(np.arange(num_periods), sizes),
        feature_names=tuple(f"u{k}" for k in range(num_features)),
    )


def read_panel(
    path: str | Path,
    *,
    target: str = "target",
    period: str = "period",
    features: Sequence[str] | None = None,
    missing: str = "error",
    is_ranked: bool = True,
    has_returns: bool = False,
) -> PanelData:
    """A panel of your own, from a CSV file (with a header) or a Parquet file.

    **Arguments:**

    - `path`: the file; its name ends in .csv or .parquet (which needs
      `pip install 'substrax[parquet]'`).
    - `target`: the column with what is to be predicted, 0 or 1.
    - `period`: the column with the time: numbers, or text that sorts, like 2024-03-31.
    - `features`: the columns to learn from, which must be numbers; left out, all
      others. A column of names or dates is left out by naming the rest.
    - `missing`: what to do where a value is missing (empty, NA, NaN, null): `error`
      names the first; `zero` puts 0 for features, the middle of ranks, and still
      refuses a missing target or period; `drop` leaves out rows that lack anything.
    - `is_ranked`: whether features are replaced by their ranks within the period, in
      (-1, 1); without, give features of a similar scale yourself.
    - `has_returns`: whether the target is a number instead; then the question is if it
      lies above the median of its period.
    """
    if missing not in MISSING:
        raise ValueError(
            f"unknown policy {shown(missing)} for missing values: use one of "
            f"{', '.join(MISSING)}."
        )
    table = read_table(
        path,
        text=(period,),
        wanted=(target, period, *(features or ())),
        has_others=features is None,
    )
    names = tuple(
        features
        if features is not None
        else (n for n in table if n not in (target, period))
    )
    if not names:
        raise ValueError(
            f"{path} has no column besides {shown(target)} and {shown(period)}."
        )
    for name in names:
        if name in (target, period):
            raise ValueError(f"column {shown(name)} cannot be a feature as well.")
    columns = np.column_stack([table[name] for name in names])
    goal, when = table[target], table[period]
    lacks = {
        "features": np.isnan(columns).any(axis=1),
        target: np.isnan(goal),
        period: when == "",
    }
    if missing == "drop":
        keep = ~np.logical_or.reduce(list(lacks.values()))
        columns, goal, when = columns[keep], goal[keep], when[keep]
        if not len(goal):
            raise ValueError(f"every row of {path} lacks a value; none is left.")
    else:
        _refuse_missing(path, columns, names, lacks, target, period, missing)
    number = _period_numbers(when)
    order = np.argsort(number, kind="stable")
    # Within a period rows stay in the order of the file.
    columns, goal, number = columns[order], goal[order], number[order]
    starts = np.searchsorted(number, np.arange(number[-1] + 2))
    for begin, stop in itertools.pairwise(starts):
        if is_ranked:
            columns[begin:stop] = centred_ranks(columns[begin:stop])
        if has_returns:
            goal[begin:stop] = goal[begin:stop] > np.median(goal[begin:stop])
    if not np.isin(goal, (0.0, 1.0)).all():
        value = goal[~np.isin(goal, (0.0, 1.0))][0]
        raise ValueError(
            f"column {shown(target)} of {path} holds {value:g}; a target is 0 or 1. "
            "For returns, set has_returns=True: the question is then whether they are "
            "above their period's median."
        )
    return PanelData(np.nan_to_num(columns, nan=0.0), goal, number, names)


def _refuse_missing(
    path: str | Path,
    columns: np.ndarray,
    names: tuple[str, ...],
    lacks: dict[str, np.ndarray],
    target: str,
    period: str,
    missing: str,
) -> None:
    for name in (target, period):
        if lacks[name].any():
            raise ValueError(
                f"row {np.flatnonzero(lacks[name])[0] + 1} of {path} has no "
                f"{shown(name)}. Set missing='drop' to leave out such rows."
            )
    if missing == "error" and lacks["features"].any():
        row, column = np.argwhere(np.isnan(columns))[0]
        raise ValueError(
            f"row {row + 1} of {path} has no {names[column]!r}. Set missing='zero' to "
            "put the middle there, or missing='drop' to leave out such rows."
        )


def _period_numbers(when: np.ndarray) -> Int[np.ndarray, " rows"]:
    """Periods numbered from 0: by size if all are numbers, else as text."""
    try:
        # As numbers, 9 comes before 10.
        keys = when.astype(np.float64)
    except ValueError:
        keys = when
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)
