"""Which cluster a command works with: the one that is named, or the only one that is up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.backends.port import Backend

OptionalClusterArgument = Annotated[
    str | None, typer.Argument(metavar="NAME", help="The cluster; needed where more than one is up.")
]
_POSSIBLE_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
"""What may be the name of a cluster (RFC 1123)."""
EMPTY = "is empty (did the command fail that was to tell it?)"


def named(backend: Backend, name: str | None) -> str:
    """Return the name that was given, else that of the only cluster. Raises BadParameter."""
    if name:
        return name
    if name is not None:
        raise typer.BadParameter(EMPTY, param_hint="NAME")
    found = [each.name for each in backend.clusters().clusters]
    if len(found) == 1:
        return found[0]
    up = f"up are {', '.join(found)}" if found else "no cluster is up"
    raise typer.BadParameter(f"is needed: {up}; see `minicluster list{backend.words}`", param_hint="NAME")


def split(backend: Backend, name: str | None, jobs: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the cluster and the jobs that are meant by the words of [NAME] [JOB]... Raises BadParameter.

    The first word is a job only if it cannot be a cluster's name: ids have a ƒ, or capital letters.
    """
    if name is None or not _is_job(name):
        return named(backend, name), tuple(jobs)
    return named(backend, None), (name, *jobs)


def _is_job(word: str) -> bool:
    from broker_config.formats.errors import JobIdError
    from broker_config.formats.jobid import parse

    try:
        parse(word)
    except JobIdError:
        return False
    return not _POSSIBLE_NAME.fullmatch(word)
