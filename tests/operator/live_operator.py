"""The operator's own parts, put together as in its process, over an API server in memory."""

import asyncio
import contextlib
from collections.abc import Iterator
from datetime import timedelta

from minicluster.operator.cache import Cache
from minicluster.operator.controller import Controller
from minicluster.operator.lead_watch import LeadCommands
from minicluster.operator.planner import Planner
from minicluster.operator.queue import WorkQueue
from minicluster.operator.reconciler import Reconciler, ReconcilerOptions
from minicluster.plan import FreshKeys, Site
from tests.operator.memory_api import Crash, MemoryApi
from tests.operator.memory_lead import BEGIN
from tests.operator.memory_worker import MemoryWorker
from tests.operator.virtual_time import now


class Meter:
    """Counts how reconciles end, and keeps no time."""

    def __init__(self) -> None:
        self.results: list[str] = []

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure nothing."""
        yield

    def reconciled(self, result: str) -> None:
        """Note how a reconcile ended."""
        self.results.append(result)


class Operator:
    """One process: what it knows, and its work. It knows nothing when it begins."""

    def __init__(
        self, api: MemoryApi, keys: Iterator[FreshKeys], meter: Meter, site: Site, commands: LeadCommands
    ) -> None:
        self.cache = Cache()
        self.queue = WorkQueue(now)
        self.worker = MemoryWorker()
        around = ReconcilerOptions(
            site,
            "test",
            lambda _: next(keys),
            Planner(self.worker),
            lambda: BEGIN + timedelta(seconds=now()),
        )
        reconciler = Reconciler(api, self.cache, around, meter, commands)
        self.controller = Controller(self.cache, self.queue, reconciler, meter)
        self.working: asyncio.Future[None] = asyncio.Future()

    def begin(self) -> None:
        """Have it work."""
        self.working = asyncio.ensure_future(self.controller.work())

    @property
    def crashed(self) -> bool:
        """Whether it is no more."""
        return self.working.done()

    def kill(self) -> None:
        """Let it come to nothing more."""
        self.working.cancel()

    async def end(self) -> None:
        """End it at once, wherever it is. Raises what it did not die of on purpose."""
        self.kill()
        try:
            await self.working
        except asyncio.CancelledError:
            pass
        except BaseExceptionGroup as group:
            _, others = group.split(Crash)
            if others is not None:
                raise others from None
