"""What a process of `Processes` does: calls, one after the other."""

import importlib
import os
import pickle
import queue
import sys
import threading
from typing import Any

from ._processes import receive, send


def main(imports: list[str]) -> None:
    """Answers calls until the pipe they come by is closed."""
    # What the work prints must not get among the answers.
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(calls, waiting), daemon=True).start()
    for name in imports:
        importlib.import_module(name)
    send(answers, b"")  # ready
    while True:
        send(answers, _answer(waiting.get()))


def _listen(calls: Any, waiting: "queue.SimpleQueue[bytes]") -> None:
    while (message := receive(calls)) is not None:
        waiting.put(message)
    # The other side is gone, perhaps killed: nobody wants what is being computed.
    sys.stderr.flush()
    os._exit(0)


def _answer(message: bytes) -> bytes:
    try:
        fn, args, kwargs = pickle.loads(message)
        outcome = (True, fn(*args, **kwargs))
        return pickle.dumps(outcome, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        try:
            answer = pickle.dumps((False, error))
            pickle.loads(answer)  # some can be written, and not be read
        except Exception:
            text = f"{type(error).__name__}: {error}"
            answer = pickle.dumps((False, RuntimeError(text)))
        return answer
