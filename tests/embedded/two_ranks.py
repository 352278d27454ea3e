"""A program: a lead and two ranks in one process run some jobs, and print every message between them.

A line is: sender, receiver, the header's bytes, the body's bytes. The tasks are real processes in a
directory, the only argument, which is shown as DIR, and the user's id as 1000.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from minicluster.embedded.execution.lead.cpu_table import CpuTable
from minicluster.embedded.execution.lead.execution import Execution
from minicluster.embedded.execution.messages import RankLimit
from minicluster.embedded.execution.processes import Reaper
from minicluster.embedded.execution.rank import task_limits
from minicluster.embedded.execution.rank.enforcement.affinity import AffinityEnforcement
from minicluster.embedded.execution.rank.enforcement.enforcer import Enforcer
from minicluster.embedded.execution.rank.enforcement.records import Way
from minicluster.embedded.execution.rank.rank_job import RankSettings
from minicluster.embedded.execution.rank.spawn import BrokerEnv
from minicluster.embedded.execution.rank.tasks import Tasks
from minicluster.embedded.overlay import wire
from minicluster.embedded.ports import Launch
from minicluster.embedded.services import Registry, RpcRequest
from queue_policies.nodes.records import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.embedded.overlay.overlay import LeadOverlay, MessageReceiver

HOSTS = {0: "mc-0", 1: "mc-1"}


class Star:
    """Delivers messages as a network does: as bytes, and later."""

    def __init__(self, directory: str) -> None:
        self._directory = directory.encode()
        self._loop = asyncio.get_running_loop()
        self.ends: dict[str, StarEnd] = {}
        self._printed: set[str] = set()

    def end(self, name: str, rank: int) -> LeadOverlay:
        """Return one party's end: that of the lead, or of the tasks on a rank."""
        self.ends[name] = StarEnd(self, name, rank)
        return cast("LeadOverlay", self.ends[name])

    def carry(
        self, sender: StarEnd, receiver: str, message: Mapping[str, object], body: bytes | None
    ) -> bool:
        frames = wire.encode(message, body)
        owner = f'"owner":{os.getuid()}'.encode()
        shown = (
            repr(frame.replace(self._directory, b"DIR").replace(owner, b'"owner":1000'))[2:-1]
            for frame in frames
        )
        line = re.sub(r'"seconds":.*}', '"seconds":…}', "\t".join([sender.name, receiver, *shown]))
        if '"exec-usage"' not in line or line not in self._printed:  # one of many
            print(line)
            self._printed.add(line)
        header, data = wire.decode(frames)
        self._loop.call_soon(self.ends[receiver].handlers[header["type"]], sender.rank, header, data)
        return True


class StarEnd:
    """The part of an overlay that lead and tasks use."""

    def __init__(self, star: Star, name: str, rank: int) -> None:
        self.name = name
        self.rank = rank
        self.handlers: dict[str, MessageReceiver] = {}
        self._star = star

    def on(self, kind: str, handler: MessageReceiver) -> None:
        self.handlers[kind] = handler

    def send(self, rank: int, message: Mapping[str, object], body: bytes | None = None) -> bool:
        receiver = f"rank {rank}" if self.name == "lead" else "lead"
        return self._star.carry(self, receiver, message, body)


def _limits(cores: float | None, order: int) -> dict[int, RankLimit]:
    """Return a CPU limit for each rank."""
    return {rank: RankLimit(cores=cores, size=1, ids=[0], order=order) for rank in HOSTS}


class Events:
    """Knows when a job's tasks run, what they use and are limited to, and when it is over."""

    def __init__(self) -> None:
        self.is_limited, self.is_used = asyncio.Event(), asyncio.Event()
        self._used: set[int] = set()
        self.is_started = asyncio.Event()
        self.is_over = asyncio.Event()

    def limited(self, _job: int, order: int, _ways: list[str]) -> None:
        if order:
            self.is_limited.set()

    def used(self, _job: int, rank: int, _seconds: float, _cpu: float, _memory: float) -> None:
        self._used.add(rank)
        if len(self._used) == len(HOSTS):
            self.is_used.set()

    def __getattr__(self, name: str) -> Callable[..., None]:
        awaited = {"started": self.is_started, "released": self.is_over}.get(name)
        return lambda *_args: awaited.set() if awaited is not None else None


class Ranks:
    """The lead's side and both ranks."""

    def __init__(self, directory: Path) -> None:
        star = Star(str(directory))
        enforcer = Enforcer([(Way.AFFINITY, AffinityEnforcement)])
        self._directory = directory
        self._registry = Registry()
        self.execution = Execution(star.end("lead", 0), CpuTable([]), lambda _level, _text: None)
        self.execution.register(self._registry)
        reaper = Reaper()
        reaper.open()
        self.tasks = []
        for rank, host in HOSTS.items():
            broker = BrokerEnv("local:///x", directory / host, "marker")
            settings = RankSettings(host, broker, reaper, 0.3, enforcer=lambda: enforcer)
            self.tasks.append(Tasks(star.end(f"rank {rank}", rank), settings))

    def start(
        self, job: int, script: str, *, malleable: bool = False, limited: bool = False, **options: Any
    ) -> Events:
        """Start a job of two tasks on two ranks."""
        slot = {"type": "slot", "count": 2, "with": [{"type": "core", "count": 1}], "label": "task"}
        command = ["bash", "-c", script] if script else ["/nosuchcommand"]
        system = {
            "duration": 0,
            "cwd": options.pop("cwd", str(self._directory)),
            "environment": {"PATH": "/usr/bin:/bin"},
            "shell": {"options": options},
        }
        spec = {
            "version": 1,
            "resources": [slot],
            "tasks": [{"command": command, "slot": "task", "count": {"per_slot": 1}}],
            "attributes": {"system": system},
        }
        execution = {
            "R_lite": [{"rank": "0-1", "children": {"core": "0"}}],
            "nodelist": ["mc-[0-1]"],
            "nslots": 2,
            "starttime": 0,
            "expiration": 0,
        }
        events = Events()
        resources = {"version": 1, "execution": execution}
        credentials = "secret" if malleable else None
        limits = _limits(None, 0) if limited else None
        self.execution.start(Launch(job, spec, resources, 1000, credentials, events, limits=limits))  # type: ignore[arg-type]
        return events

    async def feed(self, job: int, data: str) -> None:
        """Write to the standard input of a job's tasks, and close it."""
        handler = self._registry._handlers["job-exec.stdin"]
        await cast("Any", handler(RpcRequest("job-exec.stdin", {"id": job, "data": data, "eof": True})))


async def run(directory: Path) -> None:
    """Run jobs until every kind of message was sent."""
    ranks = Ranks(directory)
    barrier = 'printf "cmd=barrier_in\\n" >&$PMI_FD; read -r answer <&$PMI_FD; read -r word; echo $word'
    talk = ranks.start(1, f"{barrier}; exit 3")
    await talk.is_started.wait()
    await ranks.feed(1, "hello\n")
    await talk.is_over.wait()

    file = {"stdout": {"type": "file", "path": "out-{{id}}"}}
    await ranks.start(2, "echo $FLUX_TASK_RANK", output=file).is_over.wait()
    await ranks.start(3, "", cwd="/nosuchdir").is_over.wait()
    abort = 'test $PMI_RANK = 1 && printf "cmd=abort exitcode=5 error_msg=oh no\\n" >&$PMI_FD; sleep 0.2'
    await ranks.start(4, abort).is_over.wait()

    signalled = ranks.start(5, "exec sleep 60")
    await signalled.is_started.wait()
    ranks.execution.signal(5, signal.SIGUSR1)
    await signalled.is_over.wait()

    grown = ranks.start(6, "exec sleep 60", malleable=True)
    await grown.is_started.wait()
    ranks.execution.extend(6, 7, {2: Slot(1, (2, 0))}, HOSTS)
    ranks.execution.end_tasks(6, [2])
    ranks.execution.kill(6, signal.SIGTERM)
    await grown.is_over.wait()

    task_limits.SAMPLE_SECONDS = 0.01
    limited = ranks.start(7, "exec sleep 60", limited=True)
    await limited.is_used.wait()
    ranks.execution.limit(7, _limits(0.5, 1))
    await limited.is_limited.wait()
    ranks.execution.kill(7, signal.SIGTERM)
    await limited.is_over.wait()
    for tasks in ranks.tasks:
        await tasks.end_all()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1])))
