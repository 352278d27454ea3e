"""`minicluster burst serve` as a process."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from typing import TYPE_CHECKING

from burst.automatic import plan_all
from burst.cli.workplace import opened
from burst.errors import LeaseLost
from burst.service import BurstService
from minicluster.backends.errors import BackendError
from minicluster.database import DatabaseAway, DatabaseFull

if TYPE_CHECKING:
    from burst.cli.workplace import PathChoice, Workplace

TICK = 2.0
"""Seconds between two looks at bursts."""
PLAN_INTERVAL = 10.0
"""Seconds between two looks at what waits."""
_log = logging.getLogger(__name__)


def run(choice: PathChoice, log_level: str) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Raises StateDirectoryUnusable, DatabaseError, SettingsInvalid and BackendError.
    """
    logging.basicConfig(format="minicluster: %(levelname)s: %(message)s", level=log_level.upper())
    logging.getLogger("alembic").setLevel(logging.WARNING)  # its tables are no user's business
    asyncio.run(_serve(choice))


async def _serve(choice: PathChoice) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, over.set)
    async with opened(choice) as workplace:
        names = ", ".join(workplace.providers) or "none"
        where, installation = workplace.source.location, workplace.installation
        show(f"bursts of {where} are served; providers: {names}; installation {installation}")
        service, planned = BurstService(workplace.context), 0.0
        while not over.is_set():
            planned = await _tick(workplace, service, planned)
            try:
                await asyncio.wait_for(over.wait(), TICK)
            except TimeoutError:
                continue
        await workplace.ledger.release()
    show("the service has ended; bursts that are open stay as they are, and end at their times")


async def _tick(workplace: Workplace, service: BurstService, planned: float) -> float:
    """Do what is to be done now; return when plans were made last."""
    now = workplace.ledger.now()
    try:
        clusters = await workplace.clusters()
        await service.tick()
        await _publish(workplace)
        await workplace.withdraw()
        if now - planned >= PLAN_INTERVAL:
            await plan_all(workplace.planner, clusters)
            return now
    except LeaseLost as error:
        _log.debug("another process serves: %s", error)
    except (BackendError, DatabaseAway, DatabaseFull) as error:
        _log.warning("tried again: %s", error)
    return planned


async def _publish(workplace: Workplace) -> None:
    """Show bursts where their MiniClusters are; nothing else waits until that can be done."""
    try:
        await workplace.publish()
    except BackendError as error:
        _log.warning("bursts cannot be shown, tried again: %s", error)


def show(text: str) -> None:
    """Print a line for the user who started the service."""
    print(f"minicluster: {text}", file=sys.stderr, flush=True)
