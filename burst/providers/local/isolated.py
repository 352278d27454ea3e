"""The brokers of an instance of its own as pods of this machine: a MiniCluster in the burst's directory."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from burst.errors import RetryLater
from burst.joining.worker_document import WorkerRequest, WorkerSettings, isolated_document
from burst.lifecycle.records import PREFIX
from burst.providers.local import followers
from burst.providers.local.records import ENDED, FollowerTask
from minicluster.document import Network, loading
from minicluster.local import documents, pods, preparation, state_file
from minicluster.local.site import engine
from minicluster.local.state_directory import ClusterDirectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from burst.joining.records import JoinSettings
    from burst.providers.local.records import BurstDirectory
    from burst.providers.local.settings import LocalSettings
    from burst.providers.provider import WantedBurst
    from minicluster.document import MiniCluster
    from minicluster.local.preparation import Prepared
    from minicluster.local.records import LocalContainer, LocalPod


def task(join: JoinSettings, wanted: WantedBurst, settings: LocalSettings) -> FollowerTask:
    """Return what a supervisor is to run: an instance of the engine of the burst's MiniCluster.

    Raises CallInvalid, and RetryLater where that is not up.
    """
    near = ClusterDirectory(join.directory or Path())
    state = state_file.read(near)
    if state is None:
        raise RetryLater(f"MiniCluster {near.path} is not up")
    name = f"{PREFIX}{wanted.label}"
    cluster = _document(join.cluster, WorkerRequest(name, wanted.nodes, 0), settings)
    return FollowerTask(
        cluster=str(near.path),
        hosts={f"{name}-{rank}": rank for rank in range(wanted.nodes)},
        until=wanted.until,
        fence=0,
        leave_after=0,
        document=json.dumps(loading.dump(cluster)),
        engine=state.engine,
    )


def _document(near: MiniCluster, request: WorkerRequest, settings: LocalSettings) -> MiniCluster:
    """Return the document of an instance with nodes as they are offered.

    Its commands find the MiniCluster's volumes where that has them: they are on the same machine.
    """
    limits = {"cpu": str(settings.cores)}
    if settings.gpus:
        limits["nvidia.com/gpu"] = str(settings.gpus)
    bare = tuple(each.model_copy(update={"volumes": {}}) for each in near.spec.containers)
    near = near.model_copy(update={"spec": near.spec.model_copy(update={"containers": bare})})
    made = isolated_document(near, request, WorkerSettings(requests=limits))
    # Without a port of the document's own each broker gets a free one.
    return made.model_copy(update={"spec": made.spec.model_copy(update={"network": Network()})})


def prepared(directory: BurstDirectory, task: FollowerTask, notice: Callable[[str], None]) -> Prepared:
    """Write all files of an instance, its certificate among them. Raises LocalError, PlanError."""
    source = documents.parse(task.document, directory.path.name)
    return preparation.prepare(source, directory.brokers, engine(task.engine), Path.home(), notice)


def brokers(directory: BurstDirectory, made: Prepared) -> Iterator[LocalPod]:
    """Yield the pod of each broker, with no more of this process's environment than followers get."""
    for rank in range(made.cluster.spec.size):
        pod = pods.broker(made.blueprint, rank)
        run = directory.brokers.run(rank)
        containers = tuple(
            _alone(each, {"MINICLUSTER_TERMINATION_LOG": str(run / ENDED)}) for each in pod.containers
        )
        yield dataclasses.replace(pod, containers=containers)


def _alone(container: LocalContainer, own: dict[str, str]) -> LocalContainer:
    kept = followers.inherited()
    environment = {
        name: value
        for name, value in container.environment.items()
        if name in kept or os.environ.get(name) != value
    }
    return dataclasses.replace(container, environment={**environment, **own})


def furnish(directory: BurstDirectory) -> None:
    """Make what a MiniCluster has in its directory, besides what that of each burst has. Raises OSError."""
    for each in (directory.brokers.config, directory.brokers.volumes):
        with contextlib.suppress(FileExistsError):
            each.mkdir(mode=0o700)
