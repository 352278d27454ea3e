"""`command` for real Flux's lead, under Flux's own Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from minicluster.save_restore import command, dumps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.broker_link.link import LeadLink


def main(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code."""
    return command.main(arguments, command.EngineAdapter(dumps.FLUX, _connect))


def _connect() -> LeadLink:
    from minicluster.broker_link.flux_link import FluxLink  # noqa: PLC0415 - a file's check needs no Flux

    return FluxLink(os.environ["FLUX_URI"])
