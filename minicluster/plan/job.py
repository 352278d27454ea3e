"""The indexed Job whose pods are the brokers; index 0 is the lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import spec as document
from minicluster.plan import names, pod_template
from minicluster.plan.constants import LABEL_KUEUE_QUEUE, REPLACED_CODES, Component
from minicluster.plan.fields import present
from minicluster.plan.labels import metadata

if TYPE_CHECKING:
    from minicluster.plan.fields import Object
    from minicluster.plan.records import Site
    from minicluster.spec import MiniCluster


def build(cluster: MiniCluster, site: Site, count: int | None = None, *, held: bool | None = None) -> Object:
    """Return the Job: it succeeds with the lead, and fails with the lead's own exit code.

    `count` is the number of pods, `held` whether it is suspended; None: as the document says.
    """
    spec = cluster.spec
    held = spec.suspend if held is None else held
    count = pods(cluster) if count is None else count
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(cluster, site, names.job(cluster), Component.BROKER, spec.job_labels),
        "spec": present(
            completionMode="Indexed",
            completions=count,
            parallelism=count,
            backoffLimit=spec.backoff_limit,
            activeDeadlineSeconds=spec.deadline_seconds or None,
            suspend=None if held_by_kueue(cluster) else held,
            successPolicy={"rules": [{"succeededIndexes": "0", "succeededCount": 1}]},
            podFailurePolicy=_failure_policy(cluster),
            podReplacementPolicy="Failed",
            template=pod_template.build(cluster, site),
        ),
    }


def pods(cluster: MiniCluster) -> int:
    """Return the number of pods: `size`; a suspended Job of size 0 still counts 1, else it were complete."""
    return max(cluster.spec.size, 1)


def held_by_kueue(cluster: MiniCluster) -> bool:
    """Whether Kueue decides when the Job runs. `suspend` is then its field, and never applied by us."""
    return LABEL_KUEUE_QUEUE in cluster.spec.job_labels


def _failure_policy(cluster: MiniCluster) -> Object:
    """Return what a pod's end means; Kubernetes knows such a policy only for pods that never restart.

    Disruptions are free, lost followers are counted and replaced, and any other code is the main command's.
    """
    if cluster.spec.pod.restart_policy != "Never":
        return {}
    runner = document.container_name(cluster.spec, document.runner_index(cluster.spec))
    codes = {"containerName": runner, "values": list(REPLACED_CODES)}
    return {
        "rules": [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "Count", "onExitCodes": {**codes, "operator": "In"}},
            {"action": "FailJob", "onExitCodes": {**codes, "operator": "NotIn"}},
        ]
    }
