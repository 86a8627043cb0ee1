"""Executors by name: `processes:8`, `dask://host:8786`."""

import socket
import time
from concurrent.futures import Executor
from typing import NamedTuple

from .._extra import require_extra
from .._resources import num_cores
from .._types import shown
from ._errors import WorkersError

PROCESSES = "processes"
_DASK = ("dask", "tcp", "tls")
MAX_PROCESSES = 1024
"""More than one machine should be asked for."""
MAX_PORT = 65535

CONNECT_SECONDS = 30.0
"""A scheduler that is starting is waited for so long."""


class Named(NamedTuple):
    """What a name says: so many processes, or the address of a scheduler."""

    num: int | None
    address: str | None
    """As Dask takes it."""
    host: str = ""
    port: int = 0


def read_name(name: str) -> Named:
    """What is meant; a `ValueError` says how executors are named."""
    kind, _, rest = name.partition(":")
    if kind == PROCESSES:
        return Named(_number(name, rest), None)
    if kind in _DASK and rest.startswith("//"):
        place = rest.removeprefix("//")
        host, colon, port = place.rpartition(":")
        if colon:
            host, number = _host(name, host), _port(name, port)
            # Without a scheme, Dask takes the one of its own configuration.
            return Named(None, place if kind == "dask" else name, host, number)
    raise ValueError(
        f"executor is {shown(name)}. Write processes:8 for eight processes on this "
        "machine, dask://host:8786 for the scheduler of a Dask cluster, "
        "tls://host:8786 if it is encrypted, or none."
    )


def _number(name: str, text: str) -> int:
    if not text and name == PROCESSES:
        return num_cores()
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MAX_PROCESSES):
        raise ValueError(
            f"executor is {shown(name)}; give a number of processes of at least 1 and "
            f"at most {MAX_PROCESSES}, as in processes:8."
        )
    return int(text)


def _host(name: str, text: str) -> str:
    """Without the brackets that an address of IPv6 has here."""
    is_bracketed = text.startswith("[") and text.endswith("]")
    host = text[1:-1] if is_bracketed else text
    wrong = set("[]/@ \t\n") | (set() if is_bracketed else {":"})
    if not host or wrong & set(host):
        raise ValueError(
            f"executor is {shown(name)}, and {shown(text)} is no host. Write the name "
            "or the address of the scheduler's machine, as in dask://host:8786, "
            "dask://10.0.0.1:8786 or dask://[::1]:8786."
        )
    return host


def _port(name: str, text: str) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    if not (is_number and 1 <= int(text) <= MAX_PORT):
        raise ValueError(
            f"executor is {shown(name)}, and {shown(text)} is no port. Give that of "
            f"the scheduler, a number from 1 to {MAX_PORT}, as in dask://host:8786."
        )
    return int(text)


def num_processes(name: str) -> int | None:
    """How many processes of this machine a name means; None if it means none."""
    return read_name(name).num


def check_executor(executor: object) -> None:
    """Refuses what is no executor, before anything is done. A library that is missing
    is an `ImportError`, which says how to install it."""
    if executor is None:
        return
    if not isinstance(executor, str):
        if not isinstance(executor, Executor):
            raise ValueError(
                f"executor is {shown(executor)}; give a concurrent.futures.Executor, "
                "such as client.get_executor() of Dask, or a name such as "
                '"processes:8".'
            )
        return
    if read_name(executor).address is not None:
        require_extra("distributed", "dask")


def check_reachable(executor: object) -> None:
    """Waits for a scheduler that has a name, as it may be starting just now, and raises
    if nothing listens at its address."""
    named = read_name(executor) if isinstance(executor, str) else Named(None, None)
    if named.address is None:
        return
    end = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            socket.create_connection((named.host, named.port), timeout=5.0).close()
            return
        except (OSError, ValueError) as error:  # a host that no name can be, as well
            # A name that means nothing does not become right by waiting.
            is_hopeless = isinstance(error, socket.gaierror | ValueError)
            if is_hopeless or time.monotonic() > end:
                raise unreachable(named.address, error) from error
            time.sleep(0.2)


def unreachable(address: str, error: Exception) -> WorkersError:
    """What is said of a scheduler that does not answer."""
    return WorkersError(
        f"the Dask scheduler at {address} cannot be reached "
        f"({' '.join(str(error).split())}). Start it, or mend the address"
    )
