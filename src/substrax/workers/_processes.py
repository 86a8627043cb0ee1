"""Processes of this machine as an executor, each of them replaced when it dies.

The pool of the standard library ends as a whole when one of its processes is killed,
and does not say whose work that was. Here each process has a thread that hands it one
call at a time, so that a death costs one call, and a call that hangs can be ended.
Nothing is forked, since JAX has threads, and nothing listens: a process has a pipe, and
ends itself when that is closed, however its parent came to its end.
"""

import contextlib
import json
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, NamedTuple

LENGTH = struct.Struct("<Q")
"""Written before each message, on the way there and back."""

_START_SECONDS = 60.0
"""In which a process has imported what it needs, also where much else is going on."""

# Before anything is imported: the paths of this process, so that whatever it can
# import, its workers can import too.
_START = (
    "import json, sys; sys.path[:], imports = json.loads(sys.argv.pop()); "
    "from substrax.workers._child import main; main(imports)"
)


class _Call(NamedTuple):
    future: Future
    work: tuple[Callable[..., Any], tuple, dict]


class Processes(Executor):
    """So many new processes, which know nothing of the program that started them.

    **Arguments:**

    - `num`: how many there are at a time.
    - `environment`: variables that they have besides those of this process.
    - `imports`: modules that they import before their first call, so that the call is
      not held up by it.
    """

    def __init__(
        self,
        num: int,
        environment: Mapping[str, str] | None = None,
        imports: Sequence[str] = (),
    ) -> None:
        self.num = num
        self._imports = list(imports)
        self._environment = {**os.environ, **(environment or {})}
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_shut = False
        self._at_work: dict[Future, subprocess.Popen] = {}
        self._unwanted: set[Future] = set()
        self._started: set[subprocess.Popen] = set()
        self._starting: dict[subprocess.Popen, float] = {}
        self._threads = [
            threading.Thread(target=self._serve, daemon=True) for _ in range(num)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        if self._is_shut:
            raise RuntimeError("these processes have been ended.")
        future: Future[Any] = Future()
        self._calls.put(_Call(future, (fn, args, kwargs)))
        return future

    def is_at_work(self, future: Future) -> bool:
        """Whether a process has this call; one that starts has not, but for one that
        takes longer than any start does."""
        with self._lock:
            process = self._at_work.get(future)
            if process is None:
                return False
            began = self._starting.get(process)
            return began is None or time.monotonic() - began > _START_SECONDS

    def end(self, future: Future) -> None:
        """Ends the process that is at work for this future, if there is one; the future
        gets a `BrokenExecutor`, and other calls another process."""
        with self._lock:
            process = self._at_work.get(future)
            if process is not None:
                process.kill()
            elif not future.done():  # it is about to begin
                self._unwanted.add(future)

    @property
    def pids(self) -> list[int]:
        """Of the processes that are there now."""
        with self._lock:
            return [process.pid for process in self._started]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._is_shut = True
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while True:
                    call = self._calls.get_nowait()
                    if call is not None:
                        call.future.cancel()
        for _ in self._threads:
            self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def kill(self) -> None:
        """Ends all processes, whatever they are doing, and waits until they are gone.
        They have no files that could be left half written."""
        self.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for process in self._started:
                process.kill()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        """One thread: hands calls to its process, and starts another if that dies."""
        process: subprocess.Popen | None = None
        try:
            while (call := self._calls.get()) is not None:
                if not call.future.set_running_or_notify_cancel():
                    continue
                if process is None or process.poll() is not None:
                    self._forget(process)
                    try:
                        process = self._start()
                    except OSError as error:
                        call.future.set_exception(error)
                        continue
                process = self._work(process, call)
        finally:
            if process is not None and process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()  # which it takes for the end
            self._forget(process)

    def _start(self) -> subprocess.Popen:
        with self._lock:
            if self._is_shut:
                raise OSError("these processes have been ended.")
            process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps([sys.path, self._imports])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environment,
                # Ctrl-C is for the program itself, which ends its processes in order.
                start_new_session=True,
            )
            self._started.add(process)
            self._starting[process] = time.monotonic()
        return process

    def _wait_until_ready(self, process: subprocess.Popen) -> None:
        if process not in self._starting:
            return
        # Its first message. If it dies before, that is found out by whoever writes.
        receive(process.stdout)
        with self._lock:
            self._starting.pop(process, None)

    def _forget(self, process: subprocess.Popen | None) -> None:
        if process is None:
            return
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with self._lock:
            self._started.discard(process)
            self._starting.pop(process, None)

    def _work(self, process: subprocess.Popen, call: _Call) -> subprocess.Popen | None:
        """One call; returns the process, None if it is gone."""
        future = call.future
        try:
            message = pickle.dumps(call.work, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # whatever cannot be pickled says so in its own way
            future.set_exception(error)
            return process
        with self._lock:
            self._at_work[future] = process
            if self._is_shut or future in self._unwanted:
                process.kill()
        try:
            self._wait_until_ready(process)
            send(process.stdin, message)
            answer = receive(process.stdout)
        except OSError:
            answer = None
        finally:
            with self._lock:
                del self._at_work[future]
                self._unwanted.discard(future)
        if answer is None:
            process.kill()
            self._forget(process)
            future.set_exception(BrokenExecutor(_how(process.returncode)))
            return None
        try:
            is_done, value = pickle.loads(answer)
        except Exception as error:
            is_done, value = False, error
        if is_done:
            future.set_result(value)
        else:
            future.set_exception(value)
        return process


def send(pipe: Any, message: bytes) -> None:
    pipe.write(LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def receive(pipe: Any) -> bytes | None:
    """The next message; None at the end, also in the middle of one."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    message = pipe.read(length)
    return message if len(message) == length else None


def _how(status: int | None) -> str:
    """How a process ended, as part of a sentence."""
    if status is None or status >= 0:
        return f"a worker process ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    hint = "; the memory may be used up" if name == "SIGKILL" else ""
    return f"a worker process was ended by {name}{hint}"
