"""Counts the requests to the API server, for Prometheus: with the same name in every service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import Counter

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

API_REQUESTS = "minicluster_api_requests_total"
NO_ANSWER = "none"
"""The code of a request without an answer."""


class RequestCounter:
    """The counter, in the registry of a service."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counter = Counter(
            API_REQUESTS, "Requests to the API server", ("verb", "code"), registry=registry
        )

    def count(self, verb: str, code: int | None) -> None:
        """Count a request by its answer's status code; None: there was no answer."""
        self._counter.labels(verb, str(code or NO_ANSWER)).inc()
