"""`flux start [-sN]`: an instance on this machine; inside a job it is the job's sub-instance instead.

The N brokers find one another as tasks of a job would: over PMI, which this process serves.
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

from minicluster.embedded import broker, pmi

if TYPE_CHECKING:
    from collections.abc import Sequence

_GRACE = 10.0  # seconds that followers have once the lead ended


def main(argv: Sequence[str]) -> int:
    """Run `flux start` and return the initial program's exit code."""
    options = _parser().parse_args(argv)
    arguments = [word for setting in options.setattr for word in ("-S", setting)]
    arguments += [word for words in options.broker_opts for word in words.split(",")]
    if options.config_path:
        arguments += ["-c", options.config_path]
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
    parser.add_argument("-o", "--broker-opts", action="append", default=[], metavar="OPTS")
    parser.add_argument("-c", "--config-path", metavar="PATH")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="the initial program, else a shell")
    return parser


class TestInstance:
    """N brokers as children of this process."""

    __test__ = False  # pytest: not a test

    def __init__(self, size: int, arguments: Sequence[str], program: Sequence[str], rundir: str) -> None:
        self._size = size
        self._arguments = list(arguments)
        self._program = list(program)
        self._rundir = rundir
        self._brokers: list[subprocess.Popen[bytes]] = []

    async def run(self) -> int:
        """Start the brokers, serve their PMI, and return the lead's exit code."""
        server = pmi.PmiJob(
            "start",
            self._size,
            self._size,
            f"(vector,(0,1,{self._size}))",
            enter=self._enter,
            abort=self._abort,
        )
        self._pmi = server
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, self._lead_signal, signum)
        for rank in range(self._size):
            self._start(rank, server)
        code = await loop.run_in_executor(None, self._brokers[0].wait)
        await self._end_followers()
        return code if code >= 0 else 128 - code

    def _start(self, rank: int, server: pmi.PmiJob) -> None:
        ours, theirs = socket.socketpair()
        command = ["flux", "broker", f"-Srundir={self._rundir}", *self._arguments]
        env = {key: value for key, value in os.environ.items() if key not in {"FLUX_URI", "FLUX_JOB_ID"}}
        env |= {"PMI_FD": str(theirs.fileno()), "PMI_RANK": str(rank), "PMI_SIZE": str(self._size)}
        with theirs:
            program = ["--", *self._program] if rank == 0 else []
            stdin = None if rank == 0 else subprocess.DEVNULL
            descriptor = theirs.fileno()
            self._brokers.append(
                subprocess.Popen([*command, *program], env=env, stdin=stdin, pass_fds=[descriptor])
            )
        pmi.PmiClient(server, ours)

    def _enter(self, puts: dict[str, str]) -> None:
        self._pmi.release(puts)

    def _abort(self, code: int, text: str) -> None:
        print(f"flux-start: PMI abort {code}: {text}", file=sys.stderr)
        self._lead_signal(signal.SIGTERM)

    def _lead_signal(self, signum: int) -> None:
        if self._brokers and self._brokers[0].poll() is None:
            self._brokers[0].send_signal(signum)

    async def _end_followers(self) -> None:
        for rank, follower in enumerate(self._brokers[1:], 1):
            try:
                await asyncio.get_running_loop().run_in_executor(None, follower.wait, _GRACE)
            except subprocess.TimeoutExpired:
                print(f"flux-start: rank {rank} did not end; killed", file=sys.stderr)
                follower.kill()
                follower.wait()
