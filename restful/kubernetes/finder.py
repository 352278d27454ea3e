"""Keeps the clusters that are served in step with the MiniClusters that there are."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial
from typing import TYPE_CHECKING

from minicluster.database import DatabaseError
from minicluster.kube_client.logs import for_object
from restful.clusters.former import Absence
from restful.clusters.spec import ClusterSpec, Tenancy
from restful.jobs.jobspecs import Base
from restful.kubernetes.observed import DELETED, name_of_path, path_name
from restful.kubernetes.owners import no_owner, owner_id
from restful.store import clusters as rows

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from minicluster.instance.records import BurstSummary
    from minicluster.kube_client.objects import Name
    from restful.identity.identities import Identities
    from restful.kubernetes.lead_instances import LeadInstances
    from restful.kubernetes.observed import FoundCluster, MiniClusters
    from restful.services import Services
    from restful.store.clusters import ClusterRow

OWNERS_INTERVAL = 30.0
"""Seconds between two looks whether the owners that annotations name are users."""
RETRY_DELAY = 2.0
"""Seconds before what the database refused is tried again."""
DIRECTORY = "/tmp"  # noqa: S108 - of a pod; who runs there may not write to /
"""Where jobs run that name no directory, at a MiniCluster that has no `workingDir` either."""

log = logging.getLogger("restful.kubernetes")


class ClusterFinder:
    """Serves what is there. `changed` is for the watches; `work` does it, one MiniCluster after the other."""

    def __init__(
        self, services: Services, identities: Identities, found: MiniClusters, instances: LeadInstances
    ) -> None:
        self._services = services
        self._clusters = services.clusters
        self._identities = identities
        self._found = found
        self._instances = instances
        self._pending: set[Name] = set()
        self._listed: set[str] = set()
        self._changed = asyncio.Event()
        self._clusters.not_served.absence = self.absence
        found.has_been_listed = self.listed
        self.troubles: dict[str, str] = {}
        """Why MiniClusters of a namespace ("": of all) are not known as they are now."""

    def changed(self, name: Name) -> None:
        """Have a MiniCluster served as it is now."""
        self._pending.add(name)
        self._changed.set()

    def failed(self, namespace: str, error: Exception) -> None:
        """Note why a namespace's watch has ended: it begins again."""
        before, self.troubles[namespace] = self.troubles.get(namespace), str(error)
        if before != self.troubles[namespace]:
            where = f"namespace {namespace}" if namespace else "all namespaces"
            log.warning("MiniClusters of %s are not followed now: %s", where, error)

    def listed(self, namespace: str) -> None:
        """Note that all MiniClusters of a namespace ("": of all) are known."""
        self.troubles.pop(namespace, None)
        self._changed.set()

    def awaken(self) -> None:
        """Connect again to all that are away: there are other keys."""
        for each in self._clusters:
            self._clusters.awaken(each.name)

    def absence(self, row: ClusterRow) -> Absence | None:
        """Return why a cluster is not served; None for what is no MiniCluster of these namespaces."""
        if not row.namespace or not self._found.follows(row.namespace):
            return None
        if name_of_path(row.namespace, row.name) in self._found.clusters:
            return Absence("is about to be served", gone=False)
        if self._found.knows(row.namespace):
            return Absence(DELETED, gone=True)
        trouble = self.troubles.get(row.namespace) or self.troubles.get("") or ""
        why = f": {trouble}" if trouble else ""
        return Absence(f"the MiniClusters of its namespace are not known yet{why}", gone=False)

    async def work(self) -> None:
        """Serve what there is, for ever."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OWNERS_INTERVAL):
                    await self._changed.wait()
            self._changed.clear()
            changed, self._pending = self._pending, set()
            for name in sorted(changed | self._owned()):
                await self._serve(name, changed=name in changed)
            await self._retire_missing()
            if self._pending:
                await asyncio.sleep(RETRY_DELAY)
                self._changed.set()

    def _owned(self) -> set[Name]:
        """Return the MiniClusters whose owner may be another user by now."""
        return {each.name for each in self._found.clusters.values() if each.tenancy is Tenancy.OWN}

    async def _serve(self, name: Name, *, changed: bool) -> None:
        """Serve one MiniCluster as it is; one that has changed, and was away, is connected to at once."""
        cluster = self._found.clusters.get(name)
        try:
            if cluster is None:
                await self._clusters.retire(path_name(name), DELETED)
                for_object(log, name).info("is served no longer: it was deleted")
            elif not await self._described(name, cluster) and changed and not cluster.unreachable:
                self._clusters.awaken(path_name(name))
        except DatabaseError as error:
            log.warning("MiniCluster %s: %s; it is tried again", name, error)
            self._pending.add(name)
        except Exception:
            log.exception("a defect: MiniCluster %s is not served as it is", name)

    async def _described(self, name: Name, cluster: FoundCluster) -> bool:
        """Serve a MiniCluster by its UID, tenancy and owner; return whether that was not so before."""
        path, owner = path_name(name), await self._owner(cluster)
        served = self._clusters.get(path)
        base = Base({}, cluster.directory or DIRECTORY)  # PATH, HOME and the like are the lead's own
        wanted = (cluster.uid, cluster.tenancy, owner, base)
        if served is None or _of(served.spec) != wanted:
            connect = partial(self._instances.open, name, cluster.uid)
            bursts = partial(self._bursts, name)
            spec = ClusterSpec(path, connect, name.namespace, *wanted, bursts=bursts)
            await self._clusters.add(spec)
            self._report(cluster, owner)
            return True
        return False

    def _bursts(self, name: Name) -> tuple[BurstSummary, ...]:
        found = self._found.clusters.get(name)
        return () if found is None else found.bursts

    async def _owner(self, cluster: FoundCluster) -> str:
        """Return the id of the user whose a MiniCluster is; empty where it is nobody's."""
        if not cluster.owner:
            return ""

        async def load(connection: AsyncConnection) -> str | None:
            return await owner_id(connection, cluster.owner)

        return await self._identities.authority.remember(("owner", cluster.owner), load) or ""

    def _report(self, cluster: FoundCluster, owner: str) -> None:
        about = for_object(log, cluster.name, cluster.uid)
        about.info("is served as %s, tenancy %s", path_name(cluster.name), cluster.tenancy)
        if cluster.mistake:
            about.warning("%s", cluster.mistake)
        if cluster.owner and not owner:
            about.warning("%s", no_owner(cluster.owner))

    async def _retire_missing(self) -> None:
        """End the jobs of MiniClusters that were deleted while this service did not follow them."""
        due = self._found.listed - self._listed
        if not due:
            return
        try:
            async with self._services.database.read() as connection:
                found = await rows.with_active_jobs(connection)
            for row in found:
                absence = None if self._clusters.get(row.name) else self.absence(row)
                if absence is not None and absence.gone:
                    await self._clusters.retire(row.name, DELETED)
        except DatabaseError as error:
            log.warning("jobs of MiniClusters that are gone: %s; it is tried again", error)
            self._changed.set()
            await asyncio.sleep(RETRY_DELAY)
            return
        self._listed |= due


def _of(spec: ClusterSpec) -> tuple[str, Tenancy, str, Base]:
    """Return what of a cluster may change."""
    return spec.uid, spec.tenancy, spec.owner, spec.base
