"""The Job of a tunnel in a pod, and what that pod shows of it. Pure."""

from __future__ import annotations

import json
import math
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from burst.errors import CallInvalid
from burst.joining.tunnel_pods import CONTAINER, LABEL_CLUSTER
from burst.joining.workers import ENDED_SECONDS, labels_of, name_of
from burst.providers.kubernetes.reports import is_going, waits_of
from burst.providers.kubernetes.tunnel.pod_process import READY
from burst.providers.kubernetes.tunnel.records import task_of, values_of
from minicluster.lead_client.termination_message import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from burst.providers.kubernetes.tunnel.records import ReachTask
    from burst.providers.provider import WantedBurst

KubeObject = dict[str, Any]

LABEL_LOCATION = "minicluster-location"
"""What distinguishes the locations of providers: each lists its own."""
KUBECONFIG_VOLUMES = "kubeconfig-"
"""How the names of the template's volumes with kubeconfigs begin; a tunnel has one of them."""
PROGRAM = ("python3", "-m", "burst.providers.kubernetes.tunnel.pod_process")
_BACKOFF = 1000
_SLACK_SECONDS = 60
"""After the burst's time, at which the process ends by itself."""
_LOST_NODE_SECONDS = 10
"""After so long on a node that does not answer the pod is made anew; followers try again meanwhile."""
_LOST_NODES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_ENDS = ("Failed", "Succeeded")


class PodReach(NamedTuple):
    """How the lead's side of a tunnel is by its pod; see `ReachState`."""

    is_ready: bool = False
    problem: str = ""
    refused: bool = False

    @property
    def reached(self) -> bool:
        """Whether the relay has answered: a process that was refused has ended before."""
        return self.is_ready


def tunnel_name(label: str) -> str:
    """Return the name of the Job of a burst's tunnel."""
    return f"{name_of(label)}-tunnel"


def kubeconfig_problem(template: KubeObject, kubeconfig: str) -> str:
    """Return why the pods of tunnels do not have a kubeconfig; empty: they do."""
    if not kubeconfig:
        return (
            "bursts by a tunnel would run in this cluster itself: the provider names no kubeconfig;"
            " right would be spec.bursting.expose: none"
        )
    if not _volumes_with(template, kubeconfig):
        return (
            f"kubeconfig {kubeconfig} is not there for the pods of tunnels; right would be one of a Secret"
            " that `kubeconfigs` in the chart's values name"
        )
    return ""


def tunnel_job(
    template: KubeObject, wanted: WantedBurst, task: ReachTask, location: str, now: float
) -> KubeObject:
    """Return the Job of a burst's tunnel, without its namespace. Raises CallInvalid."""
    if problem := kubeconfig_problem(template, task.kubeconfig):
        raise CallInvalid(problem)
    given = template["metadata"].get("labels") or {}
    labels = {**given, **labels_of(wanted), LABEL_LOCATION: location, LABEL_CLUSTER: wanted.cluster}
    annotations = {**(template["metadata"].get("annotations") or {}), _SAFE_TO_EVICT: "false"}
    spec = {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": _BACKOFF,
        "activeDeadlineSeconds": max(math.ceil(task.until - now), 0) + _SLACK_SECONDS,
        "ttlSecondsAfterFinished": ENDED_SECONDS,
        "template": {
            "metadata": {"labels": labels, "annotations": annotations},
            "spec": _pod(template["spec"], task, _volumes_with(template, task.kubeconfig)),
        },
    }
    metadata = {"name": tunnel_name(wanted.label), "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def job_task(job: KubeObject) -> ReachTask | None:
    """Return what a Job of a tunnel is for; None for one of somebody else's."""
    try:
        [container] = job["spec"]["template"]["spec"]["containers"]
        return task_of(json.loads(container["command"][-1]))
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def pod_reach(job: KubeObject, pods: Sequence[KubeObject]) -> PodReach:
    """Return how a tunnel is by its Job and this Job's pods."""
    living = [each for each in pods if not is_going(each) and _phase(each) not in _ENDS]
    if not living:
        return PodReach(problem=_end(job) or "its pod is not there yet")
    pod = living[0]
    if _is_ready(pod):
        return PodReach(is_ready=True)
    ended = _last_message(pod)
    if ended:
        return PodReach(problem=shown(str(ended["error"])), refused=ended.get("refused") is True)
    waits = next(waits_of(pod), "")
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    return PodReach(problem=waits or f"it is not connected; why: `kubectl logs -n {namespace} {name}`")


def _pod(spec: KubeObject, task: ReachTask, volumes: Sequence[str]) -> KubeObject:
    [container] = spec["containers"]
    left_out = {
        each["name"] for each in spec.get("volumes") or () if each["name"].startswith(KUBECONFIG_VOLUMES)
    } - set(volumes)
    running = {
        **container,
        "command": [*PROGRAM, json.dumps(values_of(task))],
        "readinessProbe": {
            "exec": {"command": ["test", "-e", str(READY)]},
            "periodSeconds": 2,
            "timeoutSeconds": 5,
            "failureThreshold": 1,
        },
        "volumeMounts": [each for each in container["volumeMounts"] if each["name"] not in left_out],
    }
    lost = [
        {"key": each, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _LOST_NODE_SECONDS}
        for each in _LOST_NODES
    ]
    return {
        **spec,
        "restartPolicy": "OnFailure",
        "terminationGracePeriodSeconds": 5,
        "containers": [running],
        "volumes": [each for each in spec["volumes"] if each["name"] not in left_out],
        "tolerations": [*(spec.get("tolerations") or ()), *lost],
    }


def _volumes_with(template: KubeObject, kubeconfig: str) -> list[str]:
    """Return the volume in whose folder a kubeconfig is."""
    folders = PurePosixPath(kubeconfig).parents
    [container] = template["spec"]["containers"]
    return [
        each["name"]
        for each in container["volumeMounts"]
        if each["name"].startswith(KUBECONFIG_VOLUMES) and PurePosixPath(each["mountPath"]) in folders
    ]


def _phase(pod: KubeObject) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def _is_ready(pod: KubeObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _last_message(pod: KubeObject) -> KubeObject:
    """Return what the process wrote as it failed, where none runs since; empty: nothing."""
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        state = each.get("state") or {}
        if each["name"] != CONTAINER:
            continue
        ended = state.get("terminated") or (each.get("lastState") or {}).get("terminated") or {}
        try:
            found = json.loads(ended.get("message") or "")
        except ValueError:
            continue
        if isinstance(found, dict) and "error" in found:
            return found
    return {}


def _end(job: KubeObject) -> str:
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["status"] == "True" and each["type"] in ("Failed", "FailureTarget", "Complete"):
            return f"its Job has ended: {each.get('reason') or each['type']}: {each.get('message', '')}"
    return ""
