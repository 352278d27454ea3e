"""Pod Security "restricted", evaluated over rendered pods as the admission controller does.

Source: kubernetes.io/docs/concepts/security/pod-security-standards, version 1.36.
"""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.plan import Site, render

ALLOWED_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
    "secret",
}  # fmt: skip


def violations(pod: dict[str, Any]) -> list[str]:
    """What "restricted" refuses about a pod, by the standard's names of its checks."""
    context = pod.get("securityContext", {})
    containers = [*pod["containers"], *pod.get("initContainers", [])]
    found = [check for check in ("hostNetwork", "hostPID", "hostIPC") if pod.get(check)]
    found += [
        f"volume {volume['name']}"
        for volume in pod.get("volumes", [])
        if not (set(volume) - {"name"}) <= ALLOWED_VOLUMES
    ]
    for container in containers:
        found += [f"{container['name']}: {what}" for what in _container_violations(context, container)]
    return found


def _container_violations(pod_context: dict[str, Any], container: dict[str, Any]) -> list[str]:
    own = container.get("securityContext", {})
    effective = {**pod_context, **own}
    capabilities = own.get("capabilities", {})
    checks = {
        "privileged": bool(own.get("privileged")),
        "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is not False,
        "runAsNonRoot": effective.get("runAsNonRoot") is not True,
        "runAsUser 0": effective.get("runAsUser") == 0,
        "seccomp": effective.get("seccompProfile", {}).get("type") not in {"RuntimeDefault", "Localhost"},
        "capabilities not dropped": "ALL" not in capabilities.get("drop", []),
        "capabilities added": bool(set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}),
        "procMount": own.get("procMount", "Default") != "Default",
    }
    return [check for check, broken in checks.items() if broken]


def pods(cluster: Any, site: Site) -> list[dict[str, Any]]:
    found = []
    for item in render(cluster, site):
        if item["kind"] == "Job":
            found.append(item["spec"]["template"]["spec"])
        elif item["kind"] == "Pod":
            found.append(item["spec"])
    return found


RUNNER = {"image": "app", "command": "hostname", "runFlux": True}
SIDECAR = {"image": "web", "name": "web", "command": "serve"}
SERVICE = {"image": "db", "name": "db"}
USER = {"runAsUser": 1000}


@pytest.mark.parametrize("site", [Site(), Site(image_volumes=True)], ids=["copied", "image volume"])
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"containers": [RUNNER], "pod": {"securityContext": USER}}, id="user of the pod"),
        pytest.param(
            {
                "containers": [RUNNER, SIDECAR],
                "services": [SERVICE],
                "pod": {"securityContext": {**USER, "runAsGroup": 100, "fsGroup": 100}},
            },
            id="sidecar and services",
        ),
        pytest.param({"containers": [{**RUNNER, "securityContext": USER}]}, id="user of the container"),
        pytest.param(
            {"containers": [RUNNER], "pod": {"securityContext": {"runAsNonRoot": True}}}, id="any but root"
        ),
        pytest.param(
            {
                "containers": [
                    {**RUNNER, "volumes": {"data": {"path": "/data", "claimName": "data"}}},
                ],
                "pod": {"securityContext": USER},
                "flux": {"mungeSecret": "munge", "stateVolume": {"claimName": "state"}},
            },
            id="with volumes",
        ),
    ],
)
def test_restricted_whenever_a_user_is_set(make, spec, site):
    """A document that names a user makes pods that "restricted" admits."""
    assert [violations(pod) for pod in pods(make(spec), site)] == [[] for _ in pods(make(spec), site)]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        pytest.param({"privileged": True}, "flux: privileged", id="privileged"),
        pytest.param({"capabilities": {"add": ["SYS_PTRACE"]}}, "flux: capabilities added", id="capability"),
        pytest.param({"runAsUser": 0}, "flux: runAsUser 0", id="root in one container"),
    ],
)
def test_the_evaluator_sees(make, context, expected):
    """What the document itself asks for is kept, and the evaluator sees it."""
    spec = {"containers": [{**RUNNER, "securityContext": context}], "pod": {"securityContext": USER}}
    assert expected in violations(pods(make(spec), Site())[0])


def test_without_a_user_nothing_is_granted_and_nothing_taken(make):
    """An image that runs as root works as it is: only the seccomp profile is added, and a group."""
    (pod,) = pods(make({"containers": [RUNNER]}), Site())
    assert pod["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}, "fsGroup": 65534}
    assert not any("securityContext" in each for each in [*pod["containers"], *pod["initContainers"]])


@pytest.mark.parametrize(
    ("pod_context", "container_context", "volumes", "expected"),
    [
        pytest.param({"fsGroup": 7}, {}, {}, 7, id="the document's"),
        pytest.param({"runAsUser": 1000, "runAsGroup": 100}, {}, {}, 100, id="the pod's group"),
        pytest.param({"runAsUser": 1000}, {}, {}, 1000, id="the pod's user"),
        pytest.param({}, {"runAsUser": 1001}, {}, 1001, id="the runner's user"),
        pytest.param({}, {}, {}, 65534, id="nobody's"),
        pytest.param({}, {}, {"data": {"path": "/data", "claimName": "data"}}, None, id="disks keep theirs"),
    ],
)
def test_group_that_reads_the_certificate(make, pod_context, container_context, volumes, expected):
    """The certificate has mode 0400 and is root's: a group lets another user of the image read it."""
    runner = {**RUNNER, "securityContext": container_context, "volumes": volumes}
    cluster = make({"containers": [runner], "pod": {"securityContext": pod_context}})
    assert pods(cluster, Site())[0]["securityContext"].get("fsGroup") == expected


def test_a_container_that_is_root_in_a_pod_that_is_not(make):
    """A container's own user stands over the pod's, whose "not root" would keep it from starting."""
    root = {**SIDECAR, "securityContext": {"runAsUser": 0}}
    cluster = make({"containers": [RUNNER, root], "pod": {"securityContext": USER}})
    sidecar = pods(cluster, Site())[0]["initContainers"][1]
    assert sidecar["securityContext"] == {"runAsUser": 0, "runAsNonRoot": False}
