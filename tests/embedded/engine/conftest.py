"""The job engine on a bench: an executor that only records, and a loop whose time is moved by hand."""

from __future__ import annotations

import contextlib
import heapq
import inspect
import itertools
import json
from collections import deque
from typing import TYPE_CHECKING, Any, cast

import pytest

from minicluster.embedded.broker.engine import LeadEngine, build_lead_services
from minicluster.embedded.ports import Launch, LeadContext
from minicluster.embedded.services import Encoded, Registry, RpcRequest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
    from pathlib import Path

JSON = dict[str, Any]


async def decoded(items: AsyncGenerator[JSON | Encoded]) -> AsyncIterator[JSON]:
    """Yield a stream's items as its reader receives them."""
    async with contextlib.aclosing(items):
        async for item in items:
            yield item.decoded() if isinstance(item, Encoded) else item


class Handle:
    """A timer that can be cancelled."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """An event loop without I/O: `turn` runs what is due, `advance` moves the time."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self._ready: deque[Callable[[], Any]] = deque()
        self._timers: list[tuple[float, int, Handle, Callable[[], Any]]] = []
        self._order = itertools.count()

    def call_soon(self, function: Callable[..., Any], *args: Any) -> None:
        self._ready.append(lambda: function(*args))

    def call_later(self, delay: float, function: Callable[..., Any]) -> Handle:
        handle = Handle()
        heapq.heappush(self._timers, (self.now + delay, next(self._order), handle, function))
        return handle

    def turn(self) -> None:
        while self._ready:
            self._ready.popleft()()

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        self.turn()
        while self._timers and self._timers[0][0] <= end:
            self.now, _, handle, function = heapq.heappop(self._timers)
            if not handle.cancelled:
                function()
            self.turn()
        self.now = end


class Executor:
    """Records its calls."""

    def __init__(self) -> None:
        self.launches: list[Launch] = []
        self.signals: list[tuple[int, int]] = []
        self.kills: list[tuple[int, int]] = []
        self.tasks: list[tuple[str, int, list[int]]] = []  # of malleable jobs: what, job, which
        self.limits: list[tuple[int, JSON]] = []  # of jobs that share cores: job, limit by rank

    def start(self, launch: Launch) -> None:
        self.launches.append(launch)

    def signal(self, jobid: int, signum: int) -> None:
        self.signals.append((jobid, signum))

    def kill(self, jobid: int, signum: int) -> None:
        self.kills.append((jobid, signum))

    def limit(self, jobid: int, limits: JSON) -> None:
        self.limits.append((jobid, limits))

    def extend(self, jobid: int, order: int, slots: JSON, hosts: JSON) -> bool:
        assert {slot.rank for slot in slots.values()} == set(hosts)
        self.tasks.append(("start", jobid, list(slots)))
        return True

    def admit(self, jobid: int, tasks: Iterable[int]) -> None:
        self.tasks.append(("admit", jobid, list(tasks)))

    def dismiss(self, jobid: int, slots: JSON) -> None:
        self.tasks.append(("dismiss", jobid, list(slots)))

    def end_tasks(self, jobid: int, tasks: Iterable[int]) -> None:
        self.tasks.append(("end", jobid, list(tasks)))


def resources(nodes: int, cores: int, gpus: int = 0, properties: JSON | None = None) -> JSON:
    """Return an R of equal nodes."""
    children = {"core": f"0-{cores - 1}" if cores > 1 else "0"} | (
        {"gpu": f"0-{gpus - 1}" if gpus > 1 else "0"} if gpus else {}
    )
    execution: JSON = {
        "R_lite": [{"rank": f"0-{nodes - 1}" if nodes > 1 else "0", "children": children}],
        "starttime": 0.0,
        "expiration": 0.0,
        "nodelist": [f"mc-[0-{nodes - 1}]" if nodes > 1 else "mc-0"],
    }
    return {"version": 1, "execution": execution | ({"properties": properties} if properties else {})}


def jobspec(
    command: str = "true",
    slots: int = 1,
    cores: int = 1,
    nodes: int = 0,
    gpus: int = 0,
    exclusive: bool = False,
    **system: Any,
) -> JSON:
    """Return a jobspec as `flux submit` makes it."""
    inside = [{"type": "core", "count": cores}] + ([{"type": "gpu", "count": gpus}] if gpus else [])
    slot: JSON = {"type": "slot", "count": slots, "with": inside, "label": "task"}
    node: JSON = {"type": "node", "count": nodes, "with": [slot]} | ({"exclusive": True} if exclusive else {})
    return {
        "resources": [node if nodes else slot],
        "tasks": [{"command": [command], "slot": "task", "count": {"per_slot": 1}}],
        "attributes": {"system": {"duration": 0, "cwd": "/tmp", **system}},
        "version": 1,
    }


class Bench:
    """One engine, its executor and its topics."""

    def __init__(self, directory: Path, nodes: int = 2, cores: int = 2, **options: Any) -> None:
        self.loop = Loop()
        self.executor = Executor()
        self.registry = Registry()
        self.logged: list[str] = []
        self.R = options.pop("R", None) or resources(nodes, cores)
        self._options = options
        self.directory = directory
        self.engine = self.build()

    def build(self) -> LeadEngine:
        options = {"config": {}, "owner": 1000, **self._options}
        context = LeadContext(
            R=self.R,
            statedir=str(self.directory),
            executor=self.executor,
            log=lambda _level, text: self.logged.append(text),
            clock=lambda: self.loop.now,
            loop=cast("Any", self.loop) if options.pop("own_loop", True) else None,
            **options,
        )
        engine = build_lead_services(context, self.registry)
        for rank in range(len(engine.membership._pool.nodes)):  # type: ignore[attr-defined]
            engine.membership.rank_up(rank, f"mc-{rank}")
        engine.start_queue()
        self.loop.turn()
        return engine

    def restart(self) -> None:
        """Restart the lead after a crash."""
        self.executor, self.registry, self.loop._timers = Executor(), Registry(), []
        self.loop._ready.clear()
        self.engine = self.build()

    def call(self, topic: str, **payload: Any) -> Any:
        """Return the answer of a topic, or the awaitable or iterator of it."""
        answer = self.registry._handlers[topic](RpcRequest(topic, payload))
        self.loop.turn()
        return decoded(answer) if inspect.isasyncgen(answer) else answer

    def submit(self, command: str = "true", urgency: int = 16, flags: int = 0, **options: Any) -> int:
        spec = jobspec(command, **options)
        jobid: int = self.call("job-ingest.submit", jobspec=spec, urgency=urgency, flags=flags)["id"]
        return jobid

    def started(self, jobid: int) -> None:
        self.engine.events.started(jobid)
        self.loop.turn()

    def finish(self, jobid: int, status: int = 0) -> None:
        """Report the whole end of a job, as the executor does."""
        self.engine.events.started(jobid)
        self.engine.events.finished(jobid, status)
        self.engine.events.released(jobid)
        self.loop.turn()

    def running(self) -> list[int]:
        """Return the jobs that the executor was to start, in order."""
        return [launch.id for launch in self.executor.launches]

    def log(self, jobid: int, path: str = "eventlog") -> list[tuple[str, JSON]]:
        """Return the names and contexts of a job's events."""
        text = self.call("job-info.lookup", id=jobid, keys=[path])[path]
        return [(e["name"], e.get("context", {})) for e in map(json.loads, text.splitlines())]

    def names(self, jobid: int) -> list[str]:
        return [name for name, _ in self.log(jobid)]

    def shown(self, jobid: int) -> JSON:
        """Return a job's attributes in listings."""
        found = self.engine.listing.find(jobid)
        assert found is not None
        return found


class Kit:
    """What tests build with."""

    Bench = Bench
    jobspec = staticmethod(jobspec)
    resources = staticmethod(resources)


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Two nodes of two cores, first come first served."""
    made = Bench(tmp_path)
    yield made
    made.engine.close()
