"""`command` for the embedded instance's lead. Not part of the zip: it needs our own Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from minicluster.embedded import dump
from minicluster.embedded.errors import DumpError
from minicluster.flux_modules.saving import command, dumps
from minicluster.flux_modules.saving.errors import DumpUnusable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from minicluster.flux_modules.door.link import Link


def main(arguments: Sequence[str]) -> int:
    """Carry one command out."""
    return command.main(arguments, command.Engine(dumps.EMBEDDED, _connect, _examine))


def _examine(path: Path) -> None:
    try:
        dump.check(path)
    except DumpError as error:
        raise DumpUnusable(str(error)) from error


def _connect() -> Link:
    from minicluster.flux_modules.door.embedded_link import EmbeddedLink  # noqa: PLC0415 - a check needs no broker

    return EmbeddedLink(os.environ["FLUX_URI"])
