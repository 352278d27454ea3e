"""MiniClusters as this service sees them, and what the people of their namespace decide there. Pure.

Who may edit MiniClusters in a namespace is believed for that namespace alone: he could as well run any
program as the owner of these instances.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicluster.instance.records import BurstSummary
from minicluster.kube_client.objects import Name
from minicluster.lead_client.lead_host import lead_host
from minicluster.plan.constants import ANNOTATION_OWNER, ANNOTATION_TENANCY, Phase
from restful.clusters.spec import Tenancy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from minicluster.kube_client.objects import Object

AT_REST = {
    Phase.SUSPENDED: "is suspended: `minicluster resume` starts it again",
    Phase.SUCCEEDED: "has ended, as its command has",
    Phase.FAILED: "has failed: its status has the reason",
    Phase.INVALID: "has an invalid document: its status has the reason",
}
"""Phases in which there is no instance, and why, for people."""
DELETED = "its MiniCluster was deleted"
BEGINNING = frozenset({"", Phase.PENDING, Phase.STARTING})
NO_LEAD = "has no lead of its own: spec.flux.bursting names a leadBroker elsewhere"
MAX_OWNER = 756
"""Characters of a user's name, or of an issuer and a subject there."""


@dataclass(frozen=True, slots=True)
class FoundCluster:
    """A MiniCluster."""

    name: Name
    uid: str
    tenancy: Tenancy
    owner: str
    """Whose it is, with the tenancy "own", as `owners` reads it; perhaps no user's."""
    host: str
    """The lead's DNS name."""
    phase: str
    unreachable: str
    """Why there is no instance to connect to, for people; empty: there may be one."""
    mistake: str = ""
    """What is wrong with its annotations."""
    bursts: tuple[BurstSummary, ...] = ()
    """Those that its status has."""
    directory: str = ""
    """The `workingDir` of the container that runs Flux; empty: it states none."""


def path_name(name: Name) -> str:
    """Return how routes and grants call a MiniCluster: `team-a.lammps`, as no namespace has a dot."""
    return f"{name.namespace}.{name.name}"


def name_of_path(namespace: str, path: str) -> Name:
    """Return the MiniCluster in a namespace that routes call so."""
    return Name(namespace, path.removeprefix(f"{namespace}."))


def observed(item: Object, default: Tenancy) -> FoundCluster:
    """Return a MiniCluster as it is used here; `default` is the tenancy of one that states none."""
    metadata = item["metadata"]
    phase = str((item.get("status") or {}).get("phase") or "")
    host = lead_host(item)
    tenancy, owner, mistake = _tenancy(metadata.get("annotations") or {}, default)
    suspended = (item.get("spec") or {}).get("suspend") and phase in BEGINNING
    unreachable = (
        AT_REST[Phase.SUSPENDED]
        if suspended
        else next((why for each, why in AT_REST.items() if each == phase), "")
    )
    return FoundCluster(
        name=Name(metadata["namespace"], metadata["name"]),
        uid=str(metadata["uid"]),
        tenancy=tenancy,
        owner=owner,
        host=host,
        phase=phase,
        unreachable=unreachable or ("" if host else NO_LEAD),
        mistake=mistake,
        directory=_directory(item.get("spec") or {}),
        bursts=tuple(map(_burst, (item.get("status") or {}).get("bursts") or ())),
    )


def _burst(item: Object) -> BurstSummary:
    burst, slot, provider, state = (str(item.get(name) or "") for name in ("id", "slot", "provider", "state"))
    return BurstSummary(burst, slot, provider, state)


def _directory(spec: Object) -> str:
    containers = [each for each in spec.get("containers") or () if isinstance(each, dict)]
    runners = containers if len(containers) == 1 else [each for each in containers if each.get("runFlux")]
    found = str(runners[0].get("workingDir") or "") if runners else ""
    return found if found.startswith("/") else ""


def _tenancy(annotations: Mapping[str, str], default: Tenancy) -> tuple[Tenancy, str, str]:
    """Return tenancy, owner and what is wrong. Where it is not clear what is meant, nobody gets in by it."""
    stated = annotations.get(ANNOTATION_TENANCY)
    owner = str(annotations.get(ANNOTATION_OWNER) or "")[: MAX_OWNER + 1]
    if stated is None:
        return (Tenancy.OWN if owner else default), owner, ""
    try:
        tenancy = Tenancy(stated)
    except ValueError:
        known = " nor ".join(Tenancy)
        return Tenancy.OWN, "", f"the annotation {ANNOTATION_TENANCY} is {stated[:40]!r}, neither {known}"
    if owner and tenancy is Tenancy.SHARED:
        return tenancy, "", f"the annotation {ANNOTATION_OWNER} has no meaning where the tenancy is shared"
    return tenancy, owner if tenancy is Tenancy.OWN else "", ""


@dataclass(slots=True)
class MiniClusters:
    """Those that the watches have reported. See `kube_client.watch.WatchCache`."""

    namespaces: tuple[str, ...] = ()
    """The namespaces that are followed; none: all."""
    default: Tenancy = Tenancy.SHARED
    clusters: dict[Name, FoundCluster] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    """The namespaces that were listed; "" is all of them."""
    has_been_listed: Callable[[str], None] = lambda _namespace: None
    """Called with each namespace that was listed, again perhaps."""

    def follows(self, namespace: str) -> bool:
        """Return whether a namespace's MiniClusters are followed."""
        return not self.namespaces or namespace in self.namespaces

    def knows(self, namespace: str) -> bool:
        """Return whether all MiniClusters of a namespace are known."""
        return bool({"", namespace} & self.listed)

    def see(self, _kind: str, item: Object) -> Iterable[Name]:
        """Store a MiniCluster; return its name if something has changed that matters here."""
        found = observed(item, self.default)
        if self.clusters.get(found.name) == found:
            return ()
        self.clusters[found.name] = found
        return (found.name,)

    def forget(self, _kind: str, item: Object) -> Iterable[Name]:
        """Remove one that was deleted."""
        name = Name(item["metadata"]["namespace"], item["metadata"]["name"])
        return () if self.clusters.pop(name, None) is None else (name,)

    def replace_all(
        self,
        kind: str,
        items: Iterable[Object],
        version: int,  # noqa: ARG002 - a watch delivers in order
        namespace: str = "",
    ) -> Iterable[Name]:
        """Replace all of a namespace; return the names of those that are gone, new, or not as before."""
        before = {name for name in self.clusters if namespace in {"", name.namespace}}
        listed = list(items)
        gone = before - {Name(each["metadata"]["namespace"], each["metadata"]["name"]) for each in listed}
        for name in gone:
            del self.clusters[name]
        self.listed.add(namespace)
        self.has_been_listed(namespace)
        return [*gone, *(name for each in listed for name in self.see(kind, each))]
