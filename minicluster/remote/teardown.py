"""Ends a MiniCluster; before that its instance is saved to the document's archive."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats.printable import few
from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError, ApiUnreachableError, FailedError, RequestError
from minicluster.kube_client.resources import MINICLUSTERS, PODS
from minicluster.plan.constants import (
    APPLICATION,
    BURST_FINALIZER,
    FINALIZER,
    LABEL_INSTANCE,
    LABEL_KUEUE_QUEUE,
    LABEL_NAME,
    ConditionType,
    Phase,
    Reason,
)
from minicluster.remote import clusters, follow, summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.plan.objects.fields import Object
    from minicluster.remote.session import NamespaceSession
    from minicluster.remote.summary import Summary

REMINDER = 10.0
"""Seconds between two notices about a deletion that takes long."""
POLL_INTERVAL = 0.5
"""Seconds between two polls for pods that are still there."""
ANY = "-"
"""Save to the file that the document names."""

NEEDS_OPERATOR = (
    f"waiting for an operator to save it, and to take its finalizer {FINALIZER} off:"
    f" {clusters.ASK_FOR_OPERATOR}; docs/troubleshooting.md has how to delete it unsaved"
)
NEEDS_SERVICE = (
    f"then a burst service takes its finalizer {BURST_FINALIZER} off: is one running?"
    " docs/troubleshooting.md has what to do without"
)

_SAVE_REASONS = frozenset({Reason.SAVING, Reason.SAVE_FAILED, Reason.SAVED, Reason.NOT_SAVED})


class Saved(NamedTuple):
    """What was saved."""

    path: str
    jobs: int
    """How many jobs had not ended."""
    restarted: int
    """How many of them start again."""
    lost: int
    """How many of them are lost."""


async def save(session: NamespaceSession, name: str, file: str) -> Saved | None:
    """Suspend a MiniCluster, which saves it, and return what was saved; None where there was nothing to save.

    Raises RequestError where it has no archive, or another one than `file`. Raises FailedError where it could
    not be saved; then it runs on.
    """
    item = await session.cluster(name)
    path = _archive(name, item, file)
    found = summary.of(item)
    if found.phase in {Phase.SUCCEEDED, Phase.FAILED}:
        return None
    if LABEL_KUEUE_QUEUE in (item["spec"].get("jobLabels") or {}):
        raise RequestError(
            f"cluster {name}: Kueue suspends it, and then it is saved to {path}; leave --dump out:"
            " it is saved before it is deleted as well, and an Event says how"
        )
    await session.client.patch(MINICLUSTERS, session.namespace, name, {"spec": {"suspend": True}})
    await _suspended(session, name, path)
    after = summary.of(await session.cluster(name)).last_dump
    if not after or (after == found.last_dump and not found.is_suspended_by_document):
        return None
    return Saved(after["path"], after.get("jobs", 0), after.get("restarted", 0), after.get("lost", 0))


async def delete(session: NamespaceSession, name: str, *, wait: bool = True) -> None:
    """Delete a MiniCluster, and wait until it is gone with everything that belongs to it."""
    item = await session.cluster(name)
    uid = item["metadata"]["uid"]
    is_saved, has_bursts = _has(item, FINALIZER), _has(item, BURST_FINALIZER)
    if has_bursts or (is_saved and not summary.of(item).is_suspended_by_document):
        # In the background: in the foreground its pods would be deleted before it is saved, or bursts end.
        await session.client.delete(MINICLUSTERS, session.namespace, name, uid)
    else:
        await session.client.delete(MINICLUSTERS, session.namespace, name, uid, propagation="Foreground")
    if not wait:
        return
    async with clusters.beside(_report_remaining(session, name)):
        await _gone(session, name, uid)
        while (is_saved or has_bursts) and await _pods(session, name):
            await asyncio.sleep(POLL_INTERVAL)


def _archive(name: str, item: Object, file: str) -> str:
    """Return the path of a MiniCluster's archive. Raises RequestError."""
    path = str((item["spec"].get("archive") or {}).get("path") or "")
    if not path:
        raise RequestError(
            f"cluster {name}: has no spec.archive.path, the file on a volume of its brokers to which it could"
            " be saved; that is set when a MiniCluster is made"
        )
    if file not in {ANY, path}:
        raise RequestError(
            f"--dump {file}: in Kubernetes cluster {name} is saved to its spec.archive.path, {path}:"
            " give that file, or none"
        )
    return path


async def _suspended(session: NamespaceSession, name: str, path: str) -> None:
    """Wait until it is suspended. Where it could not be saved, resume it, and raise FailedError."""
    problem = ""

    def is_over(now: Summary) -> bool:
        nonlocal problem
        condition = now.condition(ConditionType.SUSPENDED)
        if condition is not None and condition.reason in {Reason.SAVE_FAILED, Reason.NOT_SAVED}:
            problem = condition.message
        elif condition is not None and condition.reason == Reason.SAVED:
            problem = ""
        failed = condition is not None and condition.reason == Reason.SAVE_FAILED
        return failed or (condition is not None and condition.status == "True")

    now = await clusters.until_settled(session, name, is_over, _stage)
    if not problem:
        return
    condition = now.condition(ConditionType.SUSPENDED)
    if condition is not None and condition.status == "True":
        raise FailedError(f"cluster {name}: {problem}; it is suspended, and not deleted")
    await session.client.patch(MINICLUSTERS, session.namespace, name, {"spec": {"suspend": False}})
    raise FailedError(f"cluster {name}: {failure(now, path, problem)}; it goes on")


def failure(now: Summary, path: str, message: str) -> str:
    """Return why a save failed that is not tried again; `message` is that of the condition Suspended."""
    if now.save is None:  # the operator is 0.1.0, which has it in this sentence alone
        return message.partition("; it is tried again")[0]
    return f"nothing was saved to {path}: {now.save.get('error') or 'the lead does not say why'}"


def _stage(now: Summary) -> str:
    condition = now.condition(ConditionType.SUSPENDED)
    return condition.message if condition is not None and condition.reason in _SAVE_REASONS else now.stage


async def _gone(session: NamespaceSession, name: str, uid: str) -> None:
    """Wait until a MiniCluster is gone; meanwhile show the progress of its save."""
    reported = ""
    async with contextlib.aclosing(follow.states(session, name)) as states:
        async for item in states:
            if item is None or item["metadata"]["uid"] != uid:
                return
            found = summary.of(item).condition(ConditionType.SUSPENDED)
            if found is not None and found.reason in _SAVE_REASONS and found.message != reported:
                reported = found.message
                session.notice(f"{name}: {reported}")


async def _pods(session: NamespaceSession, name: str) -> Sequence[Object]:
    """Return the pods that are still there; none where the user may not list them."""
    labels = f"{LABEL_NAME}={APPLICATION},{LABEL_INSTANCE}={name}"
    with contextlib.suppress(ApiError, ApiUnreachableError):
        return (await session.client.list(Selection(PODS, session.namespace, labels))).items
    return ()


async def _report_remaining(session: NamespaceSession, name: str) -> None:
    """Show at intervals what a deletion waits for."""
    while True:
        await asyncio.sleep(REMINDER)
        if waits := await _waits(session, name):
            session.notice(f"{name}: {waits}")
            continue
        remaining = ", ".join(each["metadata"]["name"] for each in await _pods(session, name))
        session.notice(f"{name}: waiting for {f'its pods {remaining}' if remaining else 'its objects'} to go")


async def _waits(session: NamespaceSession, name: str) -> str:
    """Return what only an operator, or a burst service, can do before a deletion goes on; else nothing."""
    with contextlib.suppress(RequestError, ApiError, ApiUnreachableError):
        return waits_for(await session.cluster(name))
    return ""


def waits_for(item: Object) -> str:
    """Return what is waited for before a MiniCluster can go: its save, or its bursts; else nothing."""
    if _has(item, FINALIZER) and not summary.of(item).is_seen:
        return NEEDS_OPERATOR
    if not _has(item, BURST_FINALIZER):
        return ""
    bursts = (item.get("status") or {}).get("bursts") or ()
    shown = few([f"{each.get('slot') or each['id']} ({each.get('state')})" for each in bursts])
    return f"waiting for its bursts to be deleted{f': {shown}' if shown else ''}; {NEEDS_SERVICE}"


def _has(item: Object, finalizer: str) -> bool:
    return finalizer in (item["metadata"].get("finalizers") or ())
