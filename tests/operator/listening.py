"""A lead watch over one lead server with a script."""

import asyncio
import functools
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from minicluster.kube_client.objects import Name
from minicluster.lead_client.keys import LeadAuthority
from minicluster.operator.cache import Cache
from minicluster.operator.lead_watch import LeadWatch
from minicluster.operator.records import LeadReport, Unreachable
from minicluster.plan import BrokerReport, LeadVersions
from tests.operator import objects
from tests.operator.lead_server import ANSWER, FakeLead, Script, context, reporting, serving

UID = "uid-mc"
OURS = LeadAuthority.make()
NAME = Name(objects.NAMESPACE, "mc")
BROKER_REPORT = BrokerReport(
    online="0-2",
    busy="1",
    running=True,
    jobid="ƒabc",
    queue_policy="minicluster/easy",
    versions=LeadVersions(engine="embedded", flux="0.88.0"),
    troubles=("mc-3: turned away: wrong certificate",),
)
OK = ANSWER.format(status="200 OK").encode()


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Return a test that runs in a loop of its own."""

    @functools.wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(test(*given, **named))  # type: ignore[arg-type]

    return run


async def until(holds: Callable[[], Any]) -> Any:
    """Wait until something holds."""
    async with asyncio.timeout(20):
        while not (found := holds()):
            await asyncio.sleep(0.01)
    return found


class Listening:
    """The lead watch of one operator, which knows one MiniCluster."""

    def __init__(self, port: int) -> None:
        self.cache = Cache()
        self.changed: list[Name] = []
        self.lead_watch = LeadWatch(self.cache, OURS, self.changed.append, port)
        self.version = 1
        self.cache.see_cluster(objects.minicluster(uid=UID, maxSize=4))
        self.cache.see("Job", objects.job(owner=UID))

    def pod(self, name: str = "mc-0-x", **more: Any) -> None:
        """Take in the lead's pod."""
        self.version += 1
        state = {"phase": "Running", "address": "127.0.0.1", **more}
        self.cache.see("Pod", objects.broker(version=self.version, name=name, **state))
        self.lead_watch.follow(NAME)

    @property
    def report(self) -> BrokerReport | None:
        """The lead's last report; None: there is none, or the lead is unreachable."""
        found = self.lead_report
        return found.report if isinstance(found, LeadReport) else None

    @property
    def lead_report(self) -> LeadReport | Unreachable | None:
        """The lead's report, or why it is unreachable; None: nothing is known."""
        return self.cache.leads.get(NAME)


@asynccontextmanager
async def listening(
    folder: Path,
    script: Script = reporting,
    tls: ssl.SSLContext | None = None,
    *,
    plain: bool = False,
) -> AsyncIterator[tuple[Listening, FakeLead]]:
    """Start a lead server with a script, and a lead watch that connects to it."""
    fake_lead = FakeLead(script, OURS.token(UID))
    async with serving(fake_lead, None if plain else tls or context(folder, OURS, UID)):
        here = Listening(fake_lead.port)
        try:
            yield here, fake_lead
        finally:
            await here.lead_watch.close()
