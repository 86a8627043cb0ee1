"""Values, texts and bytes that nobody should send, and documents with some of them."""

import copy
import math
import random
from typing import Any

WHOLE = (
    0, 1, 2, 3, 7, -1, -2, 127, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**63,
    10**30, -(10**30), 10**400, 10**5000,
)  # fmt: skip
FLOATS = (
    0.0, -0.0, 0.5, 1.0, -1.5, 1e-320, 1e37, 1e38, 3.5e38, 1e300, -1e300,
    math.nan, math.inf, -math.inf,
)  # fmt: skip
TEXTS = (
    "", " ", "none", "None", "true", "nan", "inf", "1e309", "0x10", "1_000", "+5", "-0",
    "\u0663", "\u00b2", "a\0b", "\ud800", "\u202e", "\U0001f600", "\ufeff", "../..",
    "/", "~", "-", "--", "=", "[]", "{}", "%s", "{0}", "\n", "\r\n", "\t", ";", "#",
    '"', "'", "x" * 300, "x" * 100_000, "9" * 5000, "-> ->", "a -> b", "sigmoid",
    "weight", "x1", "given", "auto", "1e3GiB", "4x0", "0x4", "3x3x3",
)  # fmt: skip


def value(draw: random.Random, depth: int = 2) -> Any:
    """Anything that JSON, TOML or a caller could hold."""
    kind = draw.randrange(9 if depth else 7)
    if kind == 0:
        return draw.choice(WHOLE)
    if kind == 1:
        return draw.choice(FLOATS)
    if kind == 2:
        return draw.choice(TEXTS)
    if kind == 3:
        return draw.choice((True, False))
    if kind == 4:
        return None
    if kind == 5:
        return draw.randint(-5, 20)
    if kind == 6:
        return round(draw.uniform(-2, 2), 3)
    num = draw.randrange(4)
    if kind == 7:
        return [value(draw, depth - 1) for _ in range(num)]
    return {text(draw): value(draw, depth - 1) for _ in range(num)}


def text(draw: random.Random) -> str:
    """A hostile text, or some characters."""
    if draw.random() < 0.6:
        return draw.choice(TEXTS)
    letters = "ab01.-_ =[]{}\"'\\\n\t>#,:\0\u00e9\u4e2d"
    return "".join(draw.choice(letters) for _ in range(draw.randrange(12)))


def damaged_document(draw: random.Random, document: Any) -> Any:
    """The same tree of lists and tables, with some of its places changed."""
    document = copy.deepcopy(document)
    for _ in range(draw.choice((1, 1, 2))):
        document = _damaged_once(draw, document)
    return document


def _damaged_once(draw: random.Random, document: Any) -> Any:
    holders = list(_holders(document))
    if not holders or draw.random() < 0.02:
        return value(draw)
    holder = draw.choice(holders)
    place = draw.choice(
        list(holder) if isinstance(holder, dict) else range(len(holder))
    )
    kind = draw.randrange(8)
    if kind == 0:
        del holder[place]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(place, copy.deepcopy(holder[place]))
    elif kind == 2 and isinstance(holder, dict):
        holder[text(draw)] = holder.pop(place)
    elif kind == 3 and isinstance(holder, list):
        draw.shuffle(holder)
    elif kind == 4:
        holder[place] = [holder[place]]
    elif kind == 5:
        holder[place] = _near(draw, holder[place])
    else:
        holder[place] = value(draw)
    return document


def _near(draw: random.Random, given: Any) -> Any:
    """Almost the same: what a program in a hurry takes for it."""
    if isinstance(given, bool):
        return int(given)
    if isinstance(given, int) and abs(given) < 2**53:
        return draw.choice((given + 1, given - 1, float(given), str(given), given == 1))
    if isinstance(given, float):
        return draw.choice((-given, given * 1e39, str(given), math.nan))
    if isinstance(given, str):
        return draw.choice((given + " ", given.upper(), given[:-1], [given], given * 2))
    return None


def _holders(document: Any, depth: int = 0) -> Any:
    """Lists and tables that are not empty, at any depth."""
    if isinstance(document, dict | list) and document and depth < 20:
        yield document
        below = document.values() if isinstance(document, dict) else document
        for item in below:
            yield from _holders(item, depth + 1)


def damaged_bytes(draw: random.Random, data: bytes) -> bytes:
    """The same bytes, with some of them changed, lost, moved or added."""
    raw = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        raw = _damaged_bytes_once(draw, raw)
    return bytes(raw)


def _damaged_bytes_once(draw: random.Random, raw: bytearray) -> bytearray:
    num = len(raw)
    first = draw.randrange(num) if num else 0
    last = min(num, first + draw.choice((1, 2, 8, 64, 1024)))
    kind = draw.randrange(10)
    if kind <= 2 and num:
        raw[first] ^= 1 << draw.randrange(8)
    elif kind == 3:
        del raw[first:]
    elif kind == 4:
        del raw[first:last]
    elif kind == 5:
        raw[first:first] = raw[first:last]
    elif kind == 6:
        raw[first:last] = bytes(last - first)
    elif kind == 7:
        raw[first:last] = draw.randbytes(last - first)
    elif kind == 8:
        raw += draw.randbytes(draw.choice((1, 4, 100)))
    else:
        digits = [k for k, byte in enumerate(raw[:5000]) if 48 <= byte <= 57]
        if digits:
            raw[draw.choice(digits)] = draw.choice(b"0123456789-.eE")
    return raw
