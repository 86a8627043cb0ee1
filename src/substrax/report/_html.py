"""Pieces of HTML. Everything that comes from a run is escaped here."""

import base64
import html
import importlib.resources
from collections.abc import Iterable, Sequence
from pathlib import Path

from ._figures import Picture
from ._style import COLUMN


def escape(value: object) -> str:
    return html.escape(str(value), quote=True)


def paragraph(text: str, kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return f"<p{mark}>{escape(text)}</p>"


def note(title: str, text: str) -> str:
    """A box for what the reader must not miss."""
    return (
        f'<div class="note" role="note"><p><strong>{escape(title)}</strong> '
        f"{escape(text)}</p></div>"
    )


def facts(items: Iterable[tuple[str, str, str]]) -> str:
    """Boxes of a name, a value, and something small below it."""
    boxes = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}"
        + (f"<small>{escape(small)}</small>" if small else "")
        + "</dd></div>"
        for name, value, small in items
    )
    return f'<dl class="facts">{boxes}</dl>'


def pairs(rows: Iterable[tuple[str, object]], caption: str = "") -> str:
    """A table of names and values."""
    head = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{head}<tbody>{body}</tbody></table>"


def numbers(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    caption: str,
    *,
    num_texts: int = 0,
) -> str:
    """A table of numbers, in which the first columns may be texts."""
    kind = lambda k: "" if k < num_texts else ' class="number"'
    columns = "".join(
        f'<th scope="col"{kind(k)}>{escape(h)}</th>' for k, h in enumerate(head)
    )
    head_line = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind(k)}>{escape(v)}</td>" for k, v in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return (
        f"<table>{head_line}"
        f"<thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"
    )


def named_rows(
    corner: str,
    head: Sequence[str],
    rows: Iterable[tuple[str, Sequence[object]]],
    caption: str = "",
    *,
    has_diagonal: bool = False,
) -> str:
    """A table with a name for each row; of a matrix, the diagonal stands out."""
    first = f'<th scope="col">{escape(corner)}</th>'
    names = "".join(f'<th scope="col" class="number">{escape(h)}</th>' for h in head)
    kind = lambda k, line: "number same" if has_diagonal and k == line else "number"
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(
            f'<td class="{kind(k, line)}">{escape(value)}</td>'
            for k, value in enumerate(values)
        )
        + "</tr>"
        for line, (name, values) in enumerate(rows)
    )
    head_line = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f"<table>{head_line}"
        f"<thead><tr>{first}{names}</tr></thead><tbody>{body}</tbody></table>"
    )


def code(text: str) -> str:
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>'


def folded(title: str, content: str) -> str:
    """Shown when the reader asks for it."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def card(title: str, content: str) -> str:
    return f'<div class="card"><h3>{escape(title)}</h3>{content}</div>'


def picture(item: Picture, files: Sequence[Path]) -> str:
    """A figure that can be enlarged, with links to its files beside the page."""
    svg = next(path for path in files if path.suffix == ".svg").read_bytes()
    data = base64.b64encode(svg).decode()
    # An inch is 96 pixels in CSS.
    width, height = (round(96 * size) for size in item.figure.get_size_inches())
    kind = "column" if item.figure.get_size_inches()[0] <= COLUMN else "wide"
    links = "".join(
        f'<a href="figures/{path.name}" download '
        f'aria-label="{escape(item.title)} as {path.suffix[1:].upper()}">'
        f"{path.suffix[1:].upper()}</a>"
        for path in files
    )
    return (
        f'<figure class="picture card {kind}" id="figure-{item.name}">'
        f"<h3>{escape(item.title)}</h3>"
        f'<div class="scroll"><button type="button" title="Enlarge" '
        f'data-title="{escape(item.title)}">'
        f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(item.alt)}" '
        f'width="{width}" height="{height}"></button></div>'
        f"<figcaption><p>{escape(item.caption)}</p>"
        f'<p class="files">{links}</p></figcaption></figure>'
    )


def columns(parts: Iterable[str]) -> str:
    return f'<div class="columns">{"".join(parts)}</div>'


_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="generator" content="substrax">
<link rel="icon" href="data:,">
<title>@title@</title>
<style>
@css@</style>
</head>
<body>
<header>@header@</header>
<nav class="tabs" aria-label="Report"><div>@tabs@</div></nav>
<main>@sections@</main>
<footer>@footer@</footer>
<dialog aria-labelledby="enlarged">\
<div class="bar"><h2 id="enlarged"></h2>\
<button type="button">Close</button></div>\
<div class="sheet" tabindex="0"></div></dialog>
<script>
@js@</script>
</body>
</html>
"""


def page(
    *,
    title: str,
    header: str,
    sections: Sequence[tuple[str, str, str]],
) -> str:
    """The whole document. A section is (id, title, content)."""
    assets = importlib.resources.files("substrax") / "report" / "assets"
    tabs = "".join(
        f'<a id="tab-{name}" href="#{name}">{escape(label)}</a>'
        for name, label, _ in sections
    )
    body = "".join(
        f'<section id="{name}"><h2>{escape(label)}</h2>{content}</section>'
        for name, label, content in sections
    )
    result = _SHELL
    for key, value in {
        "title": escape(title),
        "css": (assets / "page.css").read_text("utf-8"),
        "header": header,
        "tabs": tabs,
        "footer": paragraph(
            "This page needs no network: everything is in it. Figures for a paper lie "
            "beside it in the folder figures, as PNG (300 dpi) and SVG."
        ),
        "js": (assets / "page.js").read_text("utf-8"),
        # last, because a run's own text must not be searched for the marks above
        "sections": body,
    }.items():
        result = result.replace(f"@{key}@", value, 1)
    return result
