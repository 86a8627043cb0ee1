"""What problems that are environments have in common, on the host and in JAX."""

import abc
import copy
import dataclasses
import functools
import logging
import math
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    runtime_checkable,
)

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import as_number, check_settings, chosen, shown
from ..network import Networks, Stepper
from ..substrate import Layout
from ..worlds import (
    CHOICES,
    SQUASHES,
    AbstractSpace,
    Interface,
    Seen,
    Statistics,
    batched,
    one_of,
)
from ._base import (
    AbstractProblem,
    Evaluation,
    check_choice,
    check_networks,
    check_positive,
    check_single,
)
from ._preparation import Preparation

NORMALISATIONS = ("bounds", "running", "none")
LIMIT = 10.0
"""Standard deviations beyond which a normalised number goes on as if it were there."""
_log = logging.getLogger("substrax")


class Facts(NamedTuple):
    """What an environment says about itself."""

    observation: AbstractSpace
    action: AbstractSpace
    max_steps: int | None
    threshold: float | None
    """The mean return that counts as solved, if anybody has said that."""
    layout: Layout | None = None
    """Where it says that inputs and outputs lie."""


class Episodes(NamedTuple):
    """What became of the episodes of each network."""

    returns: Float[np.ndarray, "networks episodes"]
    lengths: Float[np.ndarray, "networks episodes"]
    seen: Seen | None
    """If observations are normalised by what they have been so far."""
    is_world_finite: np.ndarray
    """Whether no reward and no observation was NaN or infinite, for each network."""
    is_finite: np.ndarray
    """Whether no output was."""


@runtime_checkable
class Live(Protocol):
    """One environment that can be watched."""

    def reset(self, seed: int) -> Any:
        """Begins an episode; the first observation."""
        ...

    def step(self, action: Any) -> tuple[Any, float, bool]:
        """The next observation, the reward, and whether the episode is over."""
        ...

    def picture(self) -> np.ndarray | None:
        """What it looks like now, (height, width, 3); None if nobody can draw it."""
        ...

    def close(self) -> None: ...


class Watched(NamedTuple):
    """One episode, to be looked at. The last observation has no action."""

    rows: Float[np.ndarray, "steps seen"]
    """What was seen."""
    inputs: Float[np.ndarray, "steps inputs"]
    """What the network was given."""
    outputs: Float[np.ndarray, "steps outputs"]
    rewards: Float[np.ndarray, " steps"]
    pictures: list[np.ndarray]
    """One for each step; empty if nobody can draw them."""


@dataclasses.dataclass(frozen=True, eq=False)
class WorldProblem(AbstractProblem):
    """Networks act in an environment; their fitness is the mean return of some
    episodes.

    All networks of a generation play the same episodes, each generation other ones.
    **Solved** is the environment's own threshold, where there is one.

    **Coordinates** are those that the environment names, or else those of its spaces:
    numbers lie along the lower edge, images are planes of pixels above it, and outputs
    lie along the upper edge.

    **Arguments:**

    - `env`: the environment's name.
    - `env_args`: arguments of the environment, as `name=value`.
    - `episodes`: for each network and generation.
    - `max_steps`: of an episode; left out, the environment's own limit.
    - `normalise`: `bounds` scales observations by their bounds, where they have some;
      `running` by mean and standard deviation of all that was seen before this
      generation; `none` leaves them as they are.
    - `hidden`: numbers of an observation that networks do not see.
    - `num_frames`: how many of the last observations are seen at once.
    - `action_repeat`: for how many steps an action is kept.
    - `choice`: of several actions, `argmax` takes the one with the largest output,
      `sample` draws one.
    - `squash`: numbers between two bounds are `tanh` of an output, scaled, or the
      output, clipped (`clip`).
    - `test_episodes`: fresh ones, the same for everybody, for `measures`.
    - `input_points`, `output_points`: coordinates x1, y1, x2, y2, ... in [-1, 1], if
      not those of the environment, or of its spaces.
    """

    env: str = ""
    env_args: tuple[str, ...] = ()
    episodes: int = 5
    max_steps: int | None = None
    normalise: str = chosen("bounds", NORMALISATIONS)
    hidden: tuple[int, ...] = ()
    num_frames: int = 1
    action_repeat: int = 1
    choice: str = chosen("argmax", CHOICES)
    squash: str = chosen("tanh", SQUASHES)
    test_episodes: int = 100
    input_points: tuple[float, ...] = ()
    output_points: tuple[float, ...] = ()
    scaling: tuple[np.ndarray, np.ndarray] | None = dataclasses.field(
        default=None, repr=False, init=False
    )
    """Of each number, what is taken off and what the rest is divided by, if that is not
    the same all the time: what `after` and `prepared` set."""

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.env:
            raise ValueError(
                f"env is missing: say which environment of {self.name}, by --env NAME "
                "or env='NAME'."
            )
        for name in ("episodes", "num_frames", "action_repeat", "test_episodes"):
            check_positive(name, getattr(self, name))
        if self.max_steps is not None:
            check_positive("max_steps", self.max_steps)
        check_choice("normalise", self.normalise, NORMALISATIONS)
        self.interface  # noqa: B018 (whatever is wrong is said now)
        self.steps  # noqa: B018

    has_window: ClassVar[bool] = False
    """Whether episodes can be watched in a window."""

    @functools.cached_property
    @abc.abstractmethod
    def facts(self) -> Facts:
        """What the environment says about itself. It is made for that."""

    @abc.abstractmethod
    def play(
        self,
        networks: Networks,
        num_episodes: int,
        key: Key[Array, ""],
        resources: Resources | None,
    ) -> Episodes:
        """Lets each network play the same episodes."""

    @abc.abstractmethod
    def live(self, mode: str | None) -> Live:
        """An environment to be watched: `rgb_array` draws pictures, `human` opens a
        window, None does neither."""

    def watch(
        self, network: Networks, *, seed: int = 0, mode: str | None = "rgb_array"
    ) -> Watched:
        """One episode of one network, step by step."""
        check_single(self, network)
        space, dtype = self.interface.observation, network.dtype
        stepper, draws = Stepper.of(network), np.random.default_rng([seed, 1])
        memory, frames = stepper.start(batch=1), None
        kept: dict[str, list[Any]] = {name: [] for name in Watched._fields}
        live = self.live(mode)
        try:
            seen, is_over, time = live.reset(seed), False, 0
            while not is_over and time < self.steps:
                row = self.interface.rows(batched(space, [seen])).astype(dtype)
                frames = self.interface.frames(frames, row)
                inputs = self.preparation.inputs(frames)
                memory, outputs = stepper(memory, inputs[None])
                noise = None
                if self.interface.is_random:
                    noise = draws.gumbel(size=outputs[0].shape).astype(dtype)
                actions = self.interface.actions(outputs[0], noise)
                action = one_of(self.interface.action, actions, 0)
                total = 0.0
                if mode == "rgb_array" and (picture := live.picture()) is not None:
                    kept["pictures"].append(picture)
                for _ in range(self.action_repeat):
                    seen, reward, is_over = live.step(action)
                    total, time = total + reward, time + 1
                    if is_over or time >= self.steps:
                        break
                values = {"rows": row[0], "inputs": inputs[0], "outputs": outputs[0, 0]}
                for name, value in (values | {"rewards": total}).items():
                    kept[name].append(value)
        finally:
            live.close()
        pictures = kept.pop("pictures")
        arrays = {name: np.array(values) for name, values in kept.items()}
        return Watched(**arrays, pictures=pictures)

    @property
    def arguments(self) -> dict[str, Any]:
        """`env_args` by name."""
        return dict(map(_argument, self.env_args))

    @functools.cached_property
    def interface(self) -> Interface:
        """Between the environment and a network."""
        facts = self.facts
        return Interface(
            facts.observation,
            facts.action,
            tuple(self.hidden),
            self.num_frames,
            self.choice,
            self.squash,
        )

    @functools.cached_property
    def steps(self) -> int:
        """The most steps of an episode."""
        own = self.facts.max_steps
        if self.max_steps is None and own is None:
            raise ValueError(
                f"{self.env} has no limit of steps, so that an episode might never "
                "end. Give max_steps, for example 1000."
            )
        return min(filter(None, (self.max_steps, own)))

    @functools.cached_property
    def layout(self) -> Layout:
        named = self.facts.layout or self.interface.layout()
        inputs, outputs = (
            np.reshape(own, (-1, 2)) if own and len(own) % 2 == 0 else own or points
            for own, points in (
                (self.input_points, named.inputs),
                (self.output_points, named.outputs),
            )
        )
        layout = Layout(inputs, outputs)
        has = (len(layout.inputs), len(layout.outputs))
        wants = (self.interface.num_inputs, self.interface.num_outputs)
        if has != wants:
            raise ValueError(
                f"{self.env} needs coordinates of {wants[0]} inputs and {wants[1]} "
                f"outputs, but there are {has[0]} and {has[1]}."
            )
        return layout

    @functools.cached_property
    def target(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        threshold = self.facts.threshold
        return math.inf if threshold is None else threshold

    @functools.cached_property
    def preparation(self) -> Preparation:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How observations are scaled, for networks of this generation."""
        shift, scale = self.scales
        is_plain = not shift.any() and (scale == 1).all()
        return Preparation(
            shift=None if is_plain else shift,
            scale=None if is_plain else scale,
            limit=LIMIT if self.normalise == "running" else None,
            feature_names=self.interface.input_names(),
            interface=self.interface,
        )

    @property
    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        """What is taken off each input, and what the rest is divided by."""
        num = len(self.interface.visible)
        shift, scale = np.zeros(num), np.ones(num)
        if self.scaling is not None:
            shift, scale = self.scaling
        elif self.normalise == "bounds":
            shift, scale = self.interface.bounds
        return np.tile(shift, self.num_frames), np.tile(scale, self.num_frames)

    def first_statistics(self) -> Statistics | None:
        if self.normalise != "running":
            return None
        return Statistics.nothing(len(self.interface.visible))

    def after(self, statistics: Statistics) -> "WorldProblem":
        return self._scaled(statistics.mean, statistics.spread)

    def prepared(self, preparation: Preparation) -> "WorldProblem":
        shift, scale = preparation.shift, preparation.scale
        if self.normalise != "running" or shift is None or scale is None:
            return self
        num = len(self.interface.visible)
        return self._scaled(shift[:num], scale[:num])

    def _scaled(self, shift: np.ndarray, scale: np.ndarray) -> "WorldProblem":
        # With all that was made already, of which nothing depends on it but this.
        made = copy.copy(self)
        vars(made).pop("preparation", None)
        object.__setattr__(made, "scaling", (shift, scale))
        return made

    def evaluate(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Evaluation:
        check_networks(self, networks)
        if not len(networks):
            return Evaluation(np.zeros(0), None)
        return self.evaluation_of(self.play(networks, self.episodes, key, resources))

    def evaluation_of(self, played: Episodes) -> Evaluation:
        """What is known of networks by their episodes."""
        num_steps = np.asarray(played.lengths, np.float64).sum(axis=1)
        return Evaluation(self.judged(played), played.seen, num_steps)

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        return self.evaluate(networks, key=key, resources=resources).fitness

    def judged(self, played: Episodes) -> Float[np.ndarray, " networks"]:
        """The mean return of each network; NaN where something was not finite."""
        is_sound = np.asarray(played.is_world_finite, bool)
        if not is_sound.all():
            _log.warning(
                "%s gave an observation or a reward that is NaN or infinite to %d of "
                "%d networks, which count as failed.",
                self.env,
                (~is_sound).sum(),
                len(is_sound),
            )
        is_good = is_sound & np.asarray(played.is_finite, bool)
        returns = np.where(is_good[:, None], played.returns, np.nan)
        return returns.astype(np.float64).mean(axis=1)

    def measures(self, network: Networks) -> dict[str, float]:
        """Returns of fresh episodes."""
        check_single(self, network)
        played = self.play(network, self.test_episodes, jax.random.key(0), None)
        returns = np.asarray(played.returns, np.float64)[0]
        return {
            "test_return": float(returns.mean()),
            "test_spread": float(returns.std()),
            "test_worst": float(returns.min()),
            "test_steps": float(np.asarray(played.lengths, np.float64)[0].mean()),
        }


def _argument(text: str) -> tuple[str, Any]:
    """`continuous=true` as a name and a value of Python."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise ValueError(
            f"env_args has {shown(text)}; each of them must be name=value, for example "
            "continuous=true."
        )
    value = value.strip()
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return name.strip(), words[value.lower()]
    number = as_number(float(value)) if _is_number(value) else math.nan
    if math.isnan(number):
        return name.strip(), value
    return name.strip(), int(value) if value.lstrip("+-").isdigit() else number


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
