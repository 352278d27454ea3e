"""`flux start [-sN]`: an instance on this machine, or inside a job the job's sub-instance.

The N brokers find each other by PMI, as tasks of a job do. This process is their PMI server.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from minicluster.embedded.broker import broker
from minicluster.embedded.execution import pmi

if TYPE_CHECKING:
    from collections.abc import Sequence

_STOP_TIMEOUT = 10.0  # seconds that followers have to end once the lead ended


def main(argv: Sequence[str]) -> int:
    """Run `flux start` and return the initial program's exit code."""
    options = _parser().parse_args(argv)
    arguments = [word for setting in options.setattr for word in ("-S", setting)]
    if options.test_size is None:
        return broker.main([*arguments, "--", *options.program])
    if options.test_size < 1:
        print(
            f"flux-start: --test-size: {options.test_size} is no size; right would be 1 or more",
            file=sys.stderr,
        )
        return 1
    with tempfile.TemporaryDirectory(prefix="flux-") as rundir:
        return asyncio.run(TestInstance(options.test_size, arguments, options.program, rundir).run())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="flux start", description="Start an instance.")
    parser.add_argument("-s", "--test-size", type=int, metavar="N", help="start N brokers on this machine")
    parser.add_argument("-S", "--setattr", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="the initial program, else a shell")
    return parser


class TestInstance:
    """N brokers as children of this process."""

    __test__ = False  # pytest: not a test

    def __init__(self, size: int, arguments: Sequence[str], program: Sequence[str], rundir: str) -> None:
        self._size = size
        self._command = ["flux", "broker", f"-Srundir={rundir}", *arguments]
        self._program = ["--", *program]
        self._brokers: list[subprocess.Popen[bytes]] = []

    async def run(self) -> int:
        """Start the brokers, serve their PMI, and return the lead's exit code."""
        mapping = f"(vector,(0,1,{self._size}))"
        self._pmi = pmi.PmiJob("start", self._size, self._size, mapping, self._enter, self._abort)
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, self._lead_signal, signum)
        for rank in range(self._size):
            self._start(rank)
        code = await loop.run_in_executor(None, self._brokers[0].wait)
        for follower in self._brokers[1:]:
            try:
                await loop.run_in_executor(None, follower.wait, _STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                print("flux-start: a broker did not end; killed", file=sys.stderr)
                follower.kill()
                follower.wait()
        return code if code >= 0 else 128 - code

    def _start(self, rank: int) -> None:
        ours, theirs = socket.socketpair()
        env = {key: value for key, value in os.environ.items() if key not in {"FLUX_URI", "FLUX_JOB_ID"}}
        descriptor = theirs.fileno()
        env |= {"PMI_FD": str(descriptor), "PMI_RANK": str(rank), "PMI_SIZE": str(self._size)}
        with theirs:
            command = self._command if rank else self._command + self._program
            stdin = subprocess.DEVNULL if rank else None
            self._brokers.append(subprocess.Popen(command, env=env, stdin=stdin, pass_fds=[descriptor]))
        pmi.PmiClient(self._pmi, ours)

    def _enter(self, puts: dict[str, str]) -> None:
        self._pmi.release(puts)

    def _abort(self, code: int, text: str) -> None:
        print(f"flux-start: PMI abort {code}: {text}", file=sys.stderr)
        self._lead_signal(signal.SIGTERM)

    def _lead_signal(self, signum: int) -> None:
        if self._brokers and self._brokers[0].poll() is None:
            self._brokers[0].send_signal(signum)
