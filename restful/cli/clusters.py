"""Which cluster of this machine a service serves: the document's, or the one that is up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

from minicluster.backends import discovery, documents
from minicluster.backends.documents import DocumentText
from minicluster.backends.quiet_reporter import QuietReporter
from minicluster.backends.records import UpRequest
from restful.cli.errors import WrongOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.backends.port import Backend

NAME = "mc"
ONE_BROKER = f"""\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata:
  name: {NAME}
spec:
  size: 1
  interactive: true
  containers:
  - image: ubuntu:24.04
"""
"""Where no document is given and no cluster is up."""


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """What the user has named."""

    document: str = ""
    """A path; - is standard input; empty: none."""
    name: str = ""
    engine: str = "auto"
    oversubscribe: bool = False


def served(choice: ClusterChoice, show: Callable[[str], None]) -> tuple[Backend, str]:
    """Return the back end, and the name of the cluster, which is up. Raises BackendError, DocumentError."""
    backend = _backend(choice, show)
    up = [each.name for each in backend.clusters().clusters]
    if not choice.document:
        return backend, _named(choice, up) or _brought_up(backend, DocumentText(ONE_BROKER, "serve"), choice)
    text = documents.read(choice.document)
    name = _name_in(text, choice.name)
    return backend, name if name in up else _brought_up(backend, text, choice)


def _named(choice: ClusterChoice, up: list[str]) -> str:
    """Return the cluster that is meant among those that are up; empty: one is to be started."""
    if choice.name and choice.name not in up:
        found = ", ".join(up) or "none"
        raise WrongOptions(f"--name {choice.name}: no such cluster is up (up: {found}); give its document")
    if not choice.name and len(up) > 1:
        raise WrongOptions(f"several clusters are up ({', '.join(up)}): choose one with --name")
    return choice.name or next(iter(up), "")


def _name_in(text: DocumentText, name: str) -> str:
    """Return the name of the MiniCluster that is meant; empty: bringing it up reports what is wrong."""
    try:
        found = [each for each in yaml.safe_load_all(text.text) if isinstance(each, dict)]
        names = [str(each["metadata"]["name"]) for each in found if each.get("kind") == "MiniCluster"]
    except (yaml.YAMLError, KeyError, TypeError, ValueError, RecursionError):
        return ""
    return name if name in names else names[0] if len(names) == 1 and not name else ""


def _brought_up(backend: Backend, text: DocumentText, choice: ClusterChoice) -> str:
    return backend.up(text, UpRequest(choice.name))[0].name


def _backend(choice: ClusterChoice, show: Callable[[str], None]) -> Backend:
    kind = discovery.registry().kind(discovery.USUAL)
    given = {each.key: each.default for each in kind.options_of("up")}
    given |= {"engine": choice.engine, "oversubscribe": choice.oversubscribe}
    return kind.open(given, QuietReporter(show))
