"""What comes from a run is text, whatever it looks like."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from substrax.report import _html
from substrax.report._figures import Picture
from substrax.report._style import new_figure

HOSTILE = """<script>alert("1")</script> & 'more' <b title="x">"""


class Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.values: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.values += [value for _, value in attrs if value]

    def handle_data(self, data) -> None:
        self.text += data


def picture(folder: Path) -> str:
    (folder / "a.svg").write_text("<svg/>")
    item = Picture("name", "part", HOSTILE, HOSTILE, HOSTILE, new_figure(1.0, 1.0))
    return _html.picture(item, [folder / "a.svg"])


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: _html.paragraph(HOSTILE),
        lambda folder: _html.note(HOSTILE, HOSTILE),
        lambda folder: _html.facts([(HOSTILE, HOSTILE, HOSTILE)]),
        lambda folder: _html.pairs([(HOSTILE, HOSTILE)], HOSTILE),
        lambda folder: _html.numbers([HOSTILE], [[HOSTILE]], HOSTILE),
        lambda folder: _html.named_rows(HOSTILE, [HOSTILE], [(HOSTILE, [HOSTILE])]),
        lambda folder: _html.code(HOSTILE),
        lambda folder: _html.card(HOSTILE, ""),
        picture,
        lambda folder: _html.page(
            title=HOSTILE,
            header="",
            sections=[("name", HOSTILE, "")],
        ),
    ],
)
def test_what_looks_like_html_is_text(tmp_path: Path, make) -> None:
    text = make(tmp_path)
    # the page has a script of its own
    assert text.count("<script") == text.count("<!doctype")
    found = Reader(text)
    assert "b" not in found.tags
    assert HOSTILE in found.text or HOSTILE in found.values
    assert all(HOSTILE in value or "<" not in value for value in found.values)


@pytest.mark.parametrize(
    ("is_matrix", "num_marked"), [({}, 0), ({"has_diagonal": True}, 2)]
)
def test_only_of_a_matrix_the_diagonal_stands_out(is_matrix, num_marked):
    rows = [("a", [1, 2]), ("b", [3, 4])]
    table = _html.named_rows("", ["a", "b"], rows, **is_matrix)
    marked = [f'<td class="number same">{n}</td>' in table for n in (1, 2, 3, 4)]
    assert marked == [bool(num_marked), False, False, bool(num_marked)]


def test_only_numbers_are_aligned_as_numbers():
    table = _html.numbers(["node", "bias"], [["a", "0.5"]], "", num_texts=1)
    assert '<th scope="col">node</th><th scope="col" class="number">bias</th>' in table
    assert '<td>a</td><td class="number">0.5</td>' in table
