"""Tunnels of a service in a cluster: a Job of one pod for each, in the service's own namespace.

Jobs belong to nobody: a service that is replaced, or uninstalled, ends none of them. Each ends with its
burst, or at the burst's time.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

from burst.errors import CallInvalid, NameTaken, RetryLater
from burst.joining.records import LeadHost
from burst.joining.workers import LABEL_BURST, LABEL_OWNER
from burst.providers.kubernetes import preflight
from burst.providers.kubernetes.api_errors import ABSENT, CONFLICT, EXISTS, translated
from burst.providers.kubernetes.preflight import NeededRight
from burst.providers.kubernetes.reports import is_going, is_of
from burst.providers.kubernetes.tunnel.pod_objects import (
    LABEL_LOCATION,
    job_task,
    kubeconfig_problem,
    pod_reach,
    tunnel_job,
    tunnel_name,
)
from minicluster.kube_client.api import Selection
from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.errors import ApiError, KubernetesError
from minicluster.kube_client.resources import JOBS, PODS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from burst.joining.tunnel_pods import TunnelPods
    from burst.providers.kubernetes.tunnel.pod_objects import KubeObject, PodReach
    from burst.providers.kubernetes.tunnel.records import ReachTask
    from burst.providers.provider import WantedBurst

T = TypeVar("T")
MANAGER = "minicluster-burst"
RIGHTS = (
    *(NeededRight(verb, JOBS) for verb in ("create", "get", "list", "delete")),
    NeededRight("list", PODS),
)
"""What tunnels need in the service's namespace."""


class ReachPods:
    """See `ReachKeeper`. `location` is that of the provider whose tunnels these are, as a label has it."""

    def __init__(self, pods: TunnelPods, location: str, now: Callable[[], float] = time.time) -> None:
        self._pods = pods
        self._location = location
        self._now = now

    def check(self, task: ReachTask) -> None:
        """Raise CallInvalid where it could never run."""
        if not isinstance(task.lead, LeadHost):
            raise CallInvalid("a pod reaches a lead by its host alone, and not by this machine's kubeconfig")
        if problem := kubeconfig_problem(self._pods.template, task.kubeconfig):
            raise CallInvalid(problem)

    def ensure(self, wanted: WantedBurst, task: Callable[[], ReachTask]) -> PodReach | None:
        """Have one run; return how it is."""

        async def work(client: ApiClient) -> PodReach | None:
            job = await self._job(client, wanted)
            if job is None:
                return None
            if not is_of(job, wanted):
                raise NameTaken(
                    f"{self._where}: Job {job['metadata']['name']} is there, and not of this burst"
                )
            if is_going(job):
                raise RetryLater(f"{self._where}: Job {job['metadata']['name']} is being deleted")
            labels = f"{LABEL_BURST}={wanted.label},{LABEL_OWNER}={wanted.installation}"
            pods = (await client.list(Selection(PODS, self._pods.namespace, labels))).items
            return pod_reach(job, pods)

        found = self._visit(work)
        if found is None:
            self._make(tunnel_job(self._pods.template, wanted, task(), self._location, self._now()))
        return found

    def stop(self, wanted: WantedBurst) -> None:
        """Begin to end it; it is left until its pod is gone."""

        async def work(client: ApiClient) -> None:
            job = await self._job(client, wanted)
            if job is None or not is_of(job, wanted) or is_going(job):
                return
            about = job["metadata"]
            try:
                await client.delete(
                    JOBS, self._pods.namespace, about["name"], about["uid"], propagation="Foreground"
                )
            except ApiError as error:
                if error.status not in (ABSENT, CONFLICT):
                    raise

        self._visit(work)

    def left(self, installation: str) -> Iterator[ReachTask]:
        """Yield those of an installation, those that are being deleted among them."""
        labels = f"{LABEL_OWNER}={installation},{LABEL_LOCATION}={self._location}"

        async def work(client: ApiClient) -> tuple[KubeObject, ...]:
            return (await client.list(Selection(JOBS, self._pods.namespace, labels))).items

        for each in self._visit(work):
            task = job_task(each)
            if task is not None:
                yield task

    def problems(self, kubeconfig: str) -> Iterator[str]:
        """Yield why none could run for a provider with this kubeconfig."""
        if problem := kubeconfig_problem(self._pods.template, kubeconfig):
            yield f"no tunnel can be (spec.bursting.expose: tunnel): {problem}"

        async def work(client: ApiClient) -> str:
            return await preflight.missing(client, self._pods.namespace, RIGHTS)

        if found := self._visit(work):
            yield (
                "no tunnel can be (spec.bursting.expose: tunnel), for which this service may not, in"
                f" namespace {self._pods.namespace}: {found}"
            )

    @property
    def _where(self) -> str:
        return f"tunnels in namespace {self._pods.namespace}"

    async def _job(self, client: ApiClient, wanted: WantedBurst) -> KubeObject | None:
        try:
            return await client.read(JOBS, self._pods.namespace, tunnel_name(wanted.label))
        except ApiError as error:
            if error.status != ABSENT:
                raise
        return None

    def _make(self, job: KubeObject) -> None:
        async def work(client: ApiClient) -> None:
            try:
                await client.create(
                    {**job, "metadata": {**job["metadata"], "namespace": self._pods.namespace}}
                )
            except ApiError as error:
                if error.reason != EXISTS:
                    raise

        self._visit(work)

    def _visit(self, work: Callable[[ApiClient], Awaitable[T]]) -> T:
        """Return what comes of requests. Raises ProviderError."""

        async def visit() -> T:
            async with ApiClient(self._pods.access, manager=MANAGER) as client:
                return await work(client)

        try:
            return asyncio.run(visit())
        except KubernetesError as error:
            raise translated(error, self._where) from error
