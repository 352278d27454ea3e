"""The objects of a tunnel: where followers have no route to their lead, a relay beside them is their way.

The lead's side connects to the relay through the API server (`pods/portforward`), and the followers by a
Service. Both hang on the burst's anchor as all its objects do. The relay is a Job of one pod: one whose node
is lost is made anew, and it ends with the burst.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from burst.joining import relay
from burst.lifecycle.records import PREFIX
from minicluster.plan.constants import APPLICATION, LABEL_COMPONENT, LABEL_INSTANCE, LABEL_NAME, Component

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KubeObject = dict[str, Any]

_REACH_PORTS = (8049, 8048)
"""Where the lead's side connects to, at the relay's loopback alone: the first one that followers do not."""
PROGRAM = "relay.py"
"""The relay's program in the followers' ConfigMap."""
MAX_CONNECTIONS_EACH = 4
"""Connections at a time for each follower: one that was cut may last until it is noticed."""
_COMPONENT = {LABEL_COMPONENT: Component.NETWORK.value}
_OWN = (LABEL_NAME, LABEL_INSTANCE)
_REQUESTS = {"cpu": "50m", "memory": "64Mi"}
_LIMITS = {"cpu": "1", "memory": "256Mi"}
_BACKOFF = 1000
_START = """\
PATH=$PATH:$1/view/bin
shift
if command -v python3 >/dev/null; then exec python3 "$@"; fi
exec flux python "$@"
"""
"""Runs what follows in the image's own Python, else in Flux's."""
_SHARED = ("minicluster-config", "minicluster-view")
"""Volumes that brokers and the relay have."""
_LEFT_OUT = ("affinity", "topologySpreadConstraints", "overhead", "resourceClaims", "subdomain")
"""What pods of brokers have, and the relay does not need."""


def relay_name(label: str) -> str:
    """Return the name of a burst's relay: its Job and its Service."""
    return f"{PREFIX}{label}-relay"


def relay_address(label: str, namespace: str) -> str:
    """Return by what name the followers of a burst reach its relay."""
    return f"{relay_name(label)}.{namespace}.svc"


def reach_port(port: int) -> int:
    """Return where the lead's side connects to the relay, if followers connect to `port`."""
    return next(each for each in _REACH_PORTS if each != port)


def is_relay(item: KubeObject) -> bool:
    """Return whether a Job or a pod is that of a relay."""
    return bool((item["metadata"].get("labels") or {}).get(LABEL_COMPONENT) == Component.NETWORK.value)


def relay_labels(label: str) -> dict[str, str]:
    """Return the labels of the pod of a burst's relay."""
    return {LABEL_NAME: APPLICATION, LABEL_INSTANCE: f"{PREFIX}{label}", **_COMPONENT}


def with_program(config: KubeObject) -> KubeObject:
    """Return the followers' ConfigMap with the relay's program."""
    text = Path(relay.__file__).read_text(encoding="utf-8")
    return {**config, "data": {**config["data"], PROGRAM: text}}


def for_all_pods(policy: KubeObject) -> KubeObject:
    """Return the followers' policy for the relay as well: its own pods alone connect to either."""
    spec = policy["spec"]
    kept = {name: value for name, value in spec["podSelector"]["matchLabels"].items() if name in _OWN}
    return {**policy, "spec": {**spec, "podSelector": {"matchLabels": kept}}}


def relay_objects(
    job: KubeObject, given: Mapping[str, str], label: str, port: int, mount_path: str
) -> tuple[KubeObject, KubeObject]:
    """Return the Service, then the Job, of the relay beside the followers of this Job.

    `given` are the labels of all of a burst's objects. Followers connect to `port`. `mount_path` is where
    Flux's view is, if there is one.
    """
    labels = {**given, **_COMPONENT}
    metadata = {"name": relay_name(label), "namespace": job["metadata"]["namespace"], "labels": labels}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "selector": relay_labels(label),
            "publishNotReadyAddresses": True,
            "ports": [{"name": "broker", "port": port, "targetPort": port, "protocol": "TCP"}],
        },
    }
    spec = job["spec"]
    template = spec["template"]
    most = MAX_CONNECTIONS_EACH * int(spec["completions"])
    made = {
        "metadata": {"labels": labels},
        "spec": _pod(template["spec"], [mount_path, *_arguments(template["spec"], port, most)]),
    }
    kept = {name: spec[name] for name in ("activeDeadlineSeconds", "ttlSecondsAfterFinished") if name in spec}
    relaying = {**kept, "completions": 1, "parallelism": 1, "backoffLimit": _BACKOFF, "template": made}
    return service, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": relaying}


def _arguments(pod: KubeObject, port: int, most: int) -> list[str]:
    directory = next(each["mountPath"] for each in _runner(pod)["volumeMounts"] if each["name"] == _SHARED[0])
    return [f"{directory}/{PROGRAM}", str(port), str(reach_port(port)), str(most)]


def _runner(pod: KubeObject) -> KubeObject:
    """Return the container of the broker: sidecars are init containers."""
    found: KubeObject = pod["containers"][0]
    return found


def _pod(pod: KubeObject, arguments: list[str]) -> KubeObject:
    runner = _runner(pod)
    mounts = [each for each in runner["volumeMounts"] if each["name"] in _SHARED]
    before = [each for each in pod.get("initContainers", ()) if "restartPolicy" not in each]
    container: KubeObject = {
        **{name: runner[name] for name in ("image", "imagePullPolicy", "securityContext") if name in runner},
        "name": "relay",
        "command": ["/bin/sh", "-c", _START, "relay", *arguments],
        "resources": {"requests": _REQUESTS, "limits": _LIMITS},
        "volumeMounts": mounts,
    }
    used = {each["name"] for one in (container, *before) for each in _mounts(one)}
    kept = {name: value for name, value in pod.items() if name not in (*_LEFT_OUT, "initContainers")}
    return {
        **kept,
        "restartPolicy": "OnFailure",
        "terminationGracePeriodSeconds": 5,
        "shareProcessNamespace": False,
        "containers": [container],
        "volumes": [each for each in pod["volumes"] if each["name"] in used],
        **({"initContainers": before} if before else {}),
    }


def _mounts(container: KubeObject) -> Iterable[KubeObject]:
    found: Iterable[KubeObject] = container.get("volumeMounts") or ()
    return found
