"""What a user wants submitted, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from restful.clusters.cluster import ServedCluster
    from restful.identity.principal import Principal
    from restful.jobs.jobspecs import JobSummary


class Submitted(NamedTuple):
    """The job of a request."""

    id: int
    replayed: bool
    """Whether an earlier request with the same key submitted it."""


@dataclass(frozen=True, slots=True)
class SubmitOrder:
    """A job that a user wants submitted, checked."""

    principal: Principal
    cluster: ServedCluster
    jobspec: Mapping[str, Any]
    summary: JobSummary
    """Of the jobspec."""
    urgency: int
    key: str | None
    fingerprint: str
