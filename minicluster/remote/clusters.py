"""Operations on MiniClusters for commands: list, report, scale, wait."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError, FailedError, MissingError, NotRunningError, RefusalError
from minicluster.kube_client.resources import AUTOSCALERS, EVENTS, MINICLUSTERS
from minicluster.plan.constants import API_VERSION, KIND, ConditionType, Phase
from minicluster.remote import follow, summary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from minicluster.plan.objects.fields import Object
    from minicluster.remote.session import NamespaceSession
    from minicluster.remote.summary import EventSummary, Scaler, Summary

UNATTENDED = 5.0
"""Seconds without a status of an operator after which the user is warned."""
CLUSTER_FAILED = 125
"""Exit code for a MiniCluster that failed without one of its own, as on this machine."""
ASK_FOR_OPERATOR = (
    "is one running? Ask whoever administers the cluster, or see docs/kubernetes.md to start one with"
    " `minicluster operator`"
)
NO_OPERATOR = f"no operator has looked at it yet; nothing happens until one does: {ASK_FOR_OPERATOR}"
OUTDATED = (
    "no operator has looked at this version of the document yet, and the status is that of an earlier one;"
    f" nothing happens until one does: {ASK_FOR_OPERATOR}"
)
LATEST_EVENTS = 10


@dataclass(frozen=True, slots=True)
class Report:
    """A MiniCluster with its Events and autoscalers."""

    summary: Summary
    events: tuple[EventSummary, ...] | None
    """The latest ones, oldest first; None: the user may not read them, or they were not requested."""
    scalers: tuple[Scaler, ...] | None = None
    """None: the user may not read them."""


class SizeChange(NamedTuple):
    """Sizes before and after."""

    before: int
    after: int
    parts: int = 1
    """How many brokers each one of a size is."""


async def listing(session: NamespaceSession, *, every_namespace: bool = False) -> list[Summary]:
    """Return the MiniClusters of the namespace, or all, by namespace and name. Raises MissingError."""
    namespace = "" if every_namespace else session.namespace
    found = await session.client.list(Selection(MINICLUSTERS, namespace))
    if not found.items and not every_namespace:
        await session.need_namespace()
    return sorted(map(summary.of, found.items), key=lambda each: (each.namespace, each.name))


async def report(session: NamespaceSession, name: str) -> Report:
    """Return a MiniCluster with its Events and autoscalers. Raises MissingError."""
    item = await session.cluster(name)
    chosen = f"regarding.kind={KIND},regarding.name={name},regarding.uid={item['metadata']['uid']}"
    found = await _readable(session, Selection(EVENTS, session.namespace, fields=chosen), "Events")
    events = (
        None
        if found is None
        else sorted(map(summary.summarize_event, found), key=lambda each: each.last or 0.0)
    )
    latest = None if events is None else tuple(events[-LATEST_EVENTS:])
    return Report(summary.of(item), latest, await scalers(session, name))


async def state(session: NamespaceSession, name: str) -> Report:
    """Return a MiniCluster with its autoscalers, without its Events. Raises MissingError."""
    return Report(summary.of(await session.cluster(name)), None, await scalers(session, name))


async def scalers(session: NamespaceSession, name: str) -> tuple[Scaler, ...] | None:
    """Return all autoscalers of a MiniCluster, not the operator's alone; None where they may not be read."""
    found = await _readable(session, Selection(AUTOSCALERS, session.namespace), "autoscalers")
    if found is None:
        return None
    targets = ((each["spec"]["scaleTargetRef"], each) for each in found)
    return tuple(
        summary.scaler(each)
        for target, each in targets
        if (target["kind"], target["name"]) == (KIND, name)
        and target.get("apiVersion", "").startswith(f"{API_VERSION.partition('/')[0]}/")
    )


async def _readable(session: NamespaceSession, selection: Selection, what: str) -> tuple[Object, ...] | None:
    """Return the objects of a selection; None, and a notice, where the user may not read them."""
    try:
        return (await session.client.list(selection)).items
    except ApiError as error:
        if error.status != 403:
            raise
        session.notice(f"its {what} cannot be shown: {error.message}")
        return None


async def settled(session: NamespaceSession, name: str, *, to_the_end: bool = False) -> Summary:
    """Wait until a MiniCluster runs, has succeeded, or is suspended by its document; report each stage.

    With `to_the_end` it is not enough that it runs.

    Raises FailedError where it fails or its document cannot be carried out, MissingError if it is deleted.
    """

    def is_settled(now: Summary) -> bool:
        if now.phase in {Phase.FAILED, Phase.INVALID}:
            raise _failure(now)
        wanted = {Phase.SUCCEEDED} if to_the_end else {Phase.RUNNING, Phase.SUCCEEDED}
        return now.phase in wanted or now.is_suspended_by_document

    return await until_settled(session, name, is_settled)


async def scale(session: NamespaceSession, name: str, size: int, *, wait: bool = True) -> SizeChange:
    """Set a MiniCluster's size, and wait until its brokers are online, even if it had that size before.

    Without `wait` the user is warned where no operator carries documents out, as far as that is known.

    Raises MissingError, NotRunningError for one that has ended, RefusalError for a size that is not allowed,
    FailedError where it cannot be reached.
    """
    before = summary.of(await session.cluster(name))
    _need_not_ended(before)
    body = {"spec": {"replicas": size}}
    try:
        await session.client.patch(MINICLUSTERS, session.namespace, name, body, "scale")
    except ApiError as error:
        if error.status != 422:
            raise
        causes = "; ".join(each.message.removeprefix("Invalid value: ") for each in error.causes)
        limit = f" ({before.max_size})" if before.max_size else ""
        what = f"the size {size}, which is {size * before.parts} brokers" if before.cut else f"{size} brokers"
        raise RefusalError(f"cluster {name}: cannot have {what}: {causes}{limit}") from error

    if not wait:
        if waits := unattended(before):
            session.notice(f"{name}: {waits}")
    elif not (before.size == size and before.is_seen and has_its_size(before)):
        await until_settled(session, name, has_its_size)
    return SizeChange(before.size, size, before.parts)


def has_its_size(now: Summary) -> bool:
    """Whether a MiniCluster has its size, with its brokers online where the operator can know that.

    Raises FailedError for a size that cannot be reached, NotRunningError where it has ended meanwhile.
    """
    if now.phase == Phase.INVALID:
        raise _failure(now)
    _need_not_ended(now)
    resizing, brokers = now.condition(ConditionType.RESIZING), now.condition(ConditionType.BROKERS_READY)
    if resizing is None or resizing.status != "False":
        return False
    if now.phase == Phase.SUSPENDED:
        return True
    return now.phase == Phase.RUNNING and (brokers is None or brokers.status != "False")


def unattended(now: Summary) -> str:
    """Return that no operator looks at a MiniCluster, and what to do; empty: one does, or may in a moment."""
    if now.waits_since is None or time.time() - now.waits_since < UNATTENDED:
        return ""
    return _unseen(now)


def _unseen(now: Summary | None) -> str:
    return OUTDATED if now is not None and now.is_outdated else NO_OPERATOR


def _need_not_ended(now: Summary) -> None:
    """Raise NotRunningError for a MiniCluster that has ended."""
    if now.phase in {Phase.SUCCEEDED, Phase.FAILED}:
        raise NotRunningError(
            f"cluster {now.name}: has ended ({now.stage}), so it cannot be scaled;"
            f" bring it up anew with another size: minicluster down {now.name}, minicluster up FILE --size N"
        )


async def until_settled(
    session: NamespaceSession,
    name: str,
    is_settled: Callable[[Summary], bool],
    stage: Callable[[Summary], str] = lambda now: now.stage,
) -> Summary:
    """Return the first state for which `is_settled` holds and which belongs to the present document.

    Each `stage` until then is shown to the user. Raises MissingError if it is deleted.
    """
    reported = ""
    now: Summary | None = None

    async def report_unattended() -> None:
        await asyncio.sleep(UNATTENDED)
        if not reported:
            session.notice(f"{name}: {_unseen(now)}")

    async with beside(report_unattended()), contextlib.aclosing(follow.states(session, name)) as states:
        async for item in states:
            if item is None:
                break
            now = summary.of(item)
            if not now.is_seen:
                continue
            is_over = is_settled(now)
            if stage(now) != reported:
                reported = stage(now)
                session.notice(f"{name}: {reported}")
            if is_over:
                return now
    raise MissingError(f"cluster {name}: was deleted meanwhile")


def _failure(now: Summary) -> FailedError:
    """Return the error of a MiniCluster that failed, with its own exit code; 1 where nothing was run."""
    if now.phase == Phase.INVALID:
        return FailedError(f"cluster {now.name}: {now.stage}")
    return FailedError(f"cluster {now.name}: {now.stage}", now.exit_code or CLUSTER_FAILED)


@contextlib.asynccontextmanager
async def beside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run `work` as a task beside the block, and cancel it with the block's end."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
