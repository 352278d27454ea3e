"""The API server's audit log, read as records: who asked for what."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

# Who, verb and object of every request, once it has an answer; no bodies.
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `resource` is empty for paths that are no objects (/healthz), `group` for the core API.

    `user` is the one whose rights counted: the impersonated one, if any. `code` is the HTTP status, and
    `received` when the server got it.
    """

    user: str
    agent: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    uri: str
    code: int
    received: datetime


def read(log: Path, skip: int = 0) -> Iterator[Request]:
    """Read the requests from a log, from a byte offset on; a watch counts once, when it began."""
    seen: set[str] = set()
    with log.open("rb") as lines:
        lines.seek(skip)
        for line in lines:
            if not line.endswith(b"\n"):
                return  # it is being written
            event = json.loads(line)
            if event["auditID"] not in seen:
                seen.add(event["auditID"])
                yield record(event)


def record(event: dict[str, Any]) -> Request:
    """Turn an event of audit.k8s.io/v1 into a record."""
    target = event.get("objectRef") or {}
    user = event.get("impersonatedUser") or event.get("user") or {}
    return Request(
        user=user.get("username", ""),
        agent=event.get("userAgent", ""),
        verb=event["verb"],
        group=target.get("apiGroup", ""),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        uri=event["requestURI"],
        code=(event.get("responseStatus") or {}).get("code", 0),
        received=datetime.fromisoformat(event["requestReceivedTimestamp"]),
    )
