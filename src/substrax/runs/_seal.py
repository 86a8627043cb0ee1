"""Small documents in JSON that show whether they are what was written."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_SEAL = "seal"


def sealed(document: Mapping[str, Any]) -> str:
    """A document as text, with the digest of the rest as its last entry."""
    return json.dumps({**document, _SEAL: digest_of(document)}, indent=1) + "\n"


def unsealed(text: str | bytes) -> dict[str, Any]:
    """The document; a `ValueError` says what is wrong with one that was changed."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no JSON, or not all of it is there") from error
    if not isinstance(document, dict) or _SEAL not in document:
        raise ValueError("it has no checksum")
    seal = document.pop(_SEAL)
    if seal != digest_of(document):
        raise ValueError("its checksum is wrong: it was changed by somebody")
    return document


def digest_of(document: Mapping[str, Any]) -> str:
    """One number for all entries, in whatever order they are."""
    text = json.dumps(dict(document), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
