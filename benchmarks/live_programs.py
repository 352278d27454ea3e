"""Programs of known profiles for live_cosched.py: each does a fixed amount of work, and shows what it used.

    python benchmarks/live_programs.py KIND BLOCKS [--apart] [--library FILE --bytes N]
    python benchmarks/live_programs.py KIND --measure SECONDS [--library FILE --bytes N]

`computes` and `multiplies` stay in the processor. `asks` computes, and waits for a neighbour's answer over a
socket, for about three times as long. `reads` goes from line to line of its --bytes of memory in random order
(`chase.c`, compiled into --library): fast where a cache has them, slow where another one's lines are there.
`coupled` computes a little, waits, and sums up over both tasks of the job, about every millisecond
(`coupled_ranks.py`). A block takes some milliseconds alone. At its end a program prints its seconds, and
those of CPU time, as JSON. With --measure it prints how many blocks it does in so many seconds.

The tasks of a job meet after each block, as those of a parallel program do, but for `asks`, whose requests
have nothing to do with each other. With --apart no tasks meet.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import socket
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from coupled_ranks import ranks, stepping

if TYPE_CHECKING:
    from collections.abc import Callable

    from coupled_ranks import MpiRanks, SocketRanks

WAITS = 0.74
"""Which part of its time `asks` waits: Statistics uses 26 % of a processor."""
_TEXT = b"x" * 65536
_HASHES, _REQUEST_HASHES = 30, 78
_FACTOR = 3**2000
_MULTIPLICATIONS = 200
_STEPS = 10_000
_STEP_HASHES, _STEP_WAIT, _BLOCK_STEPS = 4, 0.0006, 10
"""Of a coupled program, which waits 0.6 ms a step."""


def computing(rounds: int) -> None:
    """Compute without memory."""
    digest = hashlib.sha1(usedforsecurity=False)
    for _ in range(rounds):
        digest.update(_TEXT)


def multiplying(rounds: int) -> None:
    """Multiply large numbers."""
    for _ in range(rounds):
        _FACTOR * _FACTOR


class Reader:
    """Goes through so many bytes, a line at a time, in random order. Raises MemoryError."""

    def __init__(self, library: str, size: int) -> None:
        self._chase = ctypes.CDLL(library)
        self._chase.chase_circle.restype = ctypes.c_void_p
        self._chase.chase_circle.argtypes = [ctypes.c_size_t]
        self._chase.chase.restype = ctypes.c_uint64
        self._chase.chase.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]
        self._lines = self._chase.chase_circle(size)
        if not self._lines:
            raise MemoryError
        self._line = 0

    def block(self) -> None:
        """Take some steps."""
        self._line = self._chase.chase(self._lines, self._line, _STEPS)


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


def asking() -> Callable[[], object]:
    """Return a block that computes, and waits in proportion to the CPU time of that."""
    neighbour = answering()

    def request() -> None:
        begin = time.thread_time()
        computing(_REQUEST_HASHES)
        wait = (time.thread_time() - begin) * WAITS / (1 - WAITS)
        neighbour.sendall(f"{wait:.6f}".encode())
        neighbour.recv(8)

    return request


def coupled(world: MpiRanks | SocketRanks) -> Callable[[], object]:
    """Return the block of a task that sums up with the other one in each step."""
    return partial(stepping, partial(computing, _STEP_HASHES), _STEP_WAIT, _BLOCK_STEPS, world)


def meeting(block: Callable[[], object], world: MpiRanks | SocketRanks) -> Callable[[], object]:
    """Return a block after which a task waits for the other one."""

    def step() -> None:
        block()
        world.allreduce()

    return step


def block_of(options: argparse.Namespace) -> Callable[[], object]:
    """Return a program's block."""
    match options.kind:
        case "computes":
            return lambda: computing(_HASHES)
        case "multiplies":
            return lambda: multiplying(_MULTIPLICATIONS)
        case "reads":
            return Reader(options.library, options.bytes).block
    return asking()


def _meets(options: argparse.Namespace) -> bool:
    alone = options.apart or options.kind == "asks" or options.measure
    return not alone and os.environ.get("FLUX_JOB_SIZE", "1") != "1"


def main() -> None:
    """Run one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=["computes", "multiplies", "asks", "reads", "coupled"])
    parser.add_argument("blocks", type=int, nargs="?", default=0)
    parser.add_argument("--measure", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--apart", action="store_true", help="the tasks of a job do not meet")
    parser.add_argument("--library", help="of chase.c")
    parser.add_argument("--bytes", type=int, default=0, help="which `reads` goes through")
    parser.add_argument("--cpu", type=int, help="run on this one")
    options = parser.parse_args()
    if options.cpu is not None:
        os.sched_setaffinity(0, {options.cpu})
    world = ranks() if options.kind == "coupled" or _meets(options) else None
    if world is None:
        block = block_of(options)
    else:
        block = coupled(world) if options.kind == "coupled" else meeting(block_of(options), world)
    block()
    begin, done = time.monotonic(), 0
    while done < options.blocks or time.monotonic() - begin < options.measure:
        block()
        done += 1
    seconds = time.monotonic() - begin
    used = os.times()
    found: dict[str, Any] = {"blocks": done, "seconds": seconds, "cpu": used.user + used.system}
    if world is not None:
        found["exchange"] = world.name
        world.end()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
