"""Programs of known profiles for live_cosched.py: each does a fixed amount of work, and shows what it lost.

    python benchmarks/live_programs.py KIND BLOCKS
    python benchmarks/live_programs.py KIND --measure SECONDS

`waits` and `asks` compute a part of the time, and wait for a neighbour's answer over a socket for the rest;
`computes` stays in the processor; `reads` goes through more memory than a cache has; `coupled` computes a
little and exchanges a word with the job's other task, again and again, as an Allreduce does. A block takes
about 10 ms alone. At its end a program prints its seconds, and those of CPU time, as JSON. With --measure it
prints how many blocks it does in so many seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK = 0.01  # seconds of a block alone, about
WAITS = {"waits": 0.55, "asks": 0.74}
"""Which part of a block these wait."""
_TEXT = b"x" * 65536
_HASHES = 90
_BUFFER_BYTES = 64 << 20
_STEP_BYTES = 8 << 20
_CONNECT_SECONDS = 30.0


def computing(rounds: int) -> None:
    """Compute without memory."""
    digest = hashlib.sha1(usedforsecurity=False)
    for _ in range(rounds):
        digest.update(_TEXT)


class Reader:
    """Copies parts of a large buffer, one after the other."""

    def __init__(self) -> None:
        self._source = bytearray(os.urandom(1 << 20) * (_BUFFER_BYTES >> 20))
        self._target = bytearray(_STEP_BYTES)
        self._at = 0

    def block(self) -> None:
        """Copy four parts."""
        view = memoryview(self._source)
        for _ in range(4):
            self._target[:] = view[self._at : self._at + _STEP_BYTES]
            self._at = (self._at + _STEP_BYTES) % _BUFFER_BYTES


def answering() -> socket.socket:
    """Start a neighbour that answers each request after the seconds in it; return the socket to it."""
    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        return ours
    ours.close()
    while word := theirs.recv(32):
        time.sleep(float(word))
        theirs.sendall(b"done")
    os._exit(0)


def coupled() -> socket.socket:
    """Return a connection between the two tasks of this job."""
    directory = os.environ["FLUX_JOB_TMPDIR"]
    path = f"{directory}/pair"
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


def block_of(kind: str) -> Callable[[], object]:
    """Return a program's block."""
    if kind == "computes":
        return lambda: computing(_HASHES)
    if kind == "reads":
        return Reader().block
    if kind == "coupled":
        peer = coupled()

        def exchange() -> None:
            for _ in range(10):
                computing(_HASHES // 10)
                peer.sendall(b"w")
                peer.recv(1)

        return exchange
    waits, neighbour = WAITS[kind], answering()

    def request() -> None:
        computing(round(_HASHES * (1 - waits)))
        neighbour.sendall(f"{waits * BLOCK:.6f}".encode())
        neighbour.recv(8)

    return request


def main() -> None:
    """Run one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=["waits", "asks", "computes", "reads", "coupled"])
    parser.add_argument("blocks", type=int, nargs="?", default=0)
    parser.add_argument("--measure", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    block = block_of(options.kind)
    block()
    begin, done = time.monotonic(), 0
    while done < options.blocks or time.monotonic() - begin < options.measure:
        block()
        done += 1
    seconds = time.monotonic() - begin
    used = os.times()
    print(json.dumps({"blocks": done, "seconds": seconds, "cpu": used.user + used.system}))


if __name__ == "__main__":
    main()
