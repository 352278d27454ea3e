"""Alarms as warnings in a service's log, once each."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from burst.advance.advance import is_stuck
from burst.costs import alarms, budgets, rows, running
from burst.ledger import spending
from burst.planning.records import EACH_USER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.advance.context import AdvanceContext
    from burst.costs.alarms import CostAlarm
    from burst.settings.records import BurstSettings

ALARM_INTERVAL = 30.0
"""Seconds between two times that the ledger is read for alarms."""
_log = logging.getLogger(__name__)


async def read(
    context: AdvanceContext, settings: BurstSettings, asked: Mapping[str, float]
) -> list[CostAlarm]:
    """Return the alarms of now; `asked` is when each provider last listed what is there.

    Budgets of users are left out: there may be many. Raises DatabaseError.
    """
    now, currency = context.now(), settings.currency
    watched = [each for each in budgets.of_service(settings, now) if each.scope != EACH_USER]

    async def work(connection: AsyncConnection) -> list[CostAlarm]:
        spent = await spending.by_scope(connection, 0.0, (each.since for each in watched))
        opened = await running.read(connection)
        return [
            *alarms.of_bursts(opened, lambda burst: is_stuck(context, burst), currency, now),
            *alarms.of_budgets(rows.uses(spent, watched), currency),
            *alarms.of_providers(asked, now),
        ]

    return await context.ledger.read(work)


class AlarmLog:
    """Logs each alarm when it begins; one that ended and begins again is logged again."""

    def __init__(self) -> None:
        self._known: set[tuple[str, str]] = set()

    def note(self, found: Iterable[CostAlarm]) -> None:
        """Log those that are new."""
        seen: set[tuple[str, str]] = set()
        for each in found:
            key = (each.kind, each.subject)
            seen.add(key)
            if key not in self._known:
                _log.warning("%s", each.text)
        self._known = seen
