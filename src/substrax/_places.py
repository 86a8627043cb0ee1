"""Errors on one line: what they are, and where in a user's own code they arose."""

import os
import sysconfig


def place_of(error: BaseException) -> str | None:
    """The function, file and line; None if no such code took part."""
    if isinstance(error, SyntaxError) and _is_users(error.filename):
        return f"{os.path.basename(error.filename or '')}, line {error.lineno},"
    place, traceback = None, error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if _is_users(code.co_filename):
            file = os.path.basename(code.co_filename)
            what = "" if code.co_name == "<module>" else f"{code.co_name}, in "
            place = f"{what}{file}, line {traceback.tb_lineno},"
        traceback = traceback.tb_next
    return place


def sentence_of(error: Exception) -> str:
    """An error on one line: ours are sentences, others say what they are, and where."""
    text = " ".join(str(error).split())
    if not isinstance(error, _SENTENCES) or not text:
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    place = None if isinstance(error, OSError) else place_of(error)
    if place is not None:
        text += f" (raised in {place.removesuffix(',')})"
    return text if len(text) <= 500 else f"{text[:497]}..."


_SENTENCES = (ValueError, OSError, ImportError, MemoryError)
"""Errors whose text says what is wrong without their names."""


def _is_users(file: str | None) -> bool:
    """Whether a file is neither ours, nor Python's, nor of an installed package."""
    if not file or not os.path.isfile(file):
        return False
    path = os.path.abspath(file)
    ours = os.path.dirname(os.path.abspath(__file__))
    installed = {os.path.abspath(p) for p in sysconfig.get_paths().values()}
    return not any(path.startswith(folder + os.sep) for folder in (ours, *installed))
