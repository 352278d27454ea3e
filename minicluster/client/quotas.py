"""Quotas: those that administrators set, and one's own with what is used of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minicluster.client.addresses import path
from minicluster.client.connection import Call
from minicluster.client.records import member, read

if TYPE_CHECKING:
    from minicluster.client.connection import ServiceConnection

EVERY_CLUSTER = "*"
QuotaAmounts = Mapping[str, int | float | None]
"""By name, such as `jobs` or `node_seconds`; None: no limit."""


@dataclass(frozen=True, slots=True)
class QuotaRule:
    """A quota; with neither user nor group it is everyone's. A limit that is None is none."""

    id: str
    cluster: str
    """A cluster's name, or EVERY_CLUSTER: what is used at all of them counts together."""
    window: float
    """Seconds, up to now, in which node-seconds are counted."""
    user: str | None = None
    """The user's id."""
    group: str | None = None
    name: str | None = None
    """The user's or the group's."""
    jobs: int | None = None
    """Jobs that have not ended."""
    queued_jobs: int | None = None
    """Those of them that have not begun."""
    nodes: int | None = None
    """Nodes of all these jobs together."""
    node_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """A quota that one's jobs are held to, and what is used of it."""

    cluster: str
    origin: str
    """Either user, group, everyone, or service for the service's own limit."""
    limits: QuotaAmounts
    """The names are those of QuotaRule, with `window`."""
    used: QuotaAmounts
    """The same names but `window`, and `committed_node_seconds`: what jobs that have not ended may use.

    None there: as much as they like.
    """
    group: str | None = None
    """The group's name."""


class QuotaRules:
    """The quotas of a service. All but `own` raises Forbidden for who is no administrator."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def own(self, cluster: str = "") -> list[QuotaUsage]:
        """Return what one's jobs are held to, at one cluster or at all. Raises NotFound."""
        found = self._connection.get("/v2/me/quotas", {"cluster": cluster} if cluster else {})
        return [
            read(QuotaUsage, each, limits=member(each, "limits"), used=member(each, "used"))
            for each in member(found, "quotas")
        ]

    def all(self) -> list[QuotaRule]:
        """Return every quota."""
        return [read(QuotaRule, each) for each in member(self._connection.get("/v2/quotas"), "quotas")]

    def create(
        self, cluster: str = EVERY_CLUSTER, user: str = "", group: str = "", **limits: float | None
    ) -> QuotaRule:
        """Make a quota of a user or a group, by ids, or of everyone. Raises Conflict, Invalid."""
        subject = {name: value for name, value in (("user", user), ("group", group)) if value}
        body = {"cluster": cluster, **subject, **limits}
        return read(QuotaRule, self._connection.call(Call("POST", "/v2/quotas", body=body)))

    def change(self, id: str, **limits: float | None) -> QuotaRule:  # noqa: A002 - the service's name
        """Change limits of a quota; None takes one away. Raises Invalid, NotFound."""
        call = Call("PATCH", "/v2/quotas" + path(id), body=dict(limits), repeatable=True)
        return read(QuotaRule, self._connection.call(call))

    def remove(self, id: str) -> None:  # noqa: A002 - the service's name
        """Remove a quota. Raises NotFound."""
        self._connection.call(Call("DELETE", "/v2/quotas" + path(id)))

    def groups(self) -> dict[str, str]:
        """Return the ids of the groups of users by their names."""
        found: list[Any] = self._connection.get("/v2/groups")
        return {str(member(each, "name")): str(member(each, "id")) for each in found}
