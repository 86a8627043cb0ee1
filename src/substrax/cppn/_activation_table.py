"""The table of activation functions: all that is known of each, in one place.

The same name means different functions to different programs: PUREPLES and everything
else that stands on neat-python scales its arguments (`tanh(2.5 z)`, `sin(5 z)`,
`exp(-5 z^2)`, `sigmoid(5 z)`) and clips them, while the EMR-HyperNEAT paper and most
other code uses the plain functions. The choice changes evolved patterns by a lot, so a
dialect is always named.

**A new activation** takes these steps; tests fail until all are done:

1. An entry at the end of `ACTIVATIONS`. Genomes and files hold its position, so entries
   are never moved or removed.
2. For the native engine, in `src/native`: the same name at the end of the enumeration
   of `activation.hpp`, with `num_activations` and the function; its bounds in
   `interval.hpp`.
3. The function as the tests see it, in `tests/reference/cppn.py`; where it turns, in
   `tests/reference/interval.py`; a row in `docs/cppn.md`.
4. `tests/golden/record.py` records what it answers.
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from . import _functions as fn
from . import _interval as interval

Function = Callable[[Float[Array, "..."]], Float[Array, "..."]]
OnnxStep = tuple[str | float, ...]
"""An operator of ONNX and its inputs: a number is a constant, "z" the argument of the
activation, "y" what the step before gave. Operators of opset 13, without attributes."""

NEAT_PYTHON, PLAIN = "neat-python", "plain"
DIALECTS: tuple[str, ...] = (NEAT_PYTHON, PLAIN)
"""What names of activation functions may mean: the formulas of neat-python, or the
textbook's."""
Dialect = str
"""One of `DIALECTS`; checked where it is given, with a message for people."""

_TINY = float(np.finfo(np.float32).tiny)


@dataclasses.dataclass(frozen=True)
class Form:
    """An activation in one dialect.

    `derivative` is a function of the same argument as `function`; at a kink it is the
    derivative of one of the two sides, or 0. `bound` encloses what the kernel answers.
    `onnx` is the function as steps of ONNX, in float32.
    """

    function: Function
    derivative: Function
    bound: interval.Bound
    onnx: tuple[OnnxStep, ...]


@dataclasses.dataclass(frozen=True)
class Activation:
    """An activation: its name, which the native engine has too, and what it computes.

    `neat_python` is None where both dialects agree.
    """

    name: str
    plain: Form
    neat_python: Form | None = None
    alias: str | None = None

    def form(self, dialect: Dialect) -> Form:
        if dialect == NEAT_PYTHON and self.neat_python is not None:
            return self.neat_python
        return self.plain


ACTIVATIONS: tuple[Activation, ...] = (
    Activation(
        "identity",
        Form(
            function=lambda z: z,
            derivative=jnp.ones_like,
            bound=lambda z, precision: z,
            onnx=(("Identity", "z"),),
        ),
        alias="linear",
    ),
    Activation(
        "tanh",
        plain=Form(
            function=fn.tanh,
            derivative=lambda z: 1.0 - fn.tanh(z) * fn.tanh(z),
            bound=interval.increasing(np.tanh),
            onnx=(("Tanh", "z"),),
        ),
        neat_python=Form(
            function=lambda z: fn.tanh(fn.clip(z * 2.5, 60.0)),
            derivative=lambda z: 2.5 - 2.5 * fn.tanh(z * 2.5) * fn.tanh(z * 2.5),
            bound=interval.increasing_of(np.tanh, 2.5, 60.0),
            onnx=(("Mul", "z", 2.5), ("Clip", "y", -60.0, 60.0), ("Tanh", "y")),
        ),
    ),
    Activation(
        "sigmoid",
        plain=Form(
            function=fn.logistic,
            derivative=fn.logistic_slope,
            bound=interval.increasing(interval.logistic),
            onnx=(("Sigmoid", "z"),),
        ),
        neat_python=Form(
            function=lambda z: fn.logistic(fn.clip(z * 5.0, 60.0)),
            derivative=lambda z: fn.inside(z, 12.0, 5.0 * fn.logistic_slope(z * 5.0)),
            bound=interval.increasing_of(interval.logistic, 5.0, 60.0),
            onnx=(("Mul", "z", 5.0), ("Clip", "y", -60.0, 60.0), ("Sigmoid", "y")),
        ),
    ),
    Activation(
        "sin",
        plain=Form(
            function=lambda z: fn.sine(z, 1.0, quarter=False),
            derivative=lambda z: fn.sine(z, 1.0, quarter=True),
            bound=interval.sine,
            onnx=(("Sin", "z"),),
        ),
        neat_python=Form(
            # The clip to +-60 is on the argument 5 z, hence +-12 on z.
            function=lambda z: fn.sine(fn.clip(z, 12.0), 5.0, quarter=False),
            derivative=lambda z: fn.inside(
                z, 12.0, 5.0 * fn.sine(z, 5.0, quarter=True)
            ),
            bound=lambda z, precision: interval.sine(
                interval.clipped(z, 12.0, precision), precision, 5.0
            ),
            onnx=(("Mul", "z", 5.0), ("Clip", "y", -60.0, 60.0), ("Sin", "y")),
        ),
        alias="sine",
    ),
    Activation(
        "gauss",
        plain=Form(
            function=lambda z: jnp.exp(-(z * z)),
            derivative=lambda z: -2.0 * z * jnp.exp(-(z * z)),
            bound=interval.gauss,
            onnx=(("Mul", "z", "z"), ("Neg", "y"), ("Exp", "y")),
        ),
        neat_python=Form(
            function=lambda z: jnp.exp(fn.clip(z, 3.4) * fn.clip(z, 3.4) * -5.0),
            derivative=lambda z: fn.inside(z, 3.4, -10.0 * z * jnp.exp(z * z * -5.0)),
            bound=lambda z, precision: interval.gauss(
                interval.clipped(z, 3.4, precision), precision, 5.0
            ),
            onnx=(
                ("Clip", "z", -3.4, 3.4),
                ("Mul", "y", "y"),
                ("Mul", "y", -5.0),
                ("Exp", "y"),
            ),
        ),
        alias="gaussian",
    ),
    Activation(
        "abs",
        Form(
            function=jnp.abs,
            derivative=jnp.sign,
            bound=lambda z, precision: interval.magnitude(z),
            onnx=(("Abs", "z"),),
        ),
    ),
    Activation(
        "square",
        Form(
            function=lambda z: z * z,
            derivative=lambda z: 2.0 * z,
            bound=interval.square,
            onnx=(("Mul", "z", "z"),),
        ),
    ),
    Activation(
        "cube",
        Form(
            function=lambda z: z * z * z,
            derivative=lambda z: 3.0 * z * z,
            bound=interval.increasing(lambda z: z * z * z),
            onnx=(("Mul", "z", "z"), ("Mul", "y", "z")),
        ),
    ),
    Activation(
        "step",
        Form(
            function=lambda z: fn.where_above(z, 0.0, 1.0, 0.0),
            derivative=jnp.zeros_like,
            bound=interval.step,
            onnx=(("Sign", "z"), ("Relu", "y")),
        ),
    ),
    Activation(
        "relu",
        Form(
            function=lambda z: jnp.maximum(z, fn.constant(z, 0.0)),
            derivative=lambda z: fn.where_above(z, 0.0, 1.0, 0.0),
            bound=interval.relu,
            onnx=(("Relu", "z"),),
        ),
    ),
    Activation(
        "cos",
        plain=Form(
            function=lambda z: fn.sine(z, 1.0, quarter=True),
            derivative=lambda z: -fn.sine(z, 1.0, quarter=False),
            bound=lambda z, precision: interval.sine(z, precision, quarter=True),
            onnx=(("Cos", "z"),),
        ),
        neat_python=Form(
            function=lambda z: fn.sine(fn.clip(z, 12.0), 5.0, quarter=True),
            derivative=lambda z: fn.inside(
                z, 12.0, -5.0 * fn.sine(z, 5.0, quarter=False)
            ),
            bound=lambda z, precision: interval.sine(
                interval.clipped(z, 12.0, precision), precision, 5.0, quarter=True
            ),
            onnx=(("Mul", "z", 5.0), ("Clip", "y", -60.0, 60.0), ("Cos", "y")),
        ),
    ),
    Activation(
        "exp",
        plain=Form(
            # Beyond 60 only a float32 exponential of an exponential could follow.
            function=lambda z: jnp.exp(jnp.minimum(z, fn.constant(z, 60.0))),
            derivative=lambda z: jnp.where(
                z < 60.0, jnp.exp(jnp.minimum(z, 60.0)), fn.constant(z, 0.0)
            ),
            bound=interval.increasing(lambda z: np.exp(np.minimum(z, 60.0))),
            onnx=(("Min", "z", 60.0), ("Exp", "y")),
        ),
        neat_python=Form(
            function=lambda z: jnp.exp(fn.clip(z, 60.0)),
            derivative=lambda z: fn.inside(z, 60.0, jnp.exp(fn.clip(z, 60.0))),
            bound=interval.increasing_of(np.exp, 1.0, 60.0),
            onnx=(("Clip", "z", -60.0, 60.0), ("Exp", "y")),
        ),
    ),
    Activation(
        "log",
        Form(
            function=lambda z: jnp.log(jnp.maximum(z, fn.constant(z, 1e-7))),
            derivative=lambda z: jnp.where(
                z > 1e-7, fn.inverse(z), fn.constant(z, 0.0)
            ),
            bound=interval.logarithm,
            onnx=(("Max", "z", 1e-7), ("Log", "y")),
        ),
    ),
    Activation(
        "inv",
        Form(
            function=fn.inverse,
            derivative=lambda z: -fn.inverse(z) * fn.inverse(z),
            bound=interval.inverse,
            onnx=(
                ("Abs", "z"),
                ("Greater", "y", _TINY),
                ("Where", "y", "z", np.inf),
                ("Reciprocal", "y"),
            ),
        ),
    ),
    Activation(
        "clamped",
        Form(
            function=lambda z: fn.clip(z, 1.0),
            derivative=lambda z: fn.inside(z, 1.0, jnp.ones_like(z)),
            bound=interval.clamped,
            onnx=(("Clip", "z", -1.0, 1.0),),
        ),
    ),
    Activation(
        "hat",
        Form(
            function=lambda z: jnp.maximum(
                fn.constant(z, 0.0), fn.constant(z, 1.0) - jnp.abs(z)
            ),
            derivative=lambda z: fn.inside(z, 1.0, -jnp.sign(z)),
            bound=interval.hat,
            onnx=(("Abs", "z"), ("Sub", 1.0, "y"), ("Relu", "y")),
        ),
    ),
    Activation(
        "softplus",
        plain=Form(
            function=lambda z: jax.nn.softplus(z),
            derivative=fn.logistic,
            bound=interval.increasing(interval.softplus),
            onnx=(("Softplus", "z"),),
        ),
        neat_python=Form(
            function=lambda z: jnp.log1p(jnp.exp(fn.clip(z * 5.0, 60.0))) * 0.2,
            derivative=lambda z: fn.inside(z, 12.0, fn.logistic(z * 5.0)),
            bound=interval.increasing_of(
                lambda z: interval.softplus(z) * 0.2, 5.0, 60.0
            ),
            onnx=(
                ("Mul", "z", 5.0),
                ("Clip", "y", -60.0, 60.0),
                ("Softplus", "y"),
                ("Mul", "y", 0.2),
            ),
        ),
    ),
    Activation(
        "elu",
        Form(
            function=fn.exponential_linear,
            derivative=lambda z: jnp.exp(jnp.minimum(z, 0.0)),
            bound=interval.increasing(interval.elu),
            onnx=(("Elu", "z"),),
        ),
    ),
    Activation(
        "selu",
        Form(
            function=fn.scaled_exponential_linear,
            derivative=lambda z: jnp.where(
                z > 0,
                fn.constant(z, fn.SELU_SCALE),
                fn.SELU_SCALE * fn.SELU_ALPHA * jnp.exp(jnp.minimum(z, 0.0)),
            ),
            bound=interval.increasing(interval.selu),
            onnx=(("Selu", "z"),),
        ),
    ),
    Activation(
        "lelu",
        Form(
            function=lambda z: fn.where_positive(z, z * fn.constant(z, fn.LELU_SLOPE)),
            derivative=lambda z: fn.where_above(z, 0.0, 1.0, fn.LELU_SLOPE),
            bound=interval.increasing(interval.lelu),
            onnx=(("PRelu", "z", fn.LELU_SLOPE),),
        ),
    ),
)
