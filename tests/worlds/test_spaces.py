"""Spaces of environments as rows of numbers, and outputs as actions."""

import json

import gymnasium.spaces as gs
import hypothesis
import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.worlds import (
    Box,
    Discrete,
    Interface,
    batched,
    one_of,
    space_from_document,
    space_of,
)

ONE = Box(np.zeros(1), np.ones(1))
SPACES = st.deferred(
    lambda: st.one_of(
        st.integers(1, 4).map(gs.Discrete),
        st.tuples(st.integers(1, 4), st.integers(-3, 3)).map(
            lambda x: gs.Discrete(x[0], start=x[1])
        ),
        st.lists(st.integers(1, 3), min_size=1, max_size=3).map(gs.MultiDiscrete),
        st.integers(1, 3).map(gs.MultiBinary),
        st.lists(st.integers(1, 3), max_size=3).map(
            lambda shape: gs.Box(-2.0, 3.0, tuple(shape))
        ),
        st.lists(SPACES, min_size=1, max_size=2).map(gs.Tuple),
        st.lists(SPACES, min_size=1, max_size=2).map(
            lambda some: gs.Dict({f"part{k}": s for k, s in enumerate(some)})
        ),
    )
)


@hypothesis.given(SPACES, st.integers(0, 100))
def test_rows_are_those_of_gymnasium(space, seed):
    """gymnasium flattens one observation; an oracle for batches of them."""
    space.seed(seed)
    several = [space.sample() for _ in range(3)]
    ours = space_of(space)
    rows = ours.rows(batched(ours, several))
    expected = [gs.flatten(space, x) for x in several]
    np.testing.assert_array_equal(rows, np.array(expected, rows.dtype).reshape(3, -1))
    assert rows.shape == (3, ours.size) == (3, len(ours.names()))


@hypothesis.given(SPACES, st.integers(0, 100))
def test_actions_are_in_the_space(space, seed):
    rng = np.random.default_rng(seed)
    ours = space_of(space, is_action=True)
    interface = Interface(ONE, ours)
    outputs = rng.normal(0, 3, (3, ours.size)).astype(np.float32)
    actions = interface.actions(outputs)
    in_jax = interface.actions(jnp.asarray(outputs))
    for k in range(3):
        one = one_of(ours, actions, k)
        assert space.contains(_as_announced(space, one)), (space, one)
        flat = [
            np.asarray(gs.flatten(space, x)) for x in (one, one_of(ours, in_jax, k))
        ]
        np.testing.assert_allclose(*flat, rtol=1e-6)


def _as_announced(space, action):
    """gymnasium is strict about dtypes of arrays within compound actions."""
    if isinstance(space, gs.Tuple):
        both = zip(space.spaces, action, strict=True)
        return tuple(_as_announced(*one) for one in both)
    if isinstance(space, gs.Dict):
        return {k: _as_announced(s, action[k]) for k, s in space.spaces.items()}
    return action if isinstance(space, gs.Discrete) else action.astype(space.dtype)


@hypothesis.given(SPACES)
def test_spaces_are_kept_as_json(space):
    ours = space_of(space)
    document = json.loads(json.dumps(ours.to_document()))
    again = space_from_document(document)
    assert again.to_document() == ours.to_document()
    assert again.names() == ours.names()


def test_infinite_bounds_are_kept_as_json():
    box = Box(np.array([-np.inf, 0.0]), np.array([1.0, np.inf]))
    again = space_from_document(json.loads(json.dumps(box.to_document())))
    assert isinstance(again, Box)
    np.testing.assert_array_equal(again.low, box.low)
    np.testing.assert_array_equal(again.high, box.high)


def test_the_largest_output_is_chosen_and_ties_go_to_the_first():
    interface = Interface(ONE, Discrete(3, start=5))
    outputs = np.array([[0, 1, 1], [2, 1, 0]], np.float32)
    assert interface.actions(outputs).tolist() == [6, 5]


def test_noise_of_gumbel_draws_with_the_odds_of_a_softmax():
    interface = Interface(ONE, Discrete(3), choice="sample")
    outputs = np.log(np.array([[0.2, 0.5, 0.3]]))
    noise = np.random.default_rng(0).gumbel(size=(20000, 3))
    drawn = interface.actions(np.tile(outputs, (20000, 1)), noise)
    share = np.bincount(drawn) / 20000
    np.testing.assert_allclose(share, [0.2, 0.5, 0.3], atol=0.015)


def test_tanh_reaches_from_bound_to_bound_and_clip_keeps_units():
    box = Box(np.array([-2.0, 0.0, -np.inf]), np.array([2.0, 1.0, np.inf]))
    outputs = np.array([[0, 0, 7], [50, 50, -7], [-50, -50, 0]], np.float32)
    tanh = Interface(ONE, box).actions(outputs)
    np.testing.assert_allclose(tanh, [[0, 0.5, 7], [2, 1, -7], [-2, 0, 0]])
    clip = Interface(ONE, box, squash="clip").actions(outputs)
    np.testing.assert_allclose(clip, [[0, 0, 7], [2, 1, -7], [-2, 0, 0]])


def test_what_is_hidden_is_not_seen_and_frames_are_behind_each_other():
    interface = Interface(
        Box(np.zeros(3), np.ones(3)), Discrete(2), hidden=(1,), num_frames=2
    )
    rows = [interface.rows(np.array([[k, 10 + k, 20 + k]], float)) for k in range(3)]
    assert [row.tolist() for row in rows] == [[[0, 20]], [[1, 21]], [[2, 22]]]
    frames = interface.frames(None, rows[0])
    assert frames.tolist() == [[0, 20, 0, 20]]
    frames = interface.frames(frames, rows[1])
    assert interface.frames(frames, rows[2]).tolist() == [[1, 21, 2, 22]]
    assert interface.input_names() == ("in0-1", "in2-1", "in0", "in2")


@pytest.mark.parametrize("num_frames", [1, 2, 3])
@pytest.mark.parametrize("shape", [(4,), (5, 6), (4, 4, 3)])
def test_inputs_lie_below_outputs_each_at_a_place_of_its_own(shape, num_frames):
    box = Box(np.zeros(shape), np.full(shape, 255.0))
    interface = Interface(box, Discrete(3), num_frames=num_frames)
    layout = interface.layout()  # which refuses two nodes at one place
    assert len(layout.inputs) == interface.num_inputs
    assert layout.inputs[:, 1].max() <= -0.5 < layout.outputs[:, 1].min()


def test_images_are_planes_with_their_first_row_on_top():
    image = Interface(Box(np.zeros((2, 3)), np.ones((2, 3))), Discrete(2))
    x, y = image.layout().inputs.T
    assert x.tolist() == [-1, 0, 1, -1, 0, 1]
    assert (y[:3] > y[3:]).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"hidden": (3,)}, "hidden has 3"),
        ({"hidden": (0, 1, 2)}, "nothing is left to see"),
        ({"num_frames": 0}, "num_frames"),
        ({"choice": "best"}, "argmax, sample"),
        ({"squash": "sigmoid"}, "tanh, clip"),
    ],
)
def test_what_cannot_be_is_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Interface(Box(np.zeros(3), np.ones(3)), Discrete(2), **settings)


def test_other_spaces_are_refused_by_name():
    with pytest.raises(ValueError, match="kind Text"):
        space_of(gs.Text(3))
