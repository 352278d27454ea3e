"""What commands read from the ledger, and ask of the service through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from burst import asked, provider_checks
from burst.cli import rows
from burst.cli.errors import ClusterUnknown, PlanChanged, ProviderUnknown, ServiceSweeps
from burst.costs.running import RunningBurst
from burst.errors import LeaseLost
from burst.ledger import bursts, jobs, journal, lease, node_counts, reservations, resources
from burst.lifecycle.records import label_of
from burst.lifecycle.states import BurstState
from burst.planning import money
from burst.planning.plan import digest
from burst.planning.records import NO_LIMIT
from burst.sweep import sweep
from minicluster.backends.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.clusters.records import BurstingCluster
    from burst.lifecycle.records import BurstRecord
    from burst.workplace import Workplace

NO_SERVICE = "no service runs that would make it: start one with `minicluster burst serve`"


async def chosen(workplace: Workplace, name: str) -> list[BurstingCluster]:
    """Return the MiniCluster that is named; all of them if none is. Raises ClusterUnknown."""
    found = await workplace.clusters()
    chosen = [each for each in found if name in {"", each.name, each.name.rpartition("/")[2]}]
    if not chosen:
        names = ", ".join(each.name for each in found) or "none"
        needed = "with `spec.bursting` in its document"
        what = f"cluster {name}: is not up {needed}" if name else f"no cluster is up {needed}"
        raise ClusterUnknown(f"{what} (those that are: {names})" if name else what)
    return chosen


async def apply_plan(workplace: Workplace, wanted: str) -> Sequence[str]:
    """Ask for the bursts of the plan with a digest; return a line for each. Raises PlanChanged."""
    for cluster in await workplace.clusters():
        found = await workplace.planner.planned(cluster)
        if digest(found.plan) != wanted or not found.plan.bursts:
            continue
        made = await workplace.planner.apply(found)
        note = "" if await _is_served(workplace) else f"; {NO_SERVICE}"
        return [f"burst {label_of(each)} is asked for{note}" for each in made]
    raise PlanChanged(
        f"{wanted}: is not what would be done now; `minicluster burst plan` has the present plan"
    )


async def listed(workplace: Workplace, *, every: bool) -> list[dict[str, Any]]:
    """Return bursts as rows, the oldest first."""
    now = workplace.ledger.now()

    async def work(connection: AsyncConnection) -> list[dict[str, Any]]:
        found = await (bursts.all_of_them(connection) if every else bursts.opened(connection))
        return [await _row(connection, each, now) for each in found]

    return await workplace.ledger.read(work)


async def details(workplace: Workplace, label: str) -> dict[str, Any]:
    """Return all that is known of a burst. Raises BurstUnknown."""
    now = workplace.ledger.now()

    async def work(connection: AsyncConnection) -> dict[str, Any]:
        found = await bursts.by_label(connection, label)
        row = await _row(connection, found, now)
        made = await resources.of_burst(connection, found.id)
        there = RunningBurst(found, made, await node_counts.of_burst(connection, found.id))
        return rows.details(row, there, await journal.of_burst(connection, found.id), now)

    return await workplace.ledger.read(work)


async def stop_burst(workplace: Workplace, label: str) -> str:
    """Ask for the end of a burst; return a line. Raises BurstUnknown."""
    found = await workplace.ledger.read(lambda connection: bursts.by_label(connection, label))
    await asked.stop(workplace.ledger, found.id)
    note = "" if await _is_served(workplace) else f"; {NO_SERVICE.replace('make', 'end')}"
    return f"burst {found.label} is to end{note}"


async def swept(
    workplace: Workplace,
    installation: str = "",
    *,
    is_dry: bool,
    is_expired: bool = False,
    has_open: bool = False,
) -> tuple[list[dict[str, Any]], Sequence[str]]:
    """Sweep; return what was found as rows, and what could not be swept. Raises ServiceSweeps.

    With another installation's id: what that one has made and has passed its end; `is_expired`: what has not
    is not among the rows; `has_open`: it is deleted too.
    """
    try:
        if not is_dry:
            await workplace.ledger.acquire()
    except LeaseLost as error:
        raise ServiceSweeps(
            f"{error}, and sweeps every two minutes by itself; --dry-run reports what is there"
        ) from error
    context = workplace.context
    report = await sweep(context, installation, is_dry=is_dry, is_expired=is_expired, has_open=has_open)
    found = [
        {
            "provider": each.provider,
            "kind": each.status.key.kind,
            "name": each.status.key.name,
            "nodes": each.status.key.nodes,
            "burst": each.status.burst,
            "action": each.action,
        }
        for each in report.orphans
    ]
    return found, report.unswept


async def offers(workplace: Workplace) -> list[dict[str, Any]]:
    """Return what the providers offer as rows."""
    return [
        {
            "provider": name,
            "location": provider.location,
            "machine": offer.machine,
            "cores": offer.shape.cores,
            "gpus": offer.shape.gpus,
            "price_an_hour": money.encode(offer.price),
            "fee_an_hour": money.encode(offer.fee),
            "most": offer.most if offer.most < NO_LIMIT else None,
            "ready_seconds": offer.ready,
            "spot": offer.spot,
        }
        for name, provider in workplace.providers.items()
        for offer in provider.offers()
    ]


class ProviderCheck(NamedTuple):
    """What was found about a provider."""

    problems: Sequence[str]
    remarks: Sequence[str]
    """What would be a problem of MiniClusters that nobody knows of yet."""


async def checked(workplace: Workplace, name: str) -> ProviderCheck:
    """Return what is wrong with a provider. Raises ProviderUnknown."""
    if name not in workplace.providers:
        names = ", ".join(workplace.providers) or "none"
        raise ProviderUnknown(f"provider {name}: the settings have none of this name; they have {names}")
    try:
        clusters = await workplace.clusters()
    except BackendError:
        clusters = []
    needs = provider_checks.needed(workplace, name, clusters)
    problems = await provider_checks.problems(workplace, name, needs)
    if provider_checks.users_of(workplace, name, clusters):
        return ProviderCheck(problems, ())
    return ProviderCheck(problems, await provider_checks.remarks(workplace, name, problems))


async def _row(connection: AsyncConnection, burst: BurstRecord, now: float) -> dict[str, Any]:
    assigned = await jobs.of_burst(connection, burst.id)
    amounts = await reservations.of_burst(connection, burst.id)
    if burst.state is BurstState.REQUESTED:
        amounts = dict(burst.amounts)
    return rows.of_burst(burst, assigned, amounts, now)


async def _is_served(workplace: Workplace) -> bool:
    """Return whether a process advances bursts now."""
    until = await workplace.ledger.read(lease.until)
    return until > workplace.ledger.now()
