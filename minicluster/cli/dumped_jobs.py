"""The jobs in a dump of the embedded instance, for a listing once their cluster is gone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.cli.job_filters import JobSelection
    from minicluster.instance.records import Job

NEEDED = "needed is a file that `minicluster down NAME --dump FILE` wrote, of the embedded instance"


def find(path: str, selection: JobSelection) -> list[Job]:
    """Return jobs of a dump, the latest first. Raises WrongRequest."""
    from minicluster.backends.errors import WrongRequest
    from minicluster.embedded.errors import DumpError
    from minicluster.embedded.jobs import dump
    from minicluster.instance import wire

    which = selection.filter(here=True)
    try:
        found = [wire.job(each) for each in dump.listing(Path(path), wire.constraint(which), which.since)]
    except DumpError as error:
        raise WrongRequest(f"{error}; {NEEDED}") from error
    return selection.named(found)
