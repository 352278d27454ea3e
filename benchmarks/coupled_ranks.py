"""Two tasks of a job that sum a number over both, and so wait for each other.

By MPI_Allreduce with MPICH's library, else by a socket.

No compiler is needed: the library is called as it is, with the handles of MPICH's mpi.h. It is in the wheel
`mpich` (extra `examples`), or in the distribution's package. Ranks find each other by PMI.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_WORLD, _DOUBLE, _SUM = 0x44000000, 0x4C00080B, 0x58000003
_VERSION_BYTES = 8192
_CONNECT_SECONDS = 30.0


class MpiRanks:
    """Ranks of MPI_COMM_WORLD."""

    def __init__(self, library: str) -> None:
        self._mpi = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        self._mpi.MPI_Init(None, None)
        self._mine, self._sum = ctypes.c_double(1.0), ctypes.c_double()
        self.name = _version(self._mpi)

    def allreduce(self) -> float:
        """Return the sum over all ranks. Who waits for the others computes meanwhile, as MPICH does."""
        mine, total = ctypes.byref(self._mine), ctypes.byref(self._sum)
        self._mpi.MPI_Allreduce(mine, total, 1, _DOUBLE, _SUM, _WORLD)
        return self._sum.value

    def end(self) -> None:
        """Leave the world."""
        self._mpi.MPI_Finalize()


class SocketRanks:
    """Two tasks with a UNIX socket between them. Who waits for the other one leaves its core idle."""

    name = "a UNIX socket: no MPICH, or no PMI"

    def __init__(self) -> None:
        self._peer = _connected()

    def allreduce(self) -> float:
        """Return the sum over both."""
        self._peer.sendall(b"1")
        return 1.0 + float(self._peer.recv(1))

    def end(self) -> None:
        """Close the socket."""
        self._peer.close()


def ranks() -> MpiRanks | SocketRanks:
    """Return this task's way to the other one."""
    library = mpich() if "PMI_FD" in os.environ else None
    return SocketRanks() if library is None else MpiRanks(library)


def mpich() -> str | None:
    """Return the library of MPICH; None: there is none."""
    wheel = Path(sys.prefix, "lib", "libmpi.so.12")
    return str(wheel) if wheel.exists() else ctypes.util.find_library("mpich")


def _version(mpi: ctypes.CDLL) -> str:
    text, length = ctypes.create_string_buffer(_VERSION_BYTES), ctypes.c_int()
    mpi.MPI_Get_library_version(text, ctypes.byref(length))
    words = text.value.decode().split()
    return f"MPICH {words[2]}" if words[:2] == ["MPICH", "Version:"] else "MPI"


def _connected() -> socket.socket:
    """Return the connection between the two tasks of this job."""
    path = f"{os.environ['FLUX_JOB_TMPDIR']}/pair"
    if os.environ["FLUX_TASK_RANK"] == "0":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        return listener.accept()[0]
    deadline = time.monotonic() + _CONNECT_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return connection


def stepping(compute: Callable[[], object], wait: float, steps: int, world: MpiRanks | SocketRanks) -> None:
    """Compute, wait so many seconds as for a file, and sum up, so many times."""
    for _ in range(steps):
        compute()
        time.sleep(wait)
        world.allreduce()
