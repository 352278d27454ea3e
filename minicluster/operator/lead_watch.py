"""Watches the lead brokers: one status stream for each MiniCluster, as long as its lead's pod runs.

The reports of a lead go into the cache, from which reconciles read. The commands that `plan()` has for a lead
are sent from here. No reconcile waits for either: a lead may be slow, or hostile.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_config.formats import idset
from minicluster.kube_client import logs
from minicluster.lead_client import report as lead_report
from minicluster.lead_client.connection import MAX_LINE_BYTES, READ_INTERVAL, Address, connected
from minicluster.lead_client.errors import LeadError, LeadPortClosedError
from minicluster.lead_client.termination_message import shown
from minicluster.operator.lead_slots import LeadSlots
from minicluster.operator.records import LeadReport, Unreachable
from minicluster.plan.lifecycle.shrinking import RESTART_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from minicluster.kube_client.objects import Name
    from minicluster.lead_client.broker_pods import Lead
    from minicluster.lead_client.connection import LeadConnection, ResponseHead
    from minicluster.lead_client.keys import LeadAuthority
    from minicluster.operator.cache import Cache
    from minicluster.plan import BrokerReport, LeadCommand
    from minicluster.plan.objects.fields import Object

STATUS = "/v1/status?watch=true"
MIN_RETRY_INTERVAL = 0.2
MAX_RETRY_INTERVAL = 10.0
EAGER = 2.0
"""Seconds for which a new lead is tried after short pauses: most lead servers listen by then."""
STEADY_SECONDS = 5.0
"""Seconds of a stream after which the pauses before the next one are short again."""
REPORT_TIMEOUT = 3.0
"""Seconds without a report before the lead is reported as unreachable: its server may be restarting."""
STARTING_LIMIT = 15.0
"""The same for a lead server that has never listened: on a busy node its start is slow."""
MOVING = frozenset({"restart", "recover"})
"""Commands that return the restarted jobs, which takes longer."""

log = logging.getLogger(__name__)


class LeadCommands(Protocol):
    """Takes the commands of a reconcile for a lead."""

    def send(self, name: Name, orders: tuple[LeadCommand, ...]) -> None:
        """Send commands in order, and return at once; the next reconcile decides on those that fail."""
        ...


class _Stream(NamedTuple):
    lead: Lead
    task: asyncio.Task[None]


class LeadWatch:
    """Watches the leads of all MiniClusters in the cache.

    `changed` is called with the name of each MiniCluster that has a new report. Call `follow` whenever a
    MiniCluster or its objects have changed, and `close` in the end.
    """

    def __init__(
        self, cache: Cache, authority: LeadAuthority, changed: Callable[[Name], None], port: int
    ) -> None:
        self._cache = cache
        self._authority = authority
        self._trust = authority.trust()
        self._changed = changed
        self._port = port
        self._streams: dict[Name, _Stream] = {}
        self._slots = LeadSlots(self._streams.__contains__)
        self._sending: set[Name] = set()
        self._closed = False

    def follow(self, name: Name) -> None:
        """Read the stream of a MiniCluster's lead while its pod runs; end the stream of an earlier lead."""
        lead = None if self._closed else self._cache.own_pods(name).lead
        known = self._streams.get(name)
        if known is not None and lead != known.lead:
            self._end(name)
            self._cache.answers.discard(name)
            self._slots.forget(name)
            known = None
        if known is None and lead is not None:
            self._begin(name, lead)

    def send(self, name: Name, orders: tuple[LeadCommand, ...]) -> None:
        """Send commands to a lead, one after the other, unless some are being sent to it.

        Its last report is forgotten at once: a pod must not be removed because of a report from before its
        rank was drained.
        """
        known = self._streams.get(name)
        if known is not None and name not in self._sending:
            self._end(name)
            self._sending.add(name)
            self._begin(name, known.lead, orders)

    async def close(self) -> None:
        """End all streams and commands, for good."""
        self._closed = True
        tasks = [each.task for each in self._streams.values()]
        for name in list(self._streams):
            self._end(name)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, name: Name, lead: Lead, orders: tuple[LeadCommand, ...] = ()) -> None:
        self._streams[name] = _Stream(lead, asyncio.create_task(self._attend(name, lead, orders)))

    def _end(self, name: Name) -> None:
        self._streams.pop(name).task.cancel()
        self._sending.discard(name)
        self._report(name, None)

    async def _attend(self, name: Name, lead: Lead, orders: tuple[LeadCommand, ...]) -> None:
        if orders:
            await self._send(name, lead, orders)
            self._sending.discard(name)
        await self._stream(name, lead)

    async def _stream(self, name: Name, lead: Lead) -> None:
        """Read the stream for ever; after a failure try again, with longer pauses each time."""
        since, pause, before = now(), MIN_RETRY_INTERVAL, ""
        silent_since, was_open = since, False
        while True:
            begin, lines, limit = now(), 0, REPORT_TIMEOUT
            try:
                async for report in self._reports(name, lead):
                    lines += 1
                    self._report(name, LeadReport(report))
                    await asyncio.sleep(READ_INTERVAL)
                trouble = f"the lead API at {self._address(lead)} has ended its report"
            except LeadError as error:
                trouble = str(error)
                is_starting = isinstance(error, LeadPortClosedError) and not was_open
                limit = STARTING_LIMIT if is_starting else REPORT_TIMEOUT
            except Exception:  # noqa: BLE001  # one lead must not stop the others
                trouble = "a defect of the operator: its log says more"
                self._log(name).exception("a defect of the operator: its lead cannot be listened to")
            silent_since, was_open = (now(), True) if lines else (silent_since, was_open)
            # A reason replaces another one only if it comes twice in a row: a dying host gives several.
            is_unreachable = isinstance(self._cache.leads.get(name), Unreachable)
            if now() - silent_since >= limit and (trouble == before or not is_unreachable):
                self._report(name, Unreachable(trouble))
            before = trouble
            pause = MIN_RETRY_INTERVAL if lines and now() - begin >= STEADY_SECONDS else pause
            self._log(name).debug("%s; tried again in %.1f s", trouble, pause)
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311  # no secret
            pause = pause if now() - since < EAGER else min(2 * pause, MAX_RETRY_INTERVAL)

    async def _reports(self, name: Name, lead: Lead) -> AsyncIterator[BrokerReport]:
        """Yield the reports of a lead until it ends the stream. Raises LeadError."""
        async with AsyncExitStack() as stack:
            async with self._slots.use(name, "stream"):
                connection = await stack.enter_async_context(connected(self._address(lead), self._trust))
                head = await connection.request("GET", STATUS, self._authority.token(lead.uid))
            await _admitted(connection, head)
            async for line in connection.lines():
                yield lead_report.parse(line, self._pods(name))

    async def _send(self, name: Name, lead: Lead, orders: tuple[LeadCommand, ...]) -> None:
        for order in orders:
            about = order.ranks or idset.encode(each.rank for each in order.lost)
            what = order.action + (f" of ranks {about}" if about else "")
            try:
                async with (
                    self._slots.use(name, "command"),
                    connected(self._address(lead), self._trust) as connection,
                ):
                    answer = await self._post(connection, lead, order)
                if order.action in MOVING:
                    self._cache.answers.add(name, order.action, lead_report.restarted(answer, order))
            except LeadError as error:
                self._log(name).warning("%s was not told: %s", what, error)
            except Exception:  # noqa: BLE001  # the next reconcile orders it again
                self._log(name).exception("a defect of the operator: its lead cannot be told")
            else:
                self._log(name).info("%s", what)

    async def _post(self, connection: LeadConnection, lead: Lead, order: LeadCommand) -> str:
        """Send a command, and return the answer. Raises LeadError."""
        token, sent = self._authority.token(lead.uid), json.dumps(_body(order)).encode()
        seconds = float(RESTART_SECONDS) if order.action in MOVING else None
        head = await connection.request("POST", f"/v1/{order.action}", token, sent, seconds)
        await _admitted(connection, head)
        return await connection.text(MAX_LINE_BYTES)

    def _pods(self, name: Name) -> int:
        """Return how many pods a MiniCluster can have, at most."""
        known = self._cache.clusters.get(name, {})
        spec, status = known.get("spec") or {}, known.get("status") or {}
        return int(status.get("maximumSize") or spec.get("maxSize") or spec.get("size") or 1)

    def _report(self, name: Name, report: LeadReport | Unreachable | None) -> None:
        known = self._cache.leads.get(name)
        if isinstance(report, LeadReport):
            before = known.report if isinstance(known, LeadReport) else None
            report = LeadReport(_dated(report.report, before, datetime.now(UTC)))
        if self._cache.report(name, report):
            self._changed(name)

    def _address(self, lead: Lead) -> Address:
        return Address.of(lead, self._port)

    def _log(self, name: Name) -> logs.ObjectLogger:
        known = self._cache.clusters.get(name)
        return logs.for_object(log, name, known["metadata"]["uid"] if known else "")


def _body(order: LeadCommand) -> Object:
    """Return the body of a command's request."""
    if order.action == "save":
        return {"timeout": order.seconds}
    if order.action == "recover":
        times = {str(each.rank): [each.started.timestamp(), each.taken.timestamp()] for each in order.lost}
        return {"lost": times}
    return {"ranks": order.ranks, **({"reason": order.reason} if order.reason else {})}


def _dated(report: BrokerReport, before: BrokerReport | None, now: datetime) -> BrokerReport:
    """Return a report with the time at which the phase of its save was first reported: clocks may differ."""
    saving = report.saving
    if saving is None:
        return report
    known = before.saving if before else None
    is_known = known is not None and (known.phase, known.reported_at) == (saving.phase, saving.reported_at)
    return replace(report, saving=replace(saving, since=known.since if known and is_known else now))


async def _admitted(connection: LeadConnection, head: ResponseHead) -> None:
    """Raise LeadError where a lead server refuses a request."""
    if head.status == HTTPStatus.UNAUTHORIZED:
        raise connection.error("does not accept this operator's token")
    if head.status not in {HTTPStatus.OK, HTTPStatus.ACCEPTED}:
        body = shown((await connection.text()).strip())
        raise connection.error(f"answers {head.status}" + (f": {body}" if body else ""))


def now() -> float:
    """Return the running loop's time."""
    return asyncio.get_running_loop().time()
