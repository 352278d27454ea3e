"""Custom metrics of the lead's own MiniCluster, served to the API server without an adapter.

Their objects are the MiniCluster and its Service, each by its name. A lead does not know other objects, nor
the namespace.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

from metrics_api.answers import bodies, queries, samples
from metrics_api.answers.bodies import DescribedObject, Value
from metrics_api.answers.errors import (
    ForbiddenError,
    MethodError,
    NotFoundError,
    StatusError,
    UnavailableError,
)
from metrics_api.answers.queries import CUSTOM, DocumentQuery, ObjectQuery
from metrics_api.names import ADDS
from minicluster.broker_link.errors import InstanceGone
from minicluster.lead_server.routes import Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from metrics_api.lead.sampled import Sampled
    from minicluster.lead_server.routes import AggregatedRequest

GROUP = "flux-framework.org"
VERSION, KIND = f"{GROUP}/v1alpha2", "MiniCluster"
CLUSTERS, SERVICES = f"miniclusters.{GROUP}", "services"
OBJECTS = (CLUSTERS, SERVICES)


class Own(NamedTuple):
    """The lead's own MiniCluster."""

    namespace: str
    name: str
    service: str


class CustomMetrics:
    """Answers requests of the front proxy. `read` returns the newest sample, or raises InstanceGone."""

    def __init__(
        self, own: Own, read: Callable[[], Sampled], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._own = own
        self._read = read
        self._clock = clock

    def __call__(self, request: AggregatedRequest) -> Text:
        """Return the answer, or the error as a Status."""
        try:
            body, code = self._answer(request), 200
        except StatusError as error:
            body, code = bodies.status(error), error.code
        return Text(bodies.encoded(body), bodies.content_type(body), code)

    def _answer(self, request: AggregatedRequest) -> bodies.Body:
        if request.method != "GET":
            raise MethodError(f"{request.method}: metrics are only read")
        query = bodies.negotiated(queries.parse(request.path, request.query, CUSTOM), request.accept)
        if isinstance(query, DocumentQuery):  # every authenticated user of the API server may read it
            return bodies.document(query, CUSTOM, ADDS, OBJECTS)
        if not request.may_read:
            raise ForbiddenError(
                f"{request.who.user!r} is not among those who may read the metrics of MiniCluster"
                f" {self._own.namespace}/{self._own.name} at its lead broker"
            )
        if not isinstance(query, ObjectQuery):
            raise NotFoundError(f"a lead broker knows nothing of the namespace: right are {self._right()}")
        return bodies.values(query.api, query.metric, query.metric_labels, [self._value(query)])

    def _value(self, query: ObjectQuery) -> Value:
        if query.metric not in ADDS:
            raise NotFoundError(f"there is no metric {query.metric[:80]!r}")
        about = self._described(query)
        try:
            sampled = self._read()
        except InstanceGone as error:
            own = self._own
            raise UnavailableError(
                f"the lead broker of MiniCluster {own.namespace}/{own.name}: {error}"
            ) from error
        found = [
            samples.MetricValue(each.name, each.labels, samples.thousandths(each.value))
            for each in sampled.samples
            if each.name == query.metric and query.metric_labels.matches(each.labels)
        ]
        if not found:
            suited = " with such labels" if query.metric_labels else ""
            raise NotFoundError(f"the lead broker tells of no {query.metric}{suited}")
        age = timedelta(seconds=sampled.age(self._clock()))
        when = datetime.now(timezone.utc) - age  # noqa: UP017 - 3.8
        return Value(about, samples.total(found, adds=ADDS[query.metric]), when)

    def _described(self, query: ObjectQuery) -> DescribedObject:
        own, reference = self._own, (query.namespace, query.resource, query.name)
        if reference == (own.namespace, CLUSTERS, own.name):
            return DescribedObject(VERSION, KIND, own.name, own.namespace)
        if own.service and reference == (own.namespace, SERVICES, own.service):
            return DescribedObject("v1", "Service", own.service, own.namespace)
        raise NotFoundError(f"a lead broker knows only its own MiniCluster: right are {self._right()}")

    def _right(self) -> str:
        own = self._own
        where, names = f"namespaces/{own.namespace}", ((CLUSTERS, own.name), (SERVICES, own.service))
        return " and ".join(f"{where}/{kind}/{name}/METRIC" for kind, name in names if name)
