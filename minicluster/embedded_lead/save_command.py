"""`command` for the embedded instance's lead. Not part of the zip: it needs our own Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from minicluster.embedded.errors import DumpError
from minicluster.embedded.jobs import dump
from minicluster.save_restore import command, dumps
from minicluster.save_restore.errors import DumpUnusable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from minicluster.broker_link.link import LeadLink


def main(arguments: Sequence[str]) -> int:
    """Carry one command out."""
    return command.main(arguments, command.EngineAdapter(dumps.EMBEDDED, _connect, _examine))


def _examine(path: Path) -> None:
    try:
        dump.check(path)
    except DumpError as error:
        raise DumpUnusable(str(error)) from error


def _connect() -> LeadLink:
    from minicluster.instance.links.embedded import EmbeddedLink  # noqa: PLC0415 - a check needs no broker

    return EmbeddedLink(os.environ["FLUX_URI"])
