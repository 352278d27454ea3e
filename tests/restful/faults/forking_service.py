"""A service as a process that dies at steps of a submit, and is there again at once: run as a program.

    python -m tests.restful.faults.forking_service FOLDER URI

The parent has loaded everything and has the socket. Each life of the service is a child of its, with the
database in FOLDER and the embedded instance at URI. A life ends by SIGKILL where the file `die-at` names a
step, by anybody's SIGKILL of the process in the file `pid`, or for good when standard input ends. The first
line of standard output has the port, and a token of the user alice.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from minicluster.instance.connection import connect
from minicluster.instance.rpc_bulk import RpcBulk
from restful.clusters.spec import ClusterSpec
from restful.jobs import submit
from restful.store import jobs, request_keys
from restful.store.schema import SCHEMA
from tests.database import ready_file
from tests.restful.faults.replica import replica
from tests.restful.jobs.service import BASE

if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG = 1
STEPS: dict[str, tuple[Any, str, bool]] = {
    "before the row": (request_keys, "add", False),
    "within the row's transaction": (request_keys, "add", True),
    "before the submit": (RpcBulk, "resubmit", False),
    "after the submit": (RpcBulk, "resubmit", True),
    "before the job is noted": (submit, "note", False),
    "within the transaction that notes it": (jobs, "submitted", True),
    "after the job is noted": (submit, "note", True),
}
"""What has the function, its name, and whether the process dies behind it."""


def main() -> None:
    """Serve, life after life, until standard input ends."""
    folder, uri = Path(sys.argv[1]), sys.argv[2]
    sock = socket.create_server(("127.0.0.1", 0), backlog=100)
    (folder / "rest.db").write_bytes(ready_file.content(SCHEMA))
    print(sock.getsockname()[1], asyncio.run(prepared(folder)), flush=True)
    lives: list[int] = []
    ended = threading.Event()
    while not ended.is_set():
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                live(folder, uri, sock)
            os._exit(0)
        (folder / "pid.new").write_text(str(pid))
        (folder / "pid.new").rename(folder / "pid")
        lives.append(pid)
        if len(lives) == 1:  # threads and forks do not go well together: it only reads, and kills
            threading.Thread(target=_until_input_ends, args=(lives, ended), daemon=True).start()
        os.waitpid(pid, 0)


async def prepared(folder: Path) -> str:
    """Make a user who may use every cluster; return a token of his."""
    async with replica(f"sqlite:///{folder}/rest.db") as here:
        await here.grant_everyone()
        await here.add_user("alice")
        token: str = (await here.personal("alice", "jobs:read", "jobs:submit"))["token"]
        return token


def _until_input_ends(lives: list[int], ended: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    ended.set()
    with contextlib.suppress(ProcessLookupError):
        os.kill(lives[-1], signal.SIGKILL)


def live(folder: Path, uri: str, sock: socket.socket) -> None:
    """Serve until the end of this process."""
    for step, (room, name, behind) in STEPS.items():
        setattr(room, name, _mortal(folder / "die-at", step, getattr(room, name), behind=behind))
    spec = ClusterSpec("mc", lambda: connect(uri, "embedded"), base=BASE)

    async def serve() -> None:
        async with replica(f"sqlite:///{folder}/rest.db", spec) as here:
            config = uvicorn.Config(here.app, loop="asyncio", lifespan="off", log_level="warning")
            await uvicorn.Server(config).serve([sock])

    asyncio.run(serve())


def _mortal(file: Path, step: str, function: Callable[..., Any], *, behind: bool) -> Callable[..., Any]:
    """Return a function that kills its process at a step, if the file names that; once."""

    def die() -> None:
        with contextlib.suppress(FileNotFoundError):
            if file.read_text() == step:
                file.unlink()
                os.kill(os.getpid(), signal.SIGKILL)

    async def awaited(*arguments: Any, **named: Any) -> Any:
        if not behind:
            die()
        found = await function(*arguments, **named)
        if behind:
            die()
        return found

    def called(*arguments: Any, **named: Any) -> Any:
        if not behind:
            die()
        found = function(*arguments, **named)
        if behind:
            die()
        return found

    return awaited if asyncio.iscoroutinefunction(function) else called


if __name__ == "__main__":
    main()
