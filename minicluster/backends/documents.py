"""Documents on the command line: reads files, chooses a MiniCluster, parses policies."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from minicluster.backends.errors import WrongRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from minicluster.backends.records import PlacementRequest
    from minicluster.document import MiniCluster

RENAMES_NONE = "--name chooses one of the file, and renames none; metadata.name in the file is its name"


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document file as it was read."""

    text: str
    source: str
    """Its name in messages: the path, or "standard input"."""


def read(path: str) -> DocumentText:
    """Read a file, or with `-` standard input. Raises WrongRequest."""
    try:
        if path == "-":
            return DocumentText(sys.stdin.buffer.read().decode("utf-8-sig"), "standard input")
        return DocumentText(Path(path).read_bytes().decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        raise WrongRequest(f"{path}: not UTF-8: byte 0x{error.object[error.start]:02x}") from error
    except OSError as error:
        raise WrongRequest(f"{path}: cannot be read: {error.strerror}{_program_hint(path)}") from error


def _program_hint(path: str) -> str:
    """Return how a program is run, where the name of one was given for a document."""
    import shutil

    return f"; to run a program without a document: minicluster run -- {path}" if shutil.which(path) else ""


def choose(clusters: Sequence[MiniCluster], name: str, source: str) -> MiniCluster:
    """Return the MiniCluster of this name; no name: the only one of the document. Raises WrongRequest."""
    if len(clusters) == 1 and not name:
        return clusters[0]
    names = ", ".join(each.metadata.name for each in clusters)
    for each in clusters:
        if each.metadata.name == name:
            return each
    if name:
        raise WrongRequest(f"{source}: has no MiniCluster {name}; it has {names}; {RENAMES_NONE}")
    raise WrongRequest(f"{source}: has several MiniClusters ({names}); choose one with --name")


class FieldChange(NamedTuple):
    """An option of the command line, and the fields of the document in whose place it stands."""

    option: str
    scheduler: Mapping[str, Any]
    """Of `flux.scheduler`."""
    spec: Mapping[str, Any]
    """Of `spec` itself."""

    def changed(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return a document's spec with these fields."""
        flux = spec.get("flux") or {}
        scheduler = {**(flux.get("scheduler") or {}), **self.scheduler}
        there = {"flux": {**flux, "scheduler": scheduler}} if self.scheduler else {}
        return {**spec, **there, **self.spec}


def core_changes(asked: PlacementRequest) -> Iterator[FieldChange]:
    """Yield a change for each option about cores; what it has is not checked. Raises WrongRequest."""
    if asked.placement:
        option = f"--placement {asked.placement}"
        name, settings = _placement_of(asked.placement, option)
        yield FieldChange(option, {"placement": name, "placementSettings": settings}, {})
    if asked.affinity:
        yield FieldChange(f"--affinity {asked.affinity}", {"affinity": asked.affinity}, {})
    if asked.profile:
        yield FieldChange(f"--profile {asked.profile}", {}, {"profile": asked.profile})


def _placement_of(word: str, option: str) -> tuple[str, dict[str, Any]]:
    from queue_policies.errors import PolicyError
    from queue_policies.simulator import selection

    try:
        return selection.read_placement(word)
    except PolicyError as error:
        raise WrongRequest(f"{option}: {error}") from None


def policy_of(word: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a queue policy and the settings given with it. Raises WrongRequest."""
    from queue_policies.errors import PolicyError
    from queue_policies.simulator import selection

    ours = "minicluster/" if word.startswith("minicluster/") else ""
    try:
        name, settings = selection.read(word.removeprefix(ours))
    except PolicyError as error:
        raise WrongRequest(f"--policy {word}: {error}") from None
    return f"{ours}{name}", settings
