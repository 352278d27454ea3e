"""Listening to the lead brokers: one stream a MiniCluster, as long as its lead's pod runs.

What a lead reports goes into the cache, from which reconciles read; what `plan()` wants a lead to be told
goes out from here. Neither keeps a reconcile waiting: a lead may be slow, or wicked.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_config import idset
from minicluster.kubernetes import door_report, logs
from minicluster.kubernetes.door_connection import (
    LINE_BYTES,
    SPACING,
    Address,
    connected,
)
from minicluster.kubernetes.errors import ClosedDoorError, DoorError
from minicluster.kubernetes.last_words import shown
from minicluster.kubernetes.records import Heard
from minicluster.plan import door_name
from minicluster.plan.shrinking import RESTART_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from minicluster.kubernetes.cache import Cache
    from minicluster.kubernetes.door_connection import DoorConnection, Head
    from minicluster.kubernetes.door_keys import Authority
    from minicluster.kubernetes.records import Lead, Name
    from minicluster.plan import BrokerReport, Order
    from minicluster.plan.fields import Object

STATUS = "/v1/status?watch=true"
FIRST_PAUSE = 0.2
LAST_PAUSE = 10.0
EAGER = 2.0
"""Seconds for which a new lead's door is tried after short pauses: most have opened theirs by then."""
LASTING = 5.0
"""Seconds of a stream after which the next one is tried for as eagerly as the first."""
GRACE = 3.0
"""Seconds that a door may be silent for before that is told: it starts, or starts again."""
STARTING_GRACE = 15.0
"""The same for a door that was never open, where nobody listens yet: on a busy node a start is slow."""
AT_A_TIME = 64
"""How many doors are knocked at at a time, and as many again with an order."""
SLOW_AT_A_TIME = 16
"""How many of those that were slow the last time, with or without an order."""
SLOW = 2.0
"""Seconds after which a door is slow to answer."""
MOVING = frozenset({"restart", "recover"})
"""Orders that are answered with the jobs that were started again, which takes longer."""

log = logging.getLogger(__name__)


class Orders(Protocol):
    """Where a reconcile leaves what a lead is to be told."""

    def order(self, name: Name, orders: tuple[Order, ...]) -> None:
        """Have the lead told, in this order; nobody waits for it, and what fails is ordered again."""
        ...


class _Listening(NamedTuple):
    lead: Lead
    task: asyncio.Task[None]


class Doors:
    """The doors of all MiniClusters in the cache. `changed` is told whose lead has said something new.

    `look` at a MiniCluster whenever something was heard of it; `close` in the end.
    """

    def __init__(
        self, cache: Cache, authority: Authority, changed: Callable[[Name], None], port: int
    ) -> None:
        self._cache = cache
        self._authority = authority
        self._trust = authority.trust()
        self._changed = changed
        self._port = port
        self._knocking = asyncio.Semaphore(AT_A_TIME)
        self._ordering = asyncio.Semaphore(AT_A_TIME)
        self._waiting = asyncio.Semaphore(SLOW_AT_A_TIME)
        self._slow: set[tuple[Name, asyncio.Semaphore]] = set()
        self._listening: dict[Name, _Listening] = {}
        self._telling: set[Name] = set()
        self._closed = False

    def look(self, name: Name) -> None:
        """Listen to the lead of a MiniCluster where it runs; stop where it does not, or is another."""
        lead = None if self._closed else self._cache.lead(name)
        known = self._listening.get(name)
        if known is not None and lead != known.lead:
            self._end(name)
            self._cache.answers.pop(name, None)
            self._slow -= {(name, self._knocking), (name, self._ordering)}
            known = None
        if known is None and lead is not None:
            self._begin(name, lead)

    def order(self, name: Name, orders: tuple[Order, ...]) -> None:
        """Have the lead told, in this order, unless it is just being told something.

        What it has reported before does not count any more, and is forgotten at once: a pod must not go
        because of what was true before its rank was drained.
        """
        known = self._listening.get(name)
        if known is not None and name not in self._telling:
            self._end(name)
            self._telling.add(name)
            self._begin(name, known.lead, orders)

    async def close(self) -> None:
        """Stop listening and telling, for good."""
        self._closed = True
        tasks = [each.task for each in self._listening.values()]
        for name in list(self._listening):
            self._end(name)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, name: Name, lead: Lead, orders: tuple[Order, ...] = ()) -> None:
        self._listening[name] = _Listening(lead, asyncio.create_task(self._attend(name, lead, orders)))

    def _end(self, name: Name) -> None:
        self._listening.pop(name).task.cancel()
        self._telling.discard(name)
        self._hear(name, None)

    async def _attend(self, name: Name, lead: Lead, orders: tuple[Order, ...]) -> None:
        if orders:
            await self._tell(name, lead, orders)
            self._telling.discard(name)
        await self._listen(name, lead)

    async def _listen(self, name: Name, lead: Lead) -> None:
        """Listen for ever; where that fails try again, later each time."""
        since, pause, before = now(), FIRST_PAUSE, ""
        silent_since, was_open = since, False
        while True:
            begin, lines, grace = now(), 0, GRACE
            try:
                async for report in self._reports(name, lead):
                    lines += 1
                    self._hear(name, Heard(report))
                    await asyncio.sleep(SPACING)
                trouble = f"the lead's door at {self._address(lead)} has ended its report"
            except DoorError as error:
                trouble = str(error)
                grace = STARTING_GRACE if isinstance(error, ClosedDoorError) and not was_open else GRACE
            except Exception:  # noqa: BLE001  # one lead must not stop the others
                trouble = "a defect of the operator: its log says more"
                self._log(name).exception("a defect of the operator: its lead cannot be listened to")
            silent_since, was_open = (now(), True) if lines else (silent_since, was_open)
            told = self._cache.heard.get(name)
            # What is told once is told otherwise only where that lasts: a dying host says this and that.
            is_silent = told is not None and told.report is None
            if now() - silent_since >= grace and (trouble == before or not is_silent):
                self._hear(name, Heard(None, trouble))
            before = trouble
            pause = FIRST_PAUSE if lines and now() - begin >= LASTING else pause
            self._log(name).debug("%s; tried again in %.1f s", trouble, pause)
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311  # no secret
            pause = pause if now() - since < EAGER else min(2 * pause, LAST_PAUSE)

    async def _reports(self, name: Name, lead: Lead) -> AsyncIterator[BrokerReport]:
        """Yield what a lead reports, until it ends that. Raises DoorError."""
        async with AsyncExitStack() as stack:
            async with self._slot(name, self._knocking):
                door = await stack.enter_async_context(connected(self._address(lead), self._trust))
                head = await door.request("GET", STATUS, self._authority.token(lead.uid))
            await _admitted(door, head)
            async for line in door.lines(head):
                yield door_report.parse(line, self._pods(name))

    async def _tell(self, name: Name, lead: Lead, orders: tuple[Order, ...]) -> None:
        for order in orders:
            about = order.ranks or idset.encode(each.rank for each in order.lost)
            what = order.action + (f" of ranks {about}" if about else "")
            try:
                async with (
                    self._slot(name, self._ordering),
                    connected(self._address(lead), self._trust) as door,
                ):
                    answer = await self._post(door, lead, order)
                if order.action in MOVING:
                    answered = self._cache.answers.setdefault(name, {})
                    answered[order.action] = door_report.restarted(answer, order)
            except DoorError as error:
                self._log(name).warning("%s was not told: %s", what, error)
            except Exception:  # noqa: BLE001  # it is ordered again
                self._log(name).exception("a defect of the operator: its lead cannot be told")
            else:
                self._log(name).info("%s", what)

    async def _post(self, door: DoorConnection, lead: Lead, order: Order) -> str:
        """Send an order, and return the answer. Raises DoorError."""
        token, sent = self._authority.token(lead.uid), json.dumps(_body(order)).encode()
        seconds = float(RESTART_SECONDS) if order.action in MOVING else None
        head = await door.request("POST", f"/v1/{order.action}", token, sent, seconds)
        await _admitted(door, head)
        return await door.text(head, LINE_BYTES)

    @asynccontextmanager
    async def _slot(self, name: Name, usual: asyncio.Semaphore) -> AsyncIterator[None]:
        """Wait until a door may be knocked at: those that keep us waiting must not be in the others' way."""
        which = name, usual  # one that is quick to report may be slow to take orders
        async with self._waiting if which in self._slow else usual:
            begin = now()
            try:
                yield
            finally:
                if now() - begin >= SLOW and name in self._listening:
                    self._slow.add(which)
            if now() - begin < SLOW:
                self._slow.discard(which)

    def _pods(self, name: Name) -> int:
        """Return how many pods a MiniCluster can have, at most."""
        known = self._cache.clusters.get(name, {})
        spec, status = known.get("spec") or {}, known.get("status") or {}
        return int(status.get("maximumSize") or spec.get("maxSize") or spec.get("size") or 1)

    def _hear(self, name: Name, heard: Heard | None) -> None:
        known = self._cache.heard.get(name)
        heard = _dated(heard, known.report if known else None, datetime.now(UTC))
        if self._cache.hear(name, heard):
            self._changed(name)

    def _address(self, lead: Lead) -> Address:
        return Address(lead.address, self._port, door_name(lead.uid))

    def _log(self, name: Name) -> logs.ObjectLogger:
        known = self._cache.clusters.get(name)
        return logs.for_object(log, name, known["metadata"]["uid"] if known else "")


def _body(order: Order) -> Object:
    """Return what is sent with an order."""
    if order.action == "save":
        return {"timeout": order.seconds}
    if order.action == "recover":
        times = {str(each.rank): [each.started.timestamp(), each.taken.timestamp()] for each in order.lost}
        return {"lost": times}
    return {"ranks": order.ranks, **({"reason": order.reason} if order.reason else {})}


def _dated(heard: Heard | None, before: BrokerReport | None, now: datetime) -> Heard | None:
    """Return what is heard with the time at which a save's phase was heard first: clocks may differ."""
    if heard is None or heard.report is None or heard.report.saving is None:
        return heard
    told, known = heard.report.saving, before.saving if before else None
    is_known = known is not None and (known.phase, known.told) == (told.phase, told.told)
    saving = replace(told, since=known.since if known and is_known else now)
    return heard._replace(report=replace(heard.report, saving=saving))


async def _admitted(door: DoorConnection, head: Head) -> None:
    """Raise DoorError where a door answers with a refusal."""
    if head.status == HTTPStatus.UNAUTHORIZED:
        raise door.trouble("does not accept this operator's token")
    if head.status not in {HTTPStatus.OK, HTTPStatus.ACCEPTED}:
        said = shown((await door.text(head)).strip())
        raise door.trouble(f"answers {head.status}" + (f": {said}" if said else ""))


def now() -> float:
    """Return the running loop's time."""
    return asyncio.get_running_loop().time()
