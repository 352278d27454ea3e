"""Plans a document for the reconciler: in the operator's process and in a worker alike. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from minicluster import document
from minicluster import plan as planning
from minicluster.operator import observation
from minicluster.plan.objects import shared_flux_files
from minicluster.plan.objects.names import FLUX_FILES

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.document import DocumentError, MiniCluster
    from minicluster.flux_zips import FluxFiles
    from minicluster.operator.observation import Stamp
    from minicluster.plan import FreshKeys, ObjectKey, Observed, Plan, Site
    from minicluster.plan.objects.fields import Object


class Subject(NamedTuple):
    """What the reconciler must know of a valid document before it can observe what exists for it."""

    uid: str
    secret: ObjectKey
    unwanted: tuple[ObjectKey, ...]
    """The objects that it does not ask for: such objects never conflict."""
    lead_hosts: tuple[str, ...]
    """The lead's DNS names, for its certificate; none where another MiniCluster's broker leads."""


class BuildInputs(NamedTuple):
    """What the objects of a MiniCluster are built from."""

    uid: str
    generation: int
    suspended: bool
    """Whether the MiniCluster's Job is suspended now: by the document, or by Kueue."""
    pods: int
    """Of the Job, as the resize wants them."""
    job_suspended: bool
    """Whether the Job is to be suspended: only after its save."""
    mounts_flux_files: bool
    """Whether the Job's pods mount those of the namespace."""


class Built(NamedTuple):
    """What was last built for a MiniCluster: the inputs, and the digests of its objects."""

    inputs: BuildInputs
    stamps: tuple[Stamp, ...]

    def stubs(self) -> tuple[Object, ...]:
        """Return an object of nothing but kind, name and digest for each."""
        return tuple(each.digest_stub() for each in self.stamps)


class PlanInputs(NamedTuple):
    """What a plan is made from, besides the document."""

    observed: Observed
    site: Site
    keys: FreshKeys | None
    now: datetime
    standing: Built | None
    """What was built, where all of it exists as it was applied: it is not built again."""


class Planned(NamedTuple):
    """A plan, and what was built for it; None: nothing was."""

    plan: Plan
    built: Built | None


def subject(cluster: MiniCluster) -> Subject:
    """Return what the reconciler must know of a document."""
    return Subject(
        cluster.metadata.uid,
        planning.secret_key(cluster),
        planning.unwanted(cluster),
        () if document.bursts_out(cluster.spec) else planning.lead_hosts(cluster),
    )


def problem(error: DocumentError) -> str:
    """Return what is wrong with a document, on one line."""
    return "; ".join(str(each) for each in error.problems)


def plan(cluster: MiniCluster, inputs: PlanInputs) -> Planned:
    """Return the plan; its objects are stamped, or digest stubs where they stand as they were applied."""
    made: list[Built] = []

    def build(
        cluster: MiniCluster,
        site: Site,
        *,
        suspended: bool,
        pods: int,
        job_suspended: bool,
        mounts_flux_files: bool,
    ) -> tuple[Object, ...]:
        about = cluster.metadata
        wanted = BuildInputs(about.uid, about.generation, suspended, pods, job_suspended, mounts_flux_files)
        if inputs.standing is not None and inputs.standing.inputs == wanted:
            return inputs.standing.stubs()
        built = planning.build(
            cluster,
            site,
            suspended=suspended,
            pods=pods,
            job_suspended=job_suspended,
            mounts_flux_files=mounts_flux_files,
        )
        objects = tuple(_stamped(each, site) for each in built)
        made.append(Built(wanted, tuple(observation.stamp(each) for each in objects)))
        return objects

    observed, site = inputs.observed, inputs.site
    decided = planning.plan(cluster, observed, site, inputs.keys, inputs.now, build=build)
    return Planned(decided, made[-1] if made else None)


def _stamped(item: Object, site: Site) -> Object:
    if item["metadata"]["name"] == FLUX_FILES:
        return _stamped_flux_files(item["metadata"]["namespace"], site.flux_files)
    return observation.stamped(item)


@lru_cache(maxsize=64)
def _stamped_flux_files(namespace: str, files: FluxFiles) -> Object:
    """Return a namespace's Flux files, stamped: they are large, and the same for all its MiniClusters."""
    return observation.stamped(shared_flux_files.build(namespace, files))
