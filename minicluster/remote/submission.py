"""Applies a file's documents, or validates them with the API server by a dry run."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from minicluster.document import is_interactive, validate
from minicluster.kube_client.errors import ApiError, FailedError, RefusalError, UserError
from minicluster.kube_client.resources import RESOURCES
from minicluster.remote import clusters, conflicts, documents
from minicluster.remote.session import explained

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from minicluster.document import Problem
    from minicluster.kube_client.errors import Cause
    from minicluster.remote.documents import Wanted
    from minicluster.remote.session import NamespaceSession
    from minicluster.remote.summary import Summary


async def up(
    session: NamespaceSession,
    wanted: Sequence[Wanted],
    *,
    force: bool = False,
    wait: bool = True,
    to_the_end: bool = False,
) -> list[Summary]:
    """Apply objects, and with `wait` return the MiniClusters once `clusters.settled` returns them.

    With `to_the_end` those with a main command are waited for until it has ended.

    Raises RefusalError for what the API server did not take; FailedError, MissingError as `clusters.settled`.
    """
    refused: list[str] = []
    for each in wanted:
        try:
            # After a refusal nothing more is applied; further refusals are found by a dry run.
            refused += await _submit(session, each, force=force, dry_run=bool(refused))
        except ApiError as error:
            refused += _refusal(each, error)
    if refused:
        raise RefusalError("\n".join(refused))
    if not wait:
        return []
    waits = (
        clusters.settled(
            replace(session, namespace=each.namespace),
            each.name,
            to_the_end=to_the_end and not is_interactive(validate(each.item).spec),
        )
        for each in wanted
        if each.is_cluster
    )
    return _all(await asyncio.gather(*waits, return_exceptions=True))


async def trial(session: NamespaceSession, wanted: Wanted) -> list[Problem]:
    """Return the problems that the API server would find in an object; nothing is stored.

    Raises AccessDeniedError, MissingError where the dry run is not possible.
    """
    try:
        await session.client.submit(wanted.item, force=True, dry_run=True)
    except ApiError as error:
        problems = documents.problems(wanted, error)
        if problems:
            return problems
        reason = explained(error, wanted.namespace)
        if not isinstance(reason, RefusalError):
            raise reason from error
        return [wanted.problem("", str(reason))]
    return []


def news(problems: Iterable[Problem], known: Sequence[Problem]) -> list[Problem]:
    """Return the API server's problems without the known ones: of the same field, or with the same text."""
    return [
        each
        for each in problems
        if not any(each.path == other.path or each.message in other.message for other in known)
    ]


async def _submit(session: NamespaceSession, wanted: Wanted, *, force: bool, dry_run: bool) -> list[str]:
    """Apply an object, and return the fields that others have set to something else, as lines.

    Raises ApiError.
    """
    try:
        await session.client.submit(wanted.item, force=force, dry_run=dry_run)
    except ApiError as error:
        causes = conflicts.of(error)
        if not causes:
            raise
        return await _submit_beside(session, wanted, causes, dry_run=dry_run)
    return []


async def _submit_beside(
    session: NamespaceSession, wanted: Wanted, causes: Sequence[Cause], *, dry_run: bool
) -> list[str]:
    """Apply an object without its fields in conflicts, if they are as it says, and stay their managers'.

    Returns those that are not, as lines. A size that the autoscaler of its own `autoscaling` has set stays.
    Raises ApiError, also where the API server would not take the document from the only manager.
    """
    current = await session.client.read(RESOURCES[wanted.kind], wanted.namespace, wanted.name)
    defaulted = await session.client.submit(wanted.item, force=True, dry_run=True)
    differing = conflicts.differing(causes, current, defaulted)
    is_autoscaled = conflicts.is_autoscaled(wanted, differing)
    if differing and not is_autoscaled:
        found = conflicts.problems(wanted, differing, current, defaulted)
        return [*map(str, found), conflicts.advice(wanted, differing)]
    await session.client.submit(conflicts.without(wanted, causes).item, dry_run=dry_run)
    if is_autoscaled:
        session.notice(f"{wanted.name}: spec.size stays as the autoscaler has set it (--force sets it)")
    return []


def _refusal(wanted: Wanted, error: ApiError) -> list[str]:
    """Return the reasons of a refusal, as lines. Raises UserError where every object would be refused."""
    problems = documents.problems(wanted, error)
    if problems:
        return [str(each) for each in problems]
    reason = explained(error, wanted.namespace)
    if not isinstance(reason, RefusalError):
        raise reason from error
    return [f"{wanted.source}: {wanted.kind} {wanted.name}: {reason}"]


def _all(results: Sequence[Summary | BaseException]) -> list[Summary]:
    """Return all results. Where one is a failure, raise FailedError with the messages of all failures."""
    failures = [each for each in results if isinstance(each, UserError)]
    others = [each for each in results if isinstance(each, BaseException) and not isinstance(each, UserError)]
    if others:
        raise others[0]
    if failures:
        raise FailedError("\n".join(map(str, failures)), failures[0].exit_code)
    return [each for each in results if not isinstance(each, BaseException)]
