"""The indexed Job whose pods are the brokers; index 0 is the lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.constants import LABEL_KUEUE_QUEUE, REPLACED_CODES, Component
from minicluster.plan.objects import names, pod_template
from minicluster.plan.objects.fields import present
from minicluster.plan.objects.labels import metadata

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import JobReport, Site

_ENDS = frozenset({"Complete", "SuccessCriteriaMet", "Failed", "FailureTarget"})
"""Conditions of a Job that has ended, or is about to."""


def build(
    cluster: MiniCluster,
    site: Site,
    count: int | None = None,
    *,
    job_suspended: bool | None = None,
    mounts_flux_files: bool = False,
) -> Object:
    """Return the Job: it succeeds with the lead, and fails with the lead's own exit code.

    `count` is the number of pods, `job_suspended` whether it is suspended; None: as in the document.
    `mounts_flux_files`: whether its pods mount those of the namespace.
    """
    spec = cluster.spec
    job_suspended = spec.suspend if job_suspended is None else job_suspended
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
            suspend=None if suspended_by_kueue(cluster) else job_suspended,
            successPolicy={"rules": [{"succeededIndexes": "0", "succeededCount": 1}]},
            podFailurePolicy=_failure_policy(cluster),
            podReplacementPolicy="Failed",
            template=pod_template.build(cluster, site, mounts_flux_files=mounts_flux_files),
        ),
    }


def pods(cluster: MiniCluster) -> int:
    """Return the number of pods: `size`, but 1 for a suspended Job of size 0, as 0 would be complete."""
    return max(cluster.spec.size, 1)


def is_suspended(cluster: MiniCluster, observed: JobReport | None) -> bool:
    """Return whether the Job is suspended: as it reports, or, before it exists, as it will be made."""
    if observed is not None:
        return observed.suspended
    return cluster.spec.suspend or suspended_by_kueue(cluster)


def has_ended(observed: JobReport | None) -> bool:
    """Return whether the Job has ended, or is about to."""
    conditions = observed.conditions if observed else ()
    return any(each.type in _ENDS and each.status == "True" for each in conditions)


def suspended_by_kueue(cluster: MiniCluster) -> bool:
    """Whether Kueue decides when the Job runs. Then Kueue owns `suspend`, and we never apply it."""
    return LABEL_KUEUE_QUEUE in cluster.spec.job_labels


def _failure_policy(cluster: MiniCluster) -> Object:
    """Return the policy for pods that fail; Kubernetes allows one only for pods that never restart.

    Disruptions do not count, lost followers are counted and replaced, and any other code fails the Job.
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
