"""Reads lead brokers' samples: a kept connection for each, one request at a time, and cached answers.

For any number of queries about a MiniCluster, its lead gets at most one request in `FRESH` seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from metrics_api.adapter import samples
from metrics_api.adapter.evaluation import moment
from metrics_api.adapter.samples import Reading, ReadingError
from metrics_api.answers.errors import UnavailableError
from minicluster.lead_client.connection import Address, LeadConnection, connected
from minicluster.lead_client.errors import LeadError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from minicluster.kube_client.objects import Name
    from minicluster.lead_client.broker_pods import Lead
    from minicluster.lead_client.purpose_keys import PurposeKeys

QUEUE = "/v1/queue"
FRESH = 0.5
"""Seconds for which an answer is cached."""
IDLE = 90.0
"""Seconds after which an unused connection is closed; autoscalers ask every 15 s."""
SWEEP_INTERVAL = 10.0
"""Seconds between two searches for unused connections."""
MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""The owner of a MiniCluster can have its lead send anything, so answers are limited."""
MAX_CONNECTS = 64
"""How many connections to leads are being made at a time."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A reading in the cache."""

    reading: Reading
    time: datetime
    """When its samples were made, by this machine's clock."""
    until: float
    """Until when it is used, by the event loop's clock."""


class _KeptConnection(NamedTuple):
    connection: LeadConnection
    stack: AsyncExitStack
    since: float


class _Keys(NamedTuple):
    trust: ssl.SSLContext
    token: str


class Leads:
    """The leads of all MiniClusters. `refused` is called when a lead does not accept the token.

    `observe` is called after each request with "ok" or "error", and its seconds.
    """

    def __init__(
        self,
        port: int,
        refused: Callable[[], None] = lambda: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        observe: Callable[[str, float], None] = lambda _result, _seconds: None,
    ) -> None:
        self._keys: PurposeKeys | None = None
        self._trust: ssl.SSLContext | None = None
        self._port = port
        self._refused = refused
        self._now = now
        self._observe = observe
        self._kept: dict[Lead, _KeptConnection] = {}
        self._answers: dict[Lead, CachedAnswer] = {}
        self._asking: dict[Lead, asyncio.Task[CachedAnswer]] = {}
        self._dialling = asyncio.Semaphore(MAX_CONNECTS)

    @property
    def has_keys(self) -> bool:
        """Whether there are keys, without which no lead can be asked."""
        return self._keys is not None

    async def use(self, keys: PurposeKeys) -> None:
        """Use other keys from now on. Answers and connections under the former ones are dropped."""
        if keys != self._keys:
            self._keys, self._trust = keys, keys.trust()
            await self.close()

    async def ask(self, name: Name, lead: Lead) -> CachedAnswer:
        """Return a lead's samples. Raises UnavailableError."""
        answer = self._answers.get(lead)
        if answer is not None and _clock() < answer.until:
            return answer
        asking = self._asking.get(lead)
        if asking is None:
            asking = asyncio.create_task(self._ask(name, lead))
            self._asking[lead] = asking
            asking.add_done_callback(lambda done: self._asked(lead, done))
        return await asyncio.shield(asking)

    async def sweep(self) -> None:
        """Close unused connections, for ever."""
        while True:
            await asyncio.sleep(SWEEP_INTERVAL)
            now = _clock()
            for lead in [lead for lead, each in self._kept.items() if now - each.since >= IDLE]:
                await self._kept.pop(lead).stack.aclose()
            for lead in [lead for lead, each in self._answers.items() if now >= each.until]:
                del self._answers[lead]

    async def close(self) -> None:
        """Cancel all requests and close all connections."""
        asking = list(self._asking.values())
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        self._answers.clear()
        while self._kept:
            _, kept = self._kept.popitem()
            await kept.stack.aclose()

    def _asked(self, lead: Lead, done: asyncio.Task[CachedAnswer]) -> None:
        del self._asking[lead]
        if not done.cancelled() and done.exception() is None:
            self._answers[lead] = done.result()

    async def _ask(self, name: Name, lead: Lead) -> CachedAnswer:
        if self._keys is None or self._trust is None:
            raise UnavailableError("the adapter has no keys for lead APIs yet")
        begin, result = _clock(), "error"
        try:
            reading = await self._reading(lead, _Keys(self._trust, self._keys.token(lead.uid)))
            result = "ok"
        except LeadError as error:
            raise UnavailableError(f"MiniCluster {name}: {error}") from error
        finally:
            self._observe(result, _clock() - begin)
        return CachedAnswer(reading, moment(self._now(), reading.age), _clock() + FRESH)

    async def _reading(self, lead: Lead, keys: _Keys) -> Reading:
        """Ask over the kept connection; if that is broken, over a new one."""
        kept = self._kept.pop(lead, None)
        if kept is not None:
            with contextlib.suppress(_BrokenError):
                return await self._over(lead, kept, keys.token)
        return await self._over(lead, await self._dial(lead, keys.trust), keys.token)

    async def _dial(self, lead: Lead, trust: ssl.SSLContext) -> _KeptConnection:
        stack = AsyncExitStack()
        async with self._dialling:
            connection = await stack.enter_async_context(connected(Address.of(lead, self._port), trust))
        return _KeptConnection(connection, stack, _clock())

    async def _over(self, lead: Lead, kept: _KeptConnection, token: str) -> Reading:
        """Ask over a connection, and keep it after success. Raises LeadError."""
        keep = False
        try:
            try:
                head = await kept.connection.request("GET", QUEUE, token)
                body = await kept.connection.content(MAX_ANSWER_BYTES)
            except LeadError as error:
                raise _BrokenError(str(error)) from error
            keep = head.fields.get("connection", "").lower() != "close"
            if head.status == HTTPStatus.OK:
                return _parsed(kept.connection, body)
            if head.status == HTTPStatus.UNAUTHORIZED:
                self._refused()
                raise kept.connection.error("does not accept the adapter's token for metrics")
            raise kept.connection.error(_words(head.status, body))
        finally:
            if keep:
                self._kept[lead] = kept._replace(since=_clock())
            else:
                await kept.stack.aclose()


class _BrokenError(LeadError):
    """A connection is broken."""


def _parsed(connection: LeadConnection, body: bytes) -> Reading:
    try:
        return samples.parse(body)
    except ReadingError as error:
        raise connection.error(str(error)) from error


def _words(status: int, body: bytes) -> str:
    """Return the error in a lead's answer, with its status code."""
    try:
        error = json.loads(body).get("error", "")
    except (ValueError, RecursionError, AttributeError):
        error = ""
    shown = "".join(letter for letter in str(error)[:200] if letter.isprintable())
    return f"answers {status}" + (f": {shown}" if shown else "")


def _clock() -> float:
    return asyncio.get_running_loop().time()
