"""PMI-1 simple wire protocol (RFC 13): the server in each broker, and the client of a sub-instance's broker.

Puts are kept on the rank until the barrier. The barrier gathers the puts of all ranks on the lead and sends
all of them to each rank, so that `get` is answered locally.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicluster.embedded.errors import BootError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

_KEY_LIMIT = 64
_VALUE_LIMIT = 1024
_LINE_LIMIT = 4096
_NO_SUCH_KEY = 4  # PMI_ERR_INVALID_KEY


@dataclass(slots=True)
class PmiJob:
    """One job's PMI on one rank. `enter(puts)` reports to the lead that its tasks are in the barrier."""

    name: str
    """The name of its key-value store."""
    size: int
    """Tasks of the job."""
    local: int
    """Tasks on this rank."""
    mapping: str
    """Which task is on which node, as PMI has it (`PMI_process_mapping`)."""
    enter: Callable[[dict[str, str]], None]
    abort: Callable[[int, str], None]
    """Ends the job at the wish of a task: its exit code, and a message."""
    kvs: dict[str, str] = field(default_factory=dict)
    """What every task may get: all puts up to the last barrier."""
    puts: dict[str, str] = field(default_factory=dict)
    """What this rank's tasks put since then."""
    waiting: list[PmiClient] = field(default_factory=list)
    """Tasks that are in the barrier."""

    def __post_init__(self) -> None:
        self.kvs["PMI_process_mapping"] = self.mapping

    def wait(self, client: PmiClient) -> None:
        """Add a task to the barrier."""
        self.waiting.append(client)
        if len(self.waiting) == self.local:
            puts, self.puts = self.puts, {}
            self.enter(puts)

    def release(self, puts: Mapping[str, str]) -> None:
        """Let the tasks leave the barrier; `puts` are those of all ranks."""
        self.kvs.update(puts)
        waiting, self.waiting = self.waiting, []
        for client in waiting:
            client.answer("barrier_out", "rc=0")


class PmiClient:
    """One task's connection."""

    def __init__(self, job: PmiJob, server_end: socket.socket) -> None:
        self._job = job
        self._socket = server_end
        self._input = b""
        self._in_spawn = False
        """Whether the lines of a request to spawn tasks come, from `mcmd=spawn` to `endcmd`."""
        server_end.setblocking(False)
        asyncio.get_running_loop().add_reader(server_end.fileno(), self._readable)

    def _readable(self) -> None:
        try:
            data = self._socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, self._input = (self._input + data).split(b"\n")
        for line in lines:
            self._request(line.decode("utf-8", "surrogateescape"))
        if not data or len(self._input) > _LINE_LIMIT:
            self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._socket.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            self._socket.close()

    def answer(self, command: str, rest: str) -> None:
        """Send one response line."""
        with contextlib.suppress(OSError):  # the task is gone
            self._socket.sendall(f"cmd={command} {rest}\n".encode("utf-8", "surrogateescape"))

    def _request(self, line: str) -> None:
        self._in_spawn = self._in_spawn or line.startswith("mcmd=spawn")
        if not self._in_spawn:
            self._known(line)
        elif line == "endcmd":
            self._in_spawn = False
            self.answer("spawn_result", "rc=-1")  # as Flux: no task is ever spawned

    def _known(self, line: str) -> None:
        words = parse(line)
        command = words.get("cmd", "")
        job = self._job
        fixed = {
            "init": ("response_to_init", "rc=0 pmi_version=1 pmi_subversion=1"),
            "get_maxes": ("maxes", f"rc=0 kvsname_max=64 keylen_max={_KEY_LIMIT} vallen_max={_VALUE_LIMIT}"),
            "get_appnum": ("appnum", "rc=0 appnum=0"),
            "get_my_kvsname": ("my_kvsname", f"rc=0 kvsname={job.name}"),
            "get_universe_size": ("universe_size", f"rc=0 size={job.size}"),
            "publish_name": ("publish_result", "rc=-1 msg=not supported"),
            "unpublish_name": ("unpublish_result", "rc=-1 msg=not supported"),
            "lookup_name": ("lookup_result", "rc=-1 msg=not supported"),
            "finalize": ("finalize_ack", "rc=0"),
        }
        if command in fixed:
            self.answer(*fixed[command])
        elif command == "put":
            self._put(words)
        elif command == "get":
            value = job.puts.get(words.get("key", ""), job.kvs.get(words.get("key", "")))
            self.answer("get_result", f"rc={_NO_SUCH_KEY}" if value is None else f"rc=0 value={value}")
        elif command == "barrier_in":
            job.wait(self)
        elif command == "abort":
            code = words.get("exitcode", "1")
            job.abort(int(code) if code.lstrip("-").isdigit() else 1, words.get("error_msg", ""))
        else:
            job.abort(1, f"unknown PMI request {line[:80]!r}")

    def _put(self, words: Mapping[str, str]) -> None:
        key, value = words.get("key", ""), words.get("value", "")
        fits = 0 < len(key) <= _KEY_LIMIT and len(value) <= _VALUE_LIMIT
        if fits:
            self._job.puts[key] = value
        self.answer("put_result", "rc=0" if fits else "rc=-1")


def parse(line: str) -> dict[str, str]:
    """Return the key=value pairs of a line; `value` and `error_msg` may have spaces and are its rest."""
    words: dict[str, str] = {}
    rest = line.strip()
    while rest:
        key, found, rest = rest.partition("=")
        if not found:
            break
        if key in {"value", "error_msg"}:
            words[key] = rest
            break
        words[key], _, rest = rest.partition(" ")
        rest = rest.lstrip()
    return words


class PmiConnection:
    """The client's side, blocking: a broker that was started as a task of an outer instance."""

    def __init__(self, descriptor: int, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        self._ask("init pmi_version=1 pmi_subversion=1")
        self._name = self._ask("get_my_kvsname")["kvsname"]

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> PmiConnection | None:
        """Return the connection that PMI_FD, PMI_RANK and PMI_SIZE describe, or None without them."""
        try:
            return cls(int(environ["PMI_FD"]), int(environ["PMI_RANK"]), int(environ["PMI_SIZE"]))
        except KeyError:
            return None
        except (ValueError, OSError) as error:
            raise BootError(f"bootstrap: PMI_FD={environ.get('PMI_FD')}: {error}") from error

    def _ask(self, request: str) -> dict[str, str]:
        self._file.write(f"cmd={request}\n".encode())
        line = self._file.readline(_LINE_LIMIT)
        words = parse(line.decode("utf-8", "surrogateescape"))
        if words.get("rc", "-1") != "0":
            command, got = request.split(maxsplit=1)[0], line.decode(errors="replace").strip()
            raise BootError(f"bootstrap: PMI: {command} failed: {got!r}")
        return words

    def put(self, key: str, value: str) -> None:
        """Publish a value."""
        self._ask(f"put kvsname={self._name} key={key} value={value}")

    def get(self, key: str) -> str:
        """Return a value that a rank put before the last barrier."""
        return self._ask(f"get kvsname={self._name} key={key}")["value"]

    def barrier(self) -> None:
        """Wait for all ranks."""
        self._ask("barrier_in")

    def close(self) -> None:
        """End the session."""
        self._ask("finalize")
        self._file.close()
