"""`minicluster burst serve` as a process."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from typing import TYPE_CHECKING

from burst import provider_checks
from burst.cli.errors import ServedByItself
from burst.cli.source_choice import SERVICE
from burst.cli.workplace import opened
from burst.loop import BurstLoop

if TYPE_CHECKING:
    from burst.cli.workplace import PathChoice


def run(choice: PathChoice, log_level: str) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Raises StateDirectoryUnusable, DatabaseError, SettingsInvalid and BackendError.
    """
    if choice.source.on == SERVICE:
        raise ServedByItself("--on service: the service in the cluster makes its bursts by itself")
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
        working = BurstLoop(workplace)
        warning = asyncio.create_task(provider_checks.warn(workplace, lambda: working.clusters))
        try:
            await working.run(over)
        finally:
            warning.cancel()
    show("the service has ended; bursts that are open stay as they are, and end at their times")


def show(text: str) -> None:
    """Print a line for the user who started the service."""
    print(f"minicluster: {text}", file=sys.stderr, flush=True)
