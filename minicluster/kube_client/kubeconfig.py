"""The contexts of a kubeconfig, read without the client: completion of command lines must be quick."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator


class KubeContext(NamedTuple):
    """A context."""

    name: str
    cluster: str
    namespace: str
    """Empty where it names none."""


def contexts(kubeconfig: str = "") -> list[KubeContext]:
    """Return the contexts of a kubeconfig, or of $KUBECONFIG; of what cannot be read there are none."""
    return [each for path in _paths(kubeconfig) for each in _contexts(path)]


def _paths(kubeconfig: str) -> list[Path]:
    given = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    # pathlib raises where the user has no home directory, as in a pod.
    return [Path(os.path.expanduser(each)) for each in given.split(os.pathsep) if each]  # noqa: PTH111


def _contexts(path: Path) -> Iterator[KubeContext]:
    try:
        found = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except (OSError, yaml.YAMLError):
        return
    for each in (found or {}).get("contexts") or ():
        about = each.get("context") or {}
        yield KubeContext(each["name"], about.get("cluster", ""), about.get("namespace", ""))
