"""What commands read of costs, and how they print them."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from burst.advance.advance import is_stuck
from burst.cli.errors import TimeInvalid
from burst.costs import alarms, budgets, rows, running
from burst.costs.rows import COST_COLUMNS
from burst.ledger import lease, spending
from burst.planning import money
from burst.settings import policy
from minicluster.backends.errors import BackendError
from minicluster.cli.tables import echo, show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.clusters.records import BurstingCluster
    from burst.costs.alarms import CostAlarm
    from burst.costs.rows import CostRow
    from burst.workplace import Workplace

CostPeriod = Literal["day", "week", "month", "all"]
CostFormat = Literal["table", "json", "csv"]
CostKind = Literal["all", "provider", "cluster", "user"]


class CostView(NamedTuple):
    """What bursts have cost since a time."""

    costs: Sequence[CostRow]
    currency: str
    alarms: Sequence[str]
    """What an administrator must know, a sentence each."""

    def rows(self, amount: Callable[[int], str] = money.encode) -> list[dict[str, Any]]:
        """Return the same as rows."""
        return [each.encode(self.currency, amount) for each in self.costs]


def begin(period: CostPeriod, since: str, now: float) -> float:
    """Return since when costs are summed, in seconds since 1970. Raises TimeInvalid."""
    if not since:
        return policy.begin("none" if period == "all" else period, now)
    try:
        found = datetime.fromisoformat(since)
    except ValueError:
        raise TimeInvalid(
            f"--since {since[:40]}: is no date; right would be 2026-11-01, or 2026-11-01T08:00 in UTC"
        ) from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


async def read(workplace: Workplace, since: float, about: str) -> CostView:
    """Return what bursts that began since a time have cost. Raises DatabaseError."""
    settings, now = workplace.settings.settings, workplace.ledger.now()
    known = [
        *budgets.of_service(settings, now),
        *budgets.of_documents(await _clusters(workplace), settings, now),
    ]
    times = [each.since for each in known]
    spent = await workplace.ledger.read(lambda connection: spending.by_scope(connection, since, times))
    found = rows.cost_rows(spent, known, about)
    of_budgets = alarms.of_budgets(rows.uses(spent, known), settings.currency)
    texts = [each.text for each in (*of_budgets, *await of_bursts(workplace))]
    return CostView(found, settings.currency, texts)


async def of_bursts(workplace: Workplace) -> list[CostAlarm]:
    """Return the alarms of open bursts, and of providers where no service runs. Raises DatabaseError."""
    context, now = workplace.context, workplace.ledger.now()
    currency = workplace.settings.settings.currency

    async def work(connection: AsyncConnection) -> list[CostAlarm]:
        opened = await running.read(connection)
        ended = await lease.until(connection)
        asked = {each.burst.provider: ended for each in opened if ended}
        return [
            *alarms.of_bursts(opened, lambda burst: is_stuck(context, burst), currency, now),
            *alarms.of_providers(asked, now),
        ]

    return await workplace.ledger.read(work)


async def _clusters(workplace: Workplace) -> list[BurstingCluster]:
    """Return the MiniClusters whose documents may have budgets, as far as they can be listed."""
    try:
        return await workplace.clusters()
    except BackendError:
        return []


def print_costs(view: CostView, output: CostFormat) -> None:
    """Print rows as they are asked for."""
    if output == "csv":
        text = io.StringIO()
        written = csv.DictWriter(text, COST_COLUMNS, lineterminator="\n")
        written.writeheader()
        written.writerows(view.rows())
        echo(text.getvalue().rstrip("\n"))
    else:
        show(view.rows() if output == "json" else view.rows(money.rounded), COST_COLUMNS, output)
