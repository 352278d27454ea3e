"""Suspends and resumes a MiniCluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.kube_client.errors import FailedError, RequestError
from minicluster.kube_client.resources import MINICLUSTERS
from minicluster.plan.constants import ConditionType, Phase, Reason
from minicluster.remote import clusters, summary

if TYPE_CHECKING:
    from minicluster.remote.session import NamespaceSession
    from minicluster.remote.summary import Summary

_ENDED = frozenset({Phase.SUCCEEDED, Phase.FAILED})


async def suspend(session: NamespaceSession, name: str, *, wait: bool = True) -> str:
    """Suspend a MiniCluster, and wait until no broker runs; one with an archive is saved first.

    Raises MissingError; RequestError where it has ended; FailedError where it cannot be saved. Then its
    brokers run on until the operator has saved it.
    """
    found = await _asked(session, name, suspended=True)

    def is_settled(now: Summary) -> bool:
        condition = now.condition(ConditionType.SUSPENDED)
        if condition is not None and condition.reason == Reason.SAVE_FAILED:
            raise FailedError(f"cluster {name}: {condition.message}")
        return now.is_suspended_by_document or now.phase in _ENDED

    return (await clusters.until_settled(session, name, is_settled)).phase if wait else found.phase


async def resume(session: NamespaceSession, name: str, *, wait: bool = True) -> str:
    """Resume a suspended MiniCluster, and wait until it runs.

    Raises MissingError; RequestError where it has ended; FailedError where it fails.
    """
    found = await _asked(session, name, suspended=False)
    return (await clusters.settled(session, name)).phase if wait else found.phase


async def _asked(session: NamespaceSession, name: str, *, suspended: bool) -> Summary:
    """Set spec.suspend, and return the MiniCluster as it was."""
    found = summary.of(await session.cluster(name))
    if found.phase in _ENDED:
        what = "suspend" if suspended else "resume"
        raise RequestError(f"cluster {name}: has ended ({found.stage}); there is nothing to {what}")
    body = {"spec": {"suspend": suspended}}
    await session.client.patch(MINICLUSTERS, session.namespace, name, body)
    return found
