"""What each token of the lead API is good for, other than the operator's: the one list of it.

A purpose has paths, and where one of them is an upgraded connection, topics of the broker that it may call
there. Whatever is not listed is refused. The tokens are files of a second Secret, one a purpose, which may
change while the lead runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.broker_link.link import JSON

METRICS, JOBS, BURST = "metrics", "jobs", "burst"
INSTANCE = "/v1/instance"
"""The path whose connection becomes one in lines."""
CURVE_CERTIFICATE = "/v1/curve-certificate"
"""The path at which a service that manages bursts reads the certificate by which brokers join."""

MACHINE_CERTIFICATE = "/v1/machine-certificate"
"""The path at which a machine gets it, by a token that is none of these (`machine_tokens`)."""


class Purpose(NamedTuple):
    """One purpose of a token."""

    name: str
    paths: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    """Of an upgraded connection."""
    attributes: frozenset[str] = frozenset()
    """The broker attributes that `attr.get` may read there."""

    @property
    def file_name(self) -> str:
        """The name of its token's file."""
        return f"{self.name}.token"

    def refusal(self, topic: str, payload: JSON) -> str:
        """Return why a request over an upgraded connection is not passed on; empty: it is."""
        if topic not in self.topics:
            return f"a token for {self.name} is not good for {topic}"
        if topic == "attr.get" and payload.get("name") not in self.attributes:
            return f"a token for {self.name} is not good for the attribute {payload.get('name')!r}"
        return ""


PURPOSES: Mapping[str, Purpose] = {
    each.name: each
    for each in (
        Purpose(METRICS, frozenset({"/metrics", "/v1/queue"})),
        Purpose(
            JOBS,
            frozenset({INSTANCE}),
            frozenset(
                {
                    # Jobs: submit, list, follow, cancel, signal, change.
                    "helper.submit",
                    "feasibility.check",
                    "job-list.list",
                    "job-list.list-id",
                    "job-info.lookup",
                    "job-info.eventlog-watch",
                    "job-manager.events-journal",
                    "job-manager.raise",
                    "job-manager.raiseall",
                    "job-manager.kill",
                    "job-manager.update",
                    "job-manager.urgency",
                    "minicluster-sched.resize",
                    "minicluster-jobs.attributes",
                    # Whether requests may be a user's.
                    "helper.check-user",
                    # Queues: read, stop and start, wait until idle.
                    "job-list.job-stats",
                    "job-manager.queue-list",
                    "job-manager.queue-status",
                    "job-manager.queue-start",
                    "job-manager.idle",
                    # Nodes: read, drain and undrain.
                    "overlay.health",
                    "resource.status",
                    "resource.sched-status",
                    "resource.drain",
                    "resource.undrain",
                    "attr.get",
                }
            ),
            frozenset({"hostlist", "size", "version", "broker.starttime"}),
        ),
        Purpose(
            BURST,
            frozenset({INSTANCE, CURVE_CERTIFICATE}),
            frozenset(
                {
                    # Jobs: those that wait or run, their end elsewhere, and those that try ranks.
                    "helper.submit",
                    "job-list.list",
                    "job-list.list-id",
                    "job-info.lookup",
                    "job-manager.raise",
                    "job-manager.update",
                    # Queues: read, stop and start.
                    "job-manager.queue-list",
                    "job-manager.queue-status",
                    "job-manager.queue-start",
                    # Jobs elsewhere: what they print and leave behind, for those that stand in for them.
                    "helper.stand-in-open",
                    "helper.stand-in-status",
                    "helper.stand-in-write",
                    "helper.stand-in-end",
                    "helper.stand-in-clear",
                    # Nodes: read, drain and undrain.
                    "resource.status",
                    "resource.sched-status",
                    "resource.drain",
                    "resource.undrain",
                    "attr.get",
                }
            ),
            frozenset({"broker.starttime"}),
        ),
    )
}
