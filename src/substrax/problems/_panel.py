"""The firm panel: 94,464 rows of 20 features, or a panel of your own."""

import dataclasses
import functools
import hashlib
from typing import ClassVar

import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import check_settings, shown
from ..network import Networks
from ..substrate import Layout
from ._arrays import check_samples
from ._base import AbstractProblem, check_networks, check_positive, check_single
from ._loss import auc, draw_samples, mean_loss, scores_of, squared
from ._panel_data import PanelData, generate_panel, read_panel
from ._preparation import Preparation

SCORES = ("auc", "squared")


@dataclasses.dataclass(frozen=True)
class Panel(AbstractProblem):
    """Will a firm's next return be above the median? A large, noisy data set.

    The paper behind EMR-HyperNEAT was timed on CRSP/Compustat (94,464 observations),
    which is proprietary and of which it discloses neither features nor split. This is a
    synthetic panel of the same length, described at `generate_panel`: 94,464 rows, 20
    features, 40 periods. The last 20 % of the periods are held back as a test.

    Inputs are a row's features, ranks in (-1, 1), and a bias of 1; the only output
    scores how likely the answer is yes.

    **Fitness** on the training periods is the area under the ROC curve (`score="auc"`),
    which asks only for the right order of firms, or 1 minus the mean squared error
    (`score="squared"`), which asks for probabilities.

    **Solved**: never; there is noise. The target is 1, so that runs end by their
    generations. Compare `measures`: `test_auc`, `train_auc`, `test_squared_loss`. With
    `ic=0.3`, logistic regression has a test AUC of 0.587 and gradient boosting
    (scikit-learn's defaults) 0.670; 0.5 is chance.

    **Coordinates**: features and bias evenly along the lower edge, from (-1, -1) to
    (1, -1); the output at (0, 1).

    **Arguments:**

    - `ic`, `seed`, `num_rows`, `num_features`, `num_periods`: of the generated panel.
    - `path`: a CSV or Parquet file of your own instead, with `target_column`,
      `period_column`, `feature_columns` (left out, all others), `missing`, `is_ranked`
      and `has_returns` as in `read_panel`.
    - `test_share`: the share of periods held back, the last ones.
    - `score`: `auc` or `squared`.
    - `samples_per_generation`: judge each generation by that many rows, drawn by its
      key; left out, by all.
    - `chunk_size`: rows evaluated at a time; changes memory, and no bit of a result.
    """

    ic: float = 0.3
    seed: int = 0
    num_rows: int = 94_464
    num_features: int = 20
    num_periods: int = 40
    path: str | None = None
    target_column: str = "target"
    period_column: str = "period"
    feature_columns: tuple[str, ...] | None = None
    missing: str = "error"
    is_ranked: bool = True
    has_returns: bool = False
    test_share: float = 0.2
    score: str = "auc"
    samples_per_generation: int | None = None
    chunk_size: int = 16_384

    name: ClassVar[str] = "panel"
    target: ClassVar[float] = 1.0
    is_separable: ClassVar[bool | None] = True
    suggested: ClassVar[dict[str, object]] = {"output_activation": "sigmoid"}
    preparation: ClassVar[Preparation] = Preparation(has_bias=True)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.score not in SCORES:
            raise ValueError(
                f"unknown score {shown(self.score)}: use one of {', '.join(SCORES)}."
            )
        if not 0 < self.test_share < 1:
            raise ValueError(f"test_share must be in (0, 1), not {self.test_share}.")
        check_positive("chunk_size", self.chunk_size)
        if self.samples_per_generation is not None:
            check_positive("samples_per_generation", self.samples_per_generation)

    @functools.cached_property
    def data(self) -> PanelData:
        """All rows, made or read when first asked for."""
        data = self._all_rows()
        # What cannot be split, or drawn from, is said at once.
        num_train = int((~data.is_test(self.test_share)).sum())
        check_samples(self.samples_per_generation, num_train)
        return data

    def _all_rows(self) -> PanelData:
        if self.path is None:
            return generate_panel(
                num_rows=self.num_rows,
                num_features=self.num_features,
                num_periods=self.num_periods,
                ic=self.ic,
                seed=self.seed,
            )
        return read_panel(
            self.path,
            target=self.target_column,
            period=self.period_column,
            features=self.feature_columns,
            missing=self.missing,
            is_ranked=self.is_ranked,
            has_returns=self.has_returns,
        )

    def data_digest(self) -> dict[str, str]:
        if self.path is None:
            # What is generated follows from the settings, which a run knows anyway.
            return {}
        digest = hashlib.sha256()
        for array in (self.data.features, self.data.target, self.data.period):
            digest.update(np.ascontiguousarray(array).tobytes())
        return {"data": digest.hexdigest()[:32]}

    @functools.cached_property
    def layout(self) -> Layout:
        # A layout is asked for long before the rows, which take a while to generate.
        num = self.num_features if self.path is None else self.data.features.shape[1]
        return Layout.spread(num + 1, 1)

    @functools.cached_property
    def train(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (with the bias) and labels of the earlier periods."""
        return self._part(False)

    @functools.cached_property
    def test(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (with the bias) and labels of the periods held back."""
        return self._part(True)

    def _part(self, is_test: bool) -> tuple[np.ndarray, np.ndarray]:
        rows = self.data.is_test(self.test_share) == is_test
        features = self.data.features[rows]
        return np.column_stack([features, np.ones(len(features))]), (
            self.data.target[rows]
        )

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        check_networks(self, networks)
        inputs, labels = self.train
        if self.samples_per_generation is not None:
            some = draw_samples(key, self.samples_per_generation, len(inputs))
            inputs, labels = inputs[some], labels[some]
        if self.score == "squared":
            return 1.0 - mean_loss(
                networks, inputs, labels[:, None], squared, self.chunk_size, resources
            )
        return self._auc(networks, inputs, labels, resources)

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        inputs, labels = self.test
        loss = mean_loss(network, inputs, labels[:, None], squared, self.chunk_size)
        return {
            "test_auc": float(self._auc(network, inputs, labels)[0]),
            "train_auc": float(self._auc(network, *self.train)[0]),
            "test_squared_loss": float(loss[0]),
        }

    def _auc(
        self,
        networks: Networks,
        inputs: np.ndarray,
        labels: np.ndarray,
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        result = np.empty(len(networks))
        some = scores_of(networks, inputs, self.chunk_size, resources)
        for begin, scores in some:
            for k, of_one in enumerate(scores):
                result[begin + k] = auc(of_one, labels)
        return result
