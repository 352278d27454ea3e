"""Bursting on this machine: the ledger in the state folder, and the user's own MiniClusters."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from burst import workplace
from burst.cli.source_choice import SERVICE, SourceChoice
from burst.kubernetes import environment, sources
from burst.settings import file
from burst.workplace import WorkplaceParts
from minicluster.database import state_directory
from minicluster.kube_client.access import Access

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from burst.clusters.records import ClusterSource
    from burst.settings.file import SettingsFile
    from burst.workplace import Workplace

SETTINGS = "burst.yaml"
CONTENT = "what bursts cost"
"""What others could read where they may enter the folder."""
USUAL = "providers: [{name: local, kind: local}]"
"""The settings where there is no file: processes on this machine, which cost nothing."""


@dataclass(frozen=True, slots=True)
class PathChoice:
    """Where a user says things are; empty: where they are by default."""

    state: str = ""
    settings: str = ""
    source: SourceChoice = field(default_factory=SourceChoice)


@contextlib.asynccontextmanager
async def opened(choice: PathChoice) -> AsyncIterator[Workplace]:
    """Open everything. Raises StateDirectoryUnusable, DatabaseError, SettingsInvalid and BackendError."""
    if choice.source.on == SERVICE:
        served = environment.workplace(os.environ, Access())
        state_directory.opened(served.state, CONTENT)
        async with workplace.opened(await asyncio.to_thread(sources.parts, served)) as found:
            yield found
        return
    source = await asyncio.to_thread(choice.source.open)
    directory = Path(choice.state) if choice.state else state_directory.default()
    state_directory.opened(directory, CONTENT)
    settings = _settings(choice, directory / SETTINGS)
    url = f"sqlite:///{directory / _database(source)}"
    async with workplace.opened(WorkplaceParts(source, url, settings, directory)) as found:
        yield found


def _database(source: ClusterSource) -> str:
    """Return the file of the ledger: MiniClusters that another source has are not gone."""
    return f"burst-{source.key}.db" if source.key else "burst.db"


def _settings(choice: PathChoice, usual: Path) -> SettingsFile:
    """Return the settings: those of the file that is named, else of the usual one, else USUAL."""
    if choice.settings:
        return file.load(Path(choice.settings))
    return file.load(usual) if usual.exists() else file.parse(USUAL, source="the usual settings")
