"""Checks of settings, and what a sentence shows of a value."""

import dataclasses

import pytest

from substrax._types import brief, check_finite, check_settings, check_whole, shown


def plain(**fields: type) -> type:
    """A dataclass without a check of its own, nor of types: users have none."""
    return dataclasses.make_dataclass("Plain", list(fields.items()))


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (int, True, "it must be a whole number, not True"),
        (int, 3.0, "it must be a whole number, not 3.0"),
        (int, (), r"it must be a whole number, not \(\)"),
        (float, [0.5], r"it must be a number between .*, not \[0.5\]"),
        (int, 2**31, r"between -2\^31 and 2\^31 - 1, not 2147483648"),
        (int, 10**5000, "not a number of more than 4300 digits"),
        (float, float("inf"), "it must be a number between -1e37 and 1e37, not inf"),
        (float, float("nan"), "not nan"),
        (float, 1e38, r"not 1e\+38"),
        (float, 10**400, "not 1000"),
        (float, False, "not False"),
        (float, "1", "not '1'"),
        (bool, 1, "it must be true or false, not 1"),
        (str, b"x", "it must be a text, not b'x'"),
        (str, None, "it must be a text, not None"),
        (tuple[str, ...], "sigmoid", "it must be a tuple, not 'sigmoid'"),
        (tuple[str, ...], ("a", 3), "it must be a text, not 3"),
        (int | None, "none", "it must be a whole number, not 'none'"),
    ],
    ids=lambda value: shown(value),
)
def test_a_field_is_what_its_annotation_says(kind, value, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        check_settings(plain(it=kind)(value))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, 2**31 - 1),
        (float, 3),
        (float, -1e37),
        (int | None, None),
        (float | None, 0.5),
        (tuple[str, ...] | None, ("a",)),
        (str, ""),
        (list[int], "whatever"),
        (int | float, "whatever"),
    ],
)
def test_what_is_right_or_not_plain_is_left_alone(kind, value) -> None:
    check_settings(plain(it=kind)(value))


@pytest.mark.parametrize(
    "value", ["x" * 10**6, [["x" * 10**6] * 100] * 100, 10**9999], ids=type
)
def test_a_sentence_shows_little_of_a_large_value(value) -> None:
    assert len(shown(value)) <= 200
    for check in (check_whole, check_finite):
        with pytest.raises(ValueError, match="it must") as caught:
            check(it=value)
        assert len(str(caught.value)) < 300


def test_a_text_is_made_one_line() -> None:
    assert brief("one\n  two.") == "one two"
    assert brief("x" * 500) == "x" * 197 + "..."
