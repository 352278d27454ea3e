"""The parent of every process of one test cluster: it leaves nothing behind, however its owner ends.

Run as a program of its own, by path, on the standard library alone. It
- ends the cluster when its owner ends, SIGKILL included (a pidfd becomes readable), at a request on its
  socket, or by SIGTERM;
- has the kernel kill what it started when it is killed itself (PR_SET_PDEATHSIG);
- is the subreaper of its descendants, so that one that forked away from its parent is still found and killed;
- holds the lock and the reserved ports of the cluster for as long as it lives;
- removes the cluster's directory last.

The socket takes one JSON object a connection, ended by a newline, and answers with one:
`{"do": "start", "name": N, "argv": [...], "log": PATH, "environment": {...}}` → `{"pid": P}`
`{"do": "stop", "name": N, "signal": S, "seconds": T}` → `{}` once it is gone: killed, if need be, after T
`{"do": "list"}` → `{N: {"pid": P, "ended": null | wait status}}`, without those that were stopped
`{"do": "end"}` → `{}` once all is gone.
"""

import argparse
import contextlib
import ctypes
import json
import os
import runpy
import select
import shutil
import signal
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>
HANDLED = {signal.SIGTERM, signal.SIGCHLD}  # through the wake-up pipe

Request = dict[str, Any]


@dataclass
class Child:
    """One process that was started by name; `ended` is its wait status."""

    pid: int
    ended: int | None = None


@dataclass
class Guardian:
    """The processes of one cluster, by name."""

    directory: Path
    libc: ctypes.CDLL
    children: dict[str, Child] = field(default_factory=dict)

    def start(self, request: Request) -> dict[str, int]:
        """Start a program in a session of its own, its output in a file."""
        guardian = os.getpid()
        environment = {**os.environ, **request.get("environment", {})}
        # A signal that came between fork and exec would run the handler in the child: the program would not
        # get it, and the pipe that the two share would have it mean the guardian.
        signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
        pid = os.fork()
        if pid == 0:
            self.become(request["argv"], request["log"], environment, guardian)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
        self.children[request["name"]] = Child(pid)
        return {"pid": pid}

    def become(self, argv: list[str], log: str, environment: dict[str, str], guardian: int) -> None:
        """In the child: never returns."""
        try:
            for number in HANDLED:
                signal.signal(number, signal.SIG_DFL)
            os.setsid()
            self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != guardian:  # it died before the line above
                os._exit(1)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.chdir(self.directory)
            os.execve(argv[0], argv, environment)
        except OSError as error:
            os.write(2, f"{argv[0]}: {error}\n".encode())
        finally:
            os._exit(127)

    def reap(self) -> bool:
        """Collect what ended; False when there is no child left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            for child in self.children.values():
                if child.pid == pid:
                    child.ended = status

    def stop(self, request: Request) -> dict[str, int]:
        """End one process, by force when it does not listen."""
        child = self.children.get(request["name"])
        if child is not None and child.ended is None:
            signal_tree(child.pid, int(request["signal"]))
            deadline = time.monotonic() + request["seconds"]
            while self.reap() and child.ended is None:
                if time.monotonic() > deadline:
                    signal_tree(child.pid, signal.SIGKILL)
                time.sleep(0.005)
        self.children.pop(request["name"], None)
        return {}

    def listing(self, _request: Request) -> dict[str, dict[str, int | None]]:
        """Return the processes, with the wait status of those that have ended."""
        self.reap()
        return {name: {"pid": child.pid, "ended": child.ended} for name, child in self.children.items()}

    def end(self) -> None:
        """Kill every descendant, then remove the directory."""
        while self.reap():
            for pid in children_of(os.getpid()):
                signal_tree(pid, signal.SIGKILL)
            time.sleep(0.005)
        groups = runpy.run_path(str(Path(__file__).with_name("control_groups.py")))
        groups["remove"](self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)


def signal_tree(pid: int, number: int) -> None:
    """Signal the process group that a process leads, else the process; once: a second SIGTERM means haste."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def children_of(parent: int) -> list[int]:
    """Read the parents of all processes, as /proc/PID/task/PID/children is not on every kernel."""
    processes = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [int(process.name) for process in processes if parent_of(process) == parent]


def parent_of(process: Path) -> int | None:
    """Read the fourth field of stat; the second, the name, may hold blanks and brackets."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return None


def answer(guardian: Guardian, connection: socket.socket) -> bool:
    """Serve one connection; True when the cluster has come to its end. Its client may go away at any time."""
    with connection:
        try:
            with connection.makefile("rb") as stream:
                request = json.loads(stream.readline())
            ending = bool(request["do"] == "end")
            if ending:
                guardian.end()
                reply: Any = {}
            else:
                doers = {"start": guardian.start, "stop": guardian.stop, "list": guardian.listing}
                reply = doers[request["do"]](request)
        except (OSError, ValueError, KeyError, TypeError) as error:
            ending, reply = False, {"error": repr(error)}
        with contextlib.suppress(OSError):
            connection.sendall(json.dumps(reply).encode() + b"\n")
        return ending


def owner_descriptor(owner: int) -> int | None:
    """Open a descriptor that becomes readable when the owner ends; None for a cluster without an owner."""
    if owner == 0:
        return None
    if os.getppid() != owner:  # it died before it could be watched
        raise ProcessLookupError(owner)
    return os.pidfd_open(owner)


def serve(guardian: Guardian, listener: socket.socket, owner: int) -> None:
    """Answer requests until the end."""
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poller = select.poll()
    watched = owner_descriptor(owner)
    for descriptor in (listener.fileno(), wake, *([] if watched is None else [watched])):
        poller.register(descriptor, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poller.poll()}
        if watched in ready:
            return
        if wake in ready:
            if signal.SIGTERM in os.read(wake, 4096):
                return
            guardian.reap()
        if listener.fileno() in ready and answer(guardian, listener.accept()[0]):
            return


def main() -> None:
    """Guard one cluster."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--owner", type=int, required=True, help="process to end with; 0: none")
    parser.add_argument("--listener", type=int, required=True, help="descriptor of the listening socket")
    parser.add_argument("--held", type=int, nargs="*", default=[], help="descriptors to keep open")
    options = parser.parse_args()
    for descriptor in (options.listener, *options.held):
        os.set_inheritable(descriptor, False)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    guardian = Guardian(options.directory, libc)
    try:
        with socket.socket(fileno=options.listener) as listener:
            serve(guardian, listener, options.owner)
    except ProcessLookupError:
        pass  # the owner is gone already
    finally:
        guardian.end()


if __name__ == "__main__":
    main()
