"""The queue's routes at the lead API.

GET /v1/queue              the newest sample; 503 if it would be too old
GET /v1/queue?watch=true   server-sent events: the sample now, and on each change
GET /metrics               the same for Prometheus
GET /healthz               whether there is one; without a token

`custom_metrics` answers requests that the API server's front proxy passes on (`proxied`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from metrics_api.lead.sampler import Sampler
from metrics_api.numbers.exposition import CONTENT_TYPE
from minicluster.broker_link.errors import InstanceGone
from minicluster.lead_server.routes import Audience, BadRequest, Pieces, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from metrics_api.lead.sampled import Sampled
    from minicluster.lead_server.routes import AggregatedHandler, ExtensionContext, Routes

PACKED = (
    "metrics_api/__init__.py",
    "metrics_api/names.py",
    "metrics_api/answers/*.py",
    "metrics_api/lead/*.py",
    "metrics_api/numbers/*.py",
)
"""The files of this package that real Flux's lead needs."""
QUEUE, METRICS, HEALTH = "/v1/queue", "/metrics", "/healthz"


class QueueRoutes:
    """Implements `Extension`."""

    audiences: Mapping[str, str] = {
        QUEUE: Audience.METRICS,
        METRICS: Audience.METRICS,
        HEALTH: Audience.ALL,
    }

    def __init__(
        self,
        sampler: Sampler,
        clock: Callable[[], float] = time.monotonic,
        proxied: Mapping[str, AggregatedHandler] | None = None,
    ) -> None:
        self._sampler = sampler
        self._clock = clock
        self.proxied: Mapping[str, AggregatedHandler] = proxied or {}
        self.routes: Routes = {
            QUEUE: {"GET": lambda query, _body: self._queue(query)},
            METRICS: {"GET": lambda _query, _body: Text(self._sampler.read().text(), CONTENT_TYPE)},
            HEALTH: {"GET": lambda _query, _body: self._health()},
        }

    def open(self) -> None:
        """Start the thread, which waits for readers."""
        self._sampler.start()

    def close(self) -> None:
        """End every watch, and the thread."""
        self._sampler.close()

    def _queue(self, query: Mapping[str, str]) -> Text | Pieces:
        watch = query.get("watch", "false")
        if watch not in ("true", "false"):
            raise BadRequest(f"watch={watch[:40]}: true or false is right")
        if watch == "true":
            return Pieces(self._events(self._sampler.watch()), "text/event-stream")
        return Text(self._sampler.read().document(self._clock()), "application/json")

    def _events(self, found: Iterator[Sampled]) -> Iterator[str]:
        for each in found:
            yield f"data: {each.document(self._clock())}\n"

    def _health(self) -> Text:
        try:
            self._sampler.read()
        except InstanceGone as error:
            return Text(f"{error}\n", "text/plain; charset=utf-8", 503)
        return Text("ok\n", "text/plain; charset=utf-8")


def extension(context: ExtensionContext) -> QueueRoutes:
    """Return the extension for the lead server."""
    minimum = int(context.settings.get("min-size", 1))
    sampler = Sampler(context.connect, context.broke, minimum)
    if "metrics-tls" not in context.settings:
        return QueueRoutes(sampler)
    from metrics_api.lead.custom_metrics import CustomMetrics, Own  # noqa: PLC0415 - few need it

    own = Own(*(str(context.settings.get(each, "")) for each in Own._fields))
    custom = CustomMetrics(own, sampler.read)
    # The API server's other requests to a server of an API (/openapi) get a 404.
    return QueueRoutes(sampler, proxied={"apis": custom, "openapi": custom})
