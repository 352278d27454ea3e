"""The versions in a Kubernetes cluster, with a namespaced user's rights: what it refuses is left out.

The CRD's fields are in the API server's OpenAPI, which every user may read. An operator does not report
itself to users. But it writes a ConfigMap for each namespace, anew when its own version changes. In it is a
zip of this project's packages with their version. Whether an operator still runs is seen by those alone who
may read Deployments; they find its version there as well.
"""

from __future__ import annotations

import base64
import io
import re
import time
import zipfile
import zlib
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from broker_config.formats.printable import few
from minicluster import __version__, flux_zips
from minicluster.backends.records import ComponentVersion
from minicluster.document.schema import document_schema
from minicluster.kube_client import discovery
from minicluster.kube_client.api import APPLY_MANAGER, Selection
from minicluster.kube_client.errors import ANOTHERS_CRD, NO_CRD, ApiError
from minicluster.kube_client.resources import CONFIG_MAPS, DEPLOYMENTS, MINICLUSTERS
from minicluster.plan.constants import (
    LABEL_COMPONENT,
    LABEL_INSTANCE,
    LABEL_MANAGED_BY,
    LABEL_NAME,
    MANAGER,
    OPERATOR_APPLICATION,
    Component,
    Phase,
)
from minicluster.plan.objects.names import FLUX_FILES
from minicluster.remote import clusters, summary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Iterable

    from minicluster.plan.objects.fields import Object
    from minicluster.remote.session import NamespaceSession

OLDEST_KUBERNETES = "1.31"
"""The chart refuses an older one."""
MAX_NAMED = 3
MAX_SOURCE = 65_536
"""Bytes of a module in which its version is looked for."""
UPGRADE = 'docs/installation.md, "Upgrade"'
NO_DEFINITION = "there are no MiniClusters here (no definition)"
LATER = "it goes on, and is the newer one once it starts again"
LABEL_VERSION = "app.kubernetes.io/version"
WRITTEN_LAST = ", which it wrote last;"
NOT_READY = "has no pod that is ready"
UNREADABLE = (ValueError, KeyError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What zipfile raises of a zip that is damaged, or made to look so."""
_ASSIGNED = re.compile(rb'^__version__ = "([0-9A-Za-z.+-]{1,64})"', re.MULTILINE)
_NUMBERS = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")
_ENDED = {Phase.SUCCEEDED.value, Phase.FAILED.value}


async def components(session: NamespaceSession) -> list[ComponentVersion]:
    """Return the cluster's components. Raises ApiUnreachableError."""
    return [
        *await _known("Kubernetes", _kubernetes(session)),
        *await _known("CRD", _definition(session)),
        *await _known("operator", _operators_and_leads(session)),
    ]


async def _known(component: str, found: Awaitable[list[ComponentVersion]]) -> list[ComponentVersion]:
    """Return what is found, or the API server's reason why it is not."""
    try:
        return await found
    except ApiError as error:
        return [ComponentVersion(component, note=error.message or str(error))]


async def _kubernetes(session: NamespaceSession) -> list[ComponentVersion]:
    version = str((await session.client.get("/version"))["gitVersion"])
    older = is_older(version, OLDEST_KUBERNETES)
    differs = f"is older than {OLDEST_KUBERNETES}, the oldest that the operator works on" if older else ""
    return [ComponentVersion("Kubernetes", version, differs=differs)]


async def _definition(session: NamespaceSession) -> list[ComponentVersion]:
    """Return the version of the CRD's API, and how its fields differ from those that this program knows."""
    if not await discovery.serves(session.client, MINICLUSTERS):
        return [ComponentVersion("CRD", note=NO_CRD)]
    version = MINICLUSTERS.version.partition("/")[2]
    served = await discovery.schema(session.client, MINICLUSTERS)
    if served is None:
        return [ComponentVersion("CRD", version, "its fields are not published (yet)")]
    if discovery.is_anothers(served):
        return [ComponentVersion("CRD", version, ANOTHERS_CRD)]
    own, there = _spec_and_status(document_schema()), _spec_and_status(served)
    missing, unknown = discovery.missing_fields(own, there), discovery.missing_fields(there, own)
    found = {"lacks": missing, "also has": unknown}
    notes = [f"{how} {few(paths, MAX_NAMED)}" for how, paths in found.items() if paths]
    differs = f"is older than this program: upgrade it with the operator, {UPGRADE}" if missing else ""
    return [
        ComponentVersion("CRD", version, "; ".join(notes) or "the fields of this program", differs=differs)
    ]


def _spec_and_status(schema: Object) -> Object:
    """Return a document's schema without metadata, which the API server publishes elsewhere."""
    fields = schema.get("properties") or {}
    return {"properties": {name: fields[name] for name in ("spec", "status") if name in fields}}


async def _operators_and_leads(session: NamespaceSession) -> list[ComponentVersion]:
    try:
        listed = await session.client.list(Selection(MINICLUSTERS, session.namespace))
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return await _by_deployments(session, NO_DEFINITION)
        raise
    items = sorted(listed.items, key=lambda each: str(each["metadata"]["name"]))
    statuses = {str(each["metadata"]["name"]): summary.status_of(each) for each in items}
    serving = {name: status for name, status in statuses.items() if status.get("phase") not in _ENDED}
    operators = await _known("operator", _operators(session, serving))
    newest = operators[0].version
    if unserved := _unserved(session, items):
        operators[0] = replace(
            operators[0], differs="; ".join(filter(None, (operators[0].differs, unserved)))
        )
    leads = (_lead(name, status, newest) for name, status in serving.items() if status.get("readyBrokers"))
    return [*operators, *leads]


def _unserved(session: NamespaceSession, items: Iterable[Object]) -> str:
    """Return which MiniClusters no operator looks at; empty: none waits for one."""
    waiting = {str(each["metadata"]["name"]): summary.waits_since(each) for each in items}
    limit = time.time() - clusters.UNATTENDED
    names = [name for name, since in waiting.items() if since is not None and since < limit]
    if not names:
        return ""
    waiting_ones = f"MiniCluster {names[0]} waits" if len(names) == 1 else f"{few(names, MAX_NAMED)} wait"
    return f"serves namespace {session.namespace} no longer, or never did: {waiting_ones} for one"


def _lead(name: str, status: Object, operator: str | None) -> ComponentVersion:
    """Return what a MiniCluster's lead runs, by its status."""
    lead = status.get("lead") or {}
    if not lead:
        return ComponentVersion("lead", note="its operator does not store what leads run", name=name)
    engine = "embedded instance, as Flux" if lead.get("engine") == "embedded" else "Flux"
    version = lead.get("minicluster")
    differs = f"is older than the operator: {LATER}" if is_older(version, operator) else ""
    return ComponentVersion("lead", version, f"{engine} {lead.get('flux', '')}".strip(), name, differs)


async def _operators(session: NamespaceSession, serving: Collection[str]) -> list[ComponentVersion]:
    """Return the operator by what it wrote last for one of these, or else by Deployments.

    That is the namespace's Flux files, or those in the ConfigMap of a MiniCluster whose Job is of 0.1.0.
    """
    components = f"{Component.CONFIGURATION.value},{Component.FLUX_FILES.value}"
    chosen = f"{LABEL_MANAGED_BY}={MANAGER},{LABEL_COMPONENT} in ({components})"
    listed = await session.client.list(Selection(CONFIG_MAPS, session.namespace, labels=chosen, bare=True))
    own = [each for each in listed.items if each["metadata"]["labels"].get(LABEL_INSTANCE) in serving]
    shared = [each for each in listed.items if serving and each["metadata"]["name"] == FLUX_FILES]
    newest = sorted(own, key=_written_at, reverse=True)[:1]
    notes, version = [], None
    for each in sorted([*newest, *shared], key=_written_at, reverse=True):
        name = each["metadata"]["name"]
        found = await session.client.read(CONFIG_MAPS, session.namespace, name)
        notes.append(f"by ConfigMap {name} in namespace {session.namespace}")
        version = packed_version((found.get("binaryData") or {}).get(flux_zips.ZIP, ""))
        if version:
            break
    if not notes:
        return await _by_deployments(
            session, f"no MiniCluster in namespace {session.namespace} has files of it"
        )
    note = f"{notes[-1]}{await _whether_one_runs(session)}"
    return [ComponentVersion("operator", version, note, differs=_beside_this_program(version))]


def _written_at(item: Object) -> str:
    """Return when the operator last changed an object (RFC 3339, in UTC)."""
    entries = item["metadata"].get("managedFields") or ()
    return max((each.get("time") or "" for each in entries if each["manager"] == APPLY_MANAGER), default="")


async def _deployments(session: NamespaceSession) -> tuple[Object, ...]:
    """Return the Deployments of operators. Raises ApiError."""
    chosen = Selection(DEPLOYMENTS, labels=f"{LABEL_NAME}={OPERATOR_APPLICATION}")
    return (await session.client.list(chosen)).items


async def _whether_one_runs(session: NamespaceSession) -> str:
    """Return what is known of the operator that wrote a ConfigMap, as the end of a note."""
    try:
        found = await _deployments(session)
    except ApiError:
        return f"{WRITTEN_LAST} whether it still runs you may not see"
    if not found:
        return f"{WRITTEN_LAST} no operator is seen (there is no Deployment of one; one may run elsewhere)"
    serving = [each for each in found if _watches(each, session.namespace)]
    if not serving:
        return f"{WRITTEN_LAST} {_described(found[0])} does not watch it"
    return "" if any(map(_is_ready, serving)) else f"{WRITTEN_LAST} {_described(serving[0])} {NOT_READY}"


async def _by_deployments(session: NamespaceSession, unknown: str) -> list[ComponentVersion]:
    try:
        found = await _deployments(session)
    except ApiError as error:
        return [ComponentVersion("operator", note=f"{unknown}; {error.message or error}")]
    shown = [_deployed(each, session.namespace) for each in found]
    return shown or [ComponentVersion("operator", note=f"{unknown}, and it has no Deployment")]


def _deployed(item: Object, namespace: str) -> ComponentVersion:
    version = item["metadata"]["labels"].get(LABEL_VERSION)
    watched = "" if _watches(item, namespace) else f"does not watch namespace {namespace}"
    missing = " and ".join(filter(None, (watched, "" if _is_ready(item) else NOT_READY)))
    note = f"by {_described(item)}" + (f", which {missing}" if missing else "")
    return ComponentVersion("operator", version, note, differs=_beside_this_program(version))


def _described(item: Object) -> str:
    return f"Deployment {item['metadata']['name']} in namespace {item['metadata']['namespace']}"


def _watches(deployment: Object, namespace: str) -> bool:
    """Return whether an operator watches a namespace, by its Deployment: those it names, or all."""
    found = ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}
    args = [arg for each in found.get("containers") or () for arg in each.get("args") or ()]
    named = [arg.partition("=")[2] for arg in args if arg.startswith("--namespace=")]
    return not named or namespace in named


def _is_ready(deployment: Object) -> bool:
    return bool((deployment.get("status") or {}).get("readyReplicas"))


def _beside_this_program(operator: str | None) -> str:
    """Return how an operator's version differs from this program's."""
    if is_older(operator, __version__):
        return f"is older than this program: upgrade it first, {UPGRADE}"
    if is_older(__version__, operator):
        return f"is newer than this program: upgrade this, {UPGRADE}"
    return ""


def packed_version(packed: str) -> str | None:
    """Return the version of this project in a zip in base64; None where it has none.

    A user with the role edit may have written it: only the beginning of the file is unpacked.
    """
    try:
        with (
            zipfile.ZipFile(io.BytesIO(base64.b64decode(packed))) as archive,
            archive.open("minicluster/__init__.py") as source,
        ):
            found = _ASSIGNED.search(source.read(MAX_SOURCE))
    except UNREADABLE:
        return None
    return found[1].decode() if found else None


def is_older(version: str | None, other: str | None) -> bool:
    """Return whether a version is known to be older than another one."""
    mine, theirs = _numbers(version), _numbers(other)
    return bool(mine and theirs) and mine < theirs


def _numbers(version: str | None) -> tuple[int, ...]:
    """Return the numbers with which a version begins."""
    found = _NUMBERS.match(version or "")
    return tuple(int(each) for each in found.groups() if each) if found else ()
