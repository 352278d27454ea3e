"""The table of all fields of the document: a change of each, and where it shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BASE: dict[str, Any] = {
    "size": 2,
    "maxSize": 8,
    "containers": [
        {"image": "app", "command": "solve it", "runFlux": True, "name": "app"},
        {"image": "web", "command": "serve", "name": "web", "ports": [8080]},
    ],
    "services": [{"image": "db", "command": "store", "name": "db", "ports": [6379]}],
}
POD = "Job/spec/template/spec"
RUNNER = f"{POD}/containers/0"
VIEW = f"{POD}/initContainers/0"
SIDECAR = f"{POD}/initContainers/1"
SERVICE = "Pod/spec/containers/0"
SCALER = "HorizontalPodAutoscaler/spec"
INGRESS = "NetworkPolicy/hpc-brokers/spec/ingress"
START = "ConfigMap/data/start.sh"
TOML = "ConfigMap/data/broker.toml"
R = "ConfigMap/data/R"
SIDECAR_SCRIPT = "ConfigMap/data/sidecar-web.sh"
SERVICE_SCRIPT = "ConfigMap/data/service-db.sh"


OWN_TOML = """\
# my own
[bootstrap]
curve_cert = "/run/minicluster/broker/curve.cert"
default_port = 8050
default_bind = "tcp://*:%p"
default_connect = "tcp://%h:%p"
hosts = [{host = "hpc-[0-7]"}]
"""


@dataclass(frozen=True)
class Row:
    """A change of the document, where it shows, and a text of the new value there."""

    value: Any
    shows: str
    text: str = ""
    also: dict[str, Any] = field(default_factory=dict)
    at: str = ""  # the path in the document, where it is not the field's own path


def _volume(kind: str) -> dict[str, Any]:
    sources = {
        "hostPath": {"hostPath": "/scratch"},
        "configMapName": {"configMapName": "files"},
        "claimName": {"claimName": "disk"},
        "secretName": {"secretName": "hidden"},
        "emptyDir": {"emptyDir": True},
        "csiDriver": {"csiDriver": "csi.example.org"},
    }
    return {"path": "/data", **sources[kind]}


def _volumes(field_path: str, pod: str, container: str) -> dict[str, Row]:
    """Return the rows of a container's volumes; `pod` and `container` are paths in the objects."""
    data = f"{field_path}.volumes.data"

    def row(value: Any, shows: str, kind: str, text: str = "") -> Row:
        return Row(value, shows, text, also={data: _volume(kind)}, at="")

    return {
        "path": row("/elsewhere", f"{container}/volumeMounts", "claimName", "/elsewhere"),
        "readOnly": row(True, f"{container}/volumeMounts", "claimName", "True"),
        "hostPath": Row({"path": "/d", "hostPath": "/h"}, f"{pod}/volumes", "/h", at=data),
        "configMapName": Row({"configMapName": "files"}, f"{pod}/volumes", "files", at=data),
        "items": row({"key": "file.txt"}, f"{pod}/volumes", "configMapName", "file.txt"),
        "claimName": Row({"path": "/d", "claimName": "disk"}, f"{pod}/volumes", "disk", at=data),
        "secretName": Row({"secretName": "hidden"}, f"{pod}/volumes", "hidden", at=data),
        "emptyDir": Row({"emptyDir": True}, f"{pod}/volumes", "data", at=data),
        "emptyDirMedium": row("Memory", f"{pod}/volumes", "emptyDir", "Memory"),
        "emptyDirSizeLimit": row("1Gi", f"{pod}/volumes", "emptyDir", "1Gi"),
        "csiDriver": Row({"csiDriver": "csi.example.org"}, f"{pod}/volumes", "csi.example.org", at=data),
        "csiDriverAttributes": row({"share": "tank"}, f"{pod}/volumes", "csiDriver", "tank"),
    }


def _container(field_path: str, built: str, pod: str, script: str) -> dict[str, Row]:
    """The rows that runner, sidecar and service have in common."""
    rows = {
        "name": Row("renamed", f"{built}/name", "renamed"),
        "image": Row("registry/image:1", f"{built}/image", "registry/image:1"),
        "command": Row("other words", script, "other words"),
        "workingDir": Row("/home/user", f"{built}/workingDir", "/home/user"),
        "environment": Row({"COLOUR": "blue"}, f"{built}/env", "blue"),
        "secrets": Row({"TOKEN": {"name": "vault", "key": "token"}}, f"{built}/env", "TOKEN"),
        "secrets.*.name": Row(
            {"TOKEN": {"name": "vault", "key": "token"}}, f"{built}/env", "vault", at=f"{field_path}.secrets"
        ),
        "secrets.*.key": Row(
            {"TOKEN": {"name": "vault", "key": "tokenkey"}},
            f"{built}/env",
            "tokenkey",
            at=f"{field_path}.secrets",
        ),
        "ports": Row([7777], f"{built}/ports", "7777"),
        "imagePullSecret": Row("pull", f"{pod}/imagePullSecrets", "pull"),
        "pullAlways": Row(True, f"{built}/imagePullPolicy", "Always"),
        "imagePullPolicy": Row("Never", f"{built}/imagePullPolicy", "Never"),
        "commands.init": Row("echo init-line", script, "init-line"),
        "commands.post": Row("echo post-line", script, "post-line"),
        "lifeCycle.postStartExec": Row("touch started", f"{built}/lifecycle/postStart", "touch started"),
        "lifeCycle.preStopExec": Row("touch stopped", f"{built}/lifecycle/preStop", "touch stopped"),
        **{f"volumes.*.{name}": row for name, row in _volumes(field_path, pod, built).items()},
    }
    return {f"{field_path}.{name}": row for name, row in rows.items()}


def _only_of_runners() -> dict[str, Row]:
    script = "echo custom-line"
    no_command = {"containers.0.command": ""}
    rows = {
        "runFlux": Row(False, RUNNER, "web", also={"containers.1.runFlux": True}),
        "launcher": Row(True, START),
        "batch": Row(True, "ConfigMap/data/batch.sh", "solve it"),
        "batchRaw": Row(True, "ConfigMap/data/batch.sh", also={"containers.0.batch": True}),
        "logs": Row("/var/output", START, "/var/output"),
        "commands.pre": Row("echo pre-line", START, "pre-line"),
        "commands.brokerPre": Row("echo lead-line", START, "lead-line"),
        "commands.workerPre": Row("echo follower-line", START, "follower-line"),
        "commands.prefix": Row("strace", START, "strace"),
        "commands.script": Row(script, "ConfigMap/data/script", "custom-line", also=no_command),
        # The two that belong to a sidecar are tried on the sidecar.
        "noWrapEntrypoint": Row(True, SIDECAR, "serve", at="containers.1.noWrapEntrypoint"),
        "commands.servicePre": Row(
            "echo service-line", SIDECAR_SCRIPT, "service-line", at="containers.1.commands.servicePre"
        ),
    }
    return {f"containers.0.{name}": row for name, row in rows.items()}


def _only_of_services() -> dict[str, Row]:
    rows = {
        "noWrapEntrypoint": Row(True, SERVICE, "store"),
        "commands.servicePre": Row("echo service-line", SERVICE_SCRIPT, "service-line"),
        "commands.script": Row("echo custom-line", SERVICE_SCRIPT, "custom-line"),
    }
    return {f"services.0.{name}": row for name, row in rows.items()}


ROWS: dict[str, Row] = {
    **_container("containers.0", RUNNER, POD, START),
    **_only_of_runners(),
    **_container("services.0", SERVICE, "Pod/spec", SERVICE_SCRIPT),
    **_only_of_services(),
    "size": Row(4, "Job/spec/parallelism", "4"),
    "maxSize": Row(16, R),
    "minSize": Row(1, START, "quorum=1"),
    "tasks": Row(12, START, "12"),
    "profile": Row("memory", START, "--setattr=user.profile=memory"),
    "interactive": Row(True, START, "rc2_none"),
    "deadlineSeconds": Row(99, "Job/spec/activeDeadlineSeconds", "99"),
    "backoffLimit": Row(9, "Job/spec/backoffLimit", "9"),
    "drainTimeoutSeconds": Row(100, f"{POD}/terminationGracePeriodSeconds", "130"),
    "suspend": Row(True, "Job/spec/suspend", "True"),
    "jobLabels": Row({"team": "physics"}, "Job/metadata/labels/team", "physics"),
    "shareProcessNamespace": Row(True, f"{POD}/shareProcessNamespace", "True"),
    "autoscaling.minSize": Row(2, f"{SCALER}/minReplicas", "2", also={"autoscaling": {}}),
    "autoscaling.maxSize": Row(5, f"{SCALER}/maxReplicas", "5", also={"autoscaling": {}}),
    "autoscaling.metric": Row("flux_jobs", f"{SCALER}/metrics/0", "flux_jobs", also={"autoscaling": {}}),
    "autoscaling.target": Row("1500m", f"{SCALER}/metrics/0", "1500m", also={"autoscaling": {}}),
    "autoscaling.tlsSecret": Row("tls", INGRESS, "8443", also={"autoscaling": {}}),
    "archive.path": Row("/data/dump.tgz", START, "/data/dump.tgz"),
    "network.headlessName": Row("door", f"{POD}/subdomain", "door"),
    "network.disableAffinity": Row(True, f"{POD}/affinity"),
    "network.onePerNode": Row("Required", f"{POD}/affinity", "kubernetes.io/hostname"),
    "network.domain": Row("hpc.example.org", TOML, "hpc.example.org"),
    "network.port": Row(9050, "Service/hpc/spec/ports", "9050"),
    "logging.quiet": Row(True, START, "log-stderr-level=0"),
    "logging.strict": Row(True, START, "set -eu", also={"containers.0.commands": {"pre": "true"}}),
    "logging.debug": Row(True, START, "-vvv"),
    "logging.zeromq": Row(True, START, "tbon.zmqdebug=1"),
    "logging.timed": Row(True, START, "FLUXTIME"),
    "pod.labels": Row({"team": "physics"}, "Job/spec/template/metadata/labels/team", "physics"),
    "pod.annotations": Row({"note": "hello"}, "Job/spec/template/metadata/annotations/note", "hello"),
    "pod.nodeSelector": Row({"disk": "fast"}, f"{POD}/nodeSelector/disk", "fast"),
    "pod.nodeAffinity": Row({"rack": ["r1", "r2"]}, f"{POD}/affinity/nodeAffinity", "r2"),
    "pod.resources": Row({"cpu": "100m"}, f"{POD}/overhead/cpu", "100m"),
    "pod.serviceAccountName": Row("robot", f"{POD}/serviceAccountName", "robot"),
    "pod.automountServiceAccountToken": Row(True, f"{POD}/automountServiceAccountToken", "True"),
    "pod.schedulerName": Row("fluence", f"{POD}/schedulerName", "fluence"),
    "pod.priorityClassName": Row("high", f"{POD}/priorityClassName", "high"),
    "pod.runtimeClassName": Row("kata", f"{POD}/runtimeClassName", "kata"),
    "pod.imagePullSecrets[].name": Row(
        [{"name": "whole"}], f"{POD}/imagePullSecrets", "whole", at="pod.imagePullSecrets"
    ),
    "pod.restartPolicy": Row("OnFailure", f"{POD}/restartPolicy", "OnFailure"),
    "pod.dnsPolicy": Row("Default", f"{POD}/dnsPolicy", "Default"),
    "pod.hostIPC": Row(True, f"{POD}/hostIPC", "True"),
    "pod.hostPID": Row(True, f"{POD}/hostPID", "True"),
    "flux.container.disable": Row(True, VIEW),
    "flux.container.image": Row("view:2", f"{VIEW}/image", "view:2"),
    "flux.container.name": Row("bringer", f"{VIEW}/name", "bringer"),
    "flux.container.mountPath": Row("/flux", START, "/flux/view/bin"),
    "flux.container.workingDir": Row("/somewhere", f"{VIEW}/workingDir", "/somewhere"),
    "flux.container.pythonPath": Row("/py/site", START, "/py/site"),
    "flux.container.pullAlways": Row(True, f"{VIEW}/imagePullPolicy", "Always"),
    "flux.container.imagePullSecret": Row("viewpull", f"{POD}/imagePullSecrets", "viewpull"),
    "flux.optionFlags": Row("-o cpu-affinity=off", START, "cpu-affinity=off"),
    "flux.submitCommand": Row("my-submit", START, "my-submit"),
    "flux.wrap": Row("strace,-f", START, "strace -f"),
    "flux.environment": Row({"SHADE": "green"}, START, "SHADE=green"),
    "flux.connectTimeout": Row("11s", START, "11s"),
    "flux.logLevel": Row(7, START, "log-stderr-level=7"),
    "flux.topology": Row("kary:3", START, "kary:3"),
    "flux.minimalService": Row(True, "Service/hpc/spec/type", "ClusterIP"),
    "flux.completeWorkers": Row(True, START, "completeWorkers"),
    "flux.disableSocket": Row(True, START),
    "flux.noWaitSocket": Row(True, SIDECAR_SCRIPT),
    "flux.brokerConfig": Row(OWN_TOML, TOML, "# my own"),
    "flux.scheduler.queuePolicy": Row("easy", TOML, "easy"),
    "flux.scheduler.simple": Row(True, TOML),
    "flux.scheduler.settings": Row(
        {"max-reservations": 3}, TOML, "max-reservations", also={"flux.scheduler.queuePolicy": "easy"}
    ),
    "flux.scheduler.placement": Row("spread", TOML, "spread"),
    "flux.scheduler.placementSettings": Row(
        {"seed": 3}, TOML, "seed", also={"flux.scheduler.placement": "random"}
    ),
    "flux.scheduler.affinity": Row("required", TOML, "required"),
    "flux.bursting.leadBroker.address": Row(
        {"address": "lead.example.org", "name": "far", "size": 2},
        TOML,
        "lead.example.org",
        at="flux.bursting.leadBroker",
    ),
    "flux.bursting.leadBroker.name": Row(
        {"address": "lead.example.org", "name": "far", "size": 2}, TOML, "far", at="flux.bursting.leadBroker"
    ),
    "flux.bursting.leadBroker.size": Row(
        {"address": "lead.example.org", "name": "far", "size": 5},
        TOML,
        "far-[1-4]",
        at="flux.bursting.leadBroker",
    ),
    "flux.bursting.leadBroker.port": Row(
        {"address": "lead.example.org", "name": "far", "size": 2, "port": 9999},
        TOML,
        "9999",
        at="flux.bursting.leadBroker",
    ),
    "flux.bursting.hostlist": Row("hpc-[0-7],remote[1-3]", TOML, "remote"),
    "flux.bursting.clusters[].name": Row(
        [{"name": "cloud", "size": 3}], TOML, "cloud", at="flux.bursting.clusters"
    ),
    "flux.bursting.clusters[].size": Row(
        [{"name": "cloud", "size": 3}], TOML, "cloud-[0-2]", at="flux.bursting.clusters"
    ),
    "flux.bursting.clusters[].cores": Row(
        [{"name": "cloud", "size": 3, "cores": 64}], R, "0-63", at="flux.bursting.clusters"
    ),
    "flux.bursting.clusters[].gpus": Row(
        [{"name": "cloud", "size": 3, "gpus": 9}], R, "0-8", at="flux.bursting.clusters"
    ),
    "flux.stateVolume.claimName": Row(
        {"claimName": "disk"}, f"{POD}/volumes", "disk", at="flux.stateVolume"
    ),
    "flux.stateVolume.hostPath": Row(
        {"hostPath": "/keep"}, f"{POD}/volumes", "/keep", at="flux.stateVolume"
    ),
    "flux.stateVolume.subPath": Row(
        {"claimName": "disk", "subPath": "mine"}, f"{RUNNER}/volumeMounts", "mine/hpc-", at="flux.stateVolume"
    ),
    "flux.mungeSecret": Row("munge", f"{RUNNER}/volumeMounts", "/etc/munge"),
    "flux.arch": Row("aarch64", f"{POD}/nodeSelector", "arm64"),
}  # fmt: skip

# What Kubernetes understands and the plan passes on: path in the document → path in the objects. These
# are tried leaf by leaf, with values made from the models.
PASSED = {
    "pod.securityContext": f"{POD}/securityContext",
    "pod.tolerations[]": f"{POD}/tolerations/0",
    "pod.topologySpreadConstraints[]": f"{POD}/topologySpreadConstraints/0",
    "pod.resourceClaims[]": f"{POD}/resourceClaims/0",
    "containers[].securityContext": f"{RUNNER}/securityContext",
    "containers[].resources": f"{RUNNER}/resources",
    "services[].securityContext": f"{SERVICE}/securityContext",
    "services[].resources": f"{SERVICE}/resources",
    "flux.container.securityContext": f"{VIEW}/securityContext",
    "flux.container.resources": f"{VIEW}/resources",
    "autoscaling.behavior": f"{SCALER}/behavior",
}
# In the plan's other answers: tested below, and in granularity/.
ELSEWHERE = {"cleanup", "managedBy", "flux.curveCert", "granularity"}
# Fields of a container that a service, which runs no broker, has no use for (its validation refuses the
# hooks); `prefix` and the run modes belong to the broker's command line.
NOT_OF_SERVICES = {
    f"services[].{name}"
    for name in (
        "runFlux", "launcher", "batch", "batchRaw", "logs", "commands.pre", "commands.brokerPre",
        "commands.workerPre", "commands.prefix",
    )
}  # fmt: skip
