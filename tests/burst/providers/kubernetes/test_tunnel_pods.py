"""Tunnels in pods: a Job for each in the service's namespace, which is found again, and ended."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from burst.errors import CallInvalid, NameTaken, RetryLater, SettingsInvalid
from burst.joining.records import JoinSettings, LeadHost
from burst.joining.tunnel_pods import TunnelPods, load_template
from burst.lifecycle.records import ResourcePhase
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.kubernetes.tunnel.pod_objects import LABEL_LOCATION, job_task, tunnel_job
from burst.providers.kubernetes.tunnel.pods import RIGHTS, ReachPods
from burst.providers.provider import WantedBurst
from minicluster.kube_client.access import Access
from tests.burst.joining.near import join_settings
from tests.burst.providers.kubernetes.conftest import NOW, FarCluster
from tests.burst.providers.kubernetes.fake_api import NAMESPACE, Refusal
from tests.burst.providers.kubernetes.tunnel.two_clusters import task

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = "system"
HOST = LeadHost("mc-0.mc.science.svc", 8050, SYSTEM)
NAME = "mcb-62dgmfw4gk-tunnel"
JOB = f"/apis/batch/v1/namespaces/{SYSTEM}/jobs/{NAME}"
POD = f"/api/v1/namespaces/{SYSTEM}/pods/{NAME}-abcde"


def template(folder: Path) -> dict[str, Any]:
    """Return one, whose kubeconfigs are those of two folders."""
    folders = {"far": str(folder), "other": "/etc/other"}
    mounts = [{"name": f"kubeconfig-{name}", "mountPath": path} for name, path in folders.items()]
    volumes = [{"name": f"kubeconfig-{name}", "secret": {"secretName": name}} for name in folders]
    container = {
        "name": "tunnel",
        "image": "burst:1",
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, *mounts],
    }
    spec = {
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}, *volumes],
        "tolerations": [{"key": "system", "operator": "Exists"}],
    }
    return {"metadata": {"labels": {"app.kubernetes.io/name": "minicluster-burst-tunnel"}}, "spec": spec}


def by_tunnel(_wanted: WantedBurst) -> JoinSettings:
    return replace(join_settings(), address="", port=8050, route=HOST)


class PodTunnels(FarCluster):
    """A provider whose tunnels are pods of the same API server, in another namespace."""

    @property
    def reaches(self) -> ReachPods:
        found = self.provider._reaches
        assert isinstance(found, ReachPods)
        return found

    def pod(self, **status: Any) -> None:
        """Have the pod of the tunnel, as a Job controller and a kubelet would."""
        labels = self.api.items[JOB]["spec"]["template"]["metadata"]["labels"]
        about = {
            "name": f"{NAME}-abcde",
            "namespace": SYSTEM,
            "labels": labels,
            "ownerReferences": [{"uid": self.api.items[JOB]["metadata"]["uid"]}],
        }
        self.api.add(POD, {"kind": "Pod", "metadata": about, "status": {"phase": "Running", **status}})

    def gone_elsewhere(self) -> None:
        """Have nothing left of the burst but its tunnel."""
        for path in [each for each in self.api.items if f"/namespaces/{NAMESPACE}/" in each]:
            del self.api.items[path]


@pytest.fixture
def tunnelled(far: FarCluster, tmp_path: Path) -> PodTunnels:
    settings = far.provider._settings
    pods = TunnelPods(Access(str(settings.kubeconfig)), SYSTEM, template(tmp_path))
    provider = KubernetesProvider("far", settings, by_tunnel, lambda: NOW, tunnels=pods)
    found = PodTunnels(far.api, provider, far.wanted)
    found.reaches._now = lambda: NOW
    return found


def create(tunnelled: PodTunnels) -> None:
    tunnelled.create()
    for path in [each for each in tunnelled.api.items if f"/pods/{NAME}" in each]:
        del tunnelled.api.items[path]  # the server played its Job's controller in the wrong namespace


READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def test_a_burst_is_ready_with_its_pod(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    found = tunnelled.get()
    assert (found.phase, found.reason) == (ResourcePhase.COMING, "its tunnel: its pod is not there yet")
    tunnelled.pod(conditions=[{"type": "Ready", "status": "False"}])
    why = f"its tunnel: it is not connected; why: `kubectl logs -n {SYSTEM} {NAME}-abcde`"
    assert tunnelled.get().reason == why
    tunnelled.pod(**READY)
    assert tunnelled.get().phase is ResourcePhase.READY


def test_the_job_is_marked_as_the_burst_is_and_ends_by_itself(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    job = tunnelled.api.items[JOB]
    labels = job["metadata"]["labels"]
    assert "ownerReferences" not in job["metadata"]
    anchor = tunnelled.api.items[f"/api/v1/namespaces/{NAMESPACE}/configmaps/mcb-62dgmfw4gk"]
    assert anchor["metadata"]["labels"].items() <= labels.items()
    assert labels["minicluster-cluster"] == "uid"
    assert labels == job["spec"]["template"]["metadata"]["labels"]
    spec = job["spec"]
    assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"], spec["backoffLimit"]) == (
        660,
        600,
        1000,
    )
    made = job_task(job)
    assert made is not None
    assert (made.lead, made.until, made.port, made.namespace) == (HOST, NOW + 600, 8049, NAMESPACE)


def test_its_pod_has_one_kubeconfig_and_nothing_secret_in_its_arguments(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    spec = tunnelled.api.items[JOB]["spec"]["template"]["spec"]
    [container] = spec["containers"]
    assert [each["name"] for each in spec["volumes"]] == ["tmp", "kubeconfig-far"]
    assert [each["name"] for each in container["volumeMounts"]] == ["tmp", "kubeconfig-far"]
    assert (spec["automountServiceAccountToken"], spec["restartPolicy"]) == (False, "OnFailure")
    assert [each["key"] for each in spec["tolerations"]] == [
        "system",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    text = json.dumps(tunnelled.api.items[JOB])
    assert "a-token-that-nobody-may-read" not in text
    assert join_settings().certificate not in text


@pytest.mark.parametrize(
    ("ended", "phase", "reason"),
    [
        ({"error": "the relay: 403: no", "refused": True}, ResourcePhase.BROKEN, "the relay: 403: no"),
        (
            {"error": "kubeconfig /x is no YAML", "refused": False},
            ResourcePhase.COMING,
            "kubeconfig /x is no YAML",
        ),
    ],
    ids=["never allowed", "no credentials"],
)
def test_why_its_process_ended(
    tunnelled: PodTunnels, ended: dict[str, Any], phase: ResourcePhase, reason: str
) -> None:
    create(tunnelled)
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    last = {"terminated": {"exitCode": 1, "message": json.dumps(ended)}}
    tunnelled.pod(containerStatuses=[{"name": "tunnel", "state": state, "lastState": last}])
    found = tunnelled.get()
    assert (found.phase, found.reason) == (phase, f"its tunnel: {reason}")


def test_why_its_pod_does_not_run(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    tunnelled.pod(
        phase="Pending", conditions=[{"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}]
    )
    assert tunnelled.get().reason == f"its tunnel: pod {NAME}-abcde is on no node: 0/1 nodes"


def test_its_end_takes_both_sides(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    tunnelled.delete()
    assert tunnelled.get().phase is ResourcePhase.ABSENT
    assert list(tunnelled.provider.owned("here")) == []
    assert tunnelled.api.of("jobs") == []


def test_what_a_service_left_that_was_killed_amid_creation_is_completed(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    del tunnelled.api.items[JOB]
    tunnelled.get()
    assert JOB in tunnelled.api.items


def test_one_without_a_burst_is_found_and_swept(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    tunnelled.gone_elsewhere()
    [left] = tunnelled.provider.owned("here")
    assert (left.key, left.phase, left.burst) == (tunnelled.key, ResourcePhase.BROKEN, "62dgmfw4gk")
    assert list(tunnelled.provider.owned("elsewhere")) == []
    assert tunnelled.get().phase is ResourcePhase.BROKEN
    tunnelled.delete()
    assert tunnelled.get().phase is ResourcePhase.ABSENT


def test_each_provider_lists_its_own(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    tunnelled.gone_elsewhere()
    tunnelled.api.items[JOB]["metadata"]["labels"][LABEL_LOCATION] = "another"
    assert list(tunnelled.provider.owned("here")) == []


def test_one_of_somebody_else_is_left_alone(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    tunnelled.api.items[JOB]["metadata"]["labels"]["minicluster-owner"] = "elsewhere"
    wanted = f"tunnels in namespace {SYSTEM}: Job {NAME} is there, and not of this burst"
    with pytest.raises(NameTaken) as caught:
        tunnelled.reaches.ensure(tunnelled.wanted, lambda: pytest.fail("it is there"))
    assert str(caught.value) == wanted
    tunnelled.delete()
    assert JOB in tunnelled.api.items


def test_one_that_goes_is_waited_for(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    tunnelled.api.items[JOB]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with pytest.raises(RetryLater, match=f"Job {NAME} is being deleted"):
        tunnelled.reaches.ensure(tunnelled.wanted, lambda: pytest.fail("it is there"))
    tunnelled.gone_elsewhere()
    assert tunnelled.get().phase is ResourcePhase.BROKEN


def test_a_job_that_failed_is_the_reason(tunnelled: PodTunnels) -> None:
    create(tunnelled)
    condition = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}
    tunnelled.api.items[JOB]["status"] = {"conditions": [condition]}
    assert tunnelled.get().reason == "its tunnel: its Job has ended: DeadlineExceeded: too long"


def test_a_kubeconfig_that_its_pods_do_not_have_is_refused_before_anything_is_made(
    tunnelled: PodTunnels, tmp_path: Path
) -> None:
    pods = tunnelled.reaches._pods
    volumes = [each for each in pods.template["spec"]["volumes"] if each["name"] != "kubeconfig-far"]
    mounts = [{"name": each["name"], "mountPath": "/etc/other"} for each in volumes]
    container = {**pods.template["spec"]["containers"][0], "volumeMounts": mounts}
    spec = {**pods.template["spec"], "volumes": volumes, "containers": [container]}
    tunnelled.reaches._pods = pods._replace(template={**pods.template, "spec": spec})
    with pytest.raises(CallInvalid, match=r"kubeconfig .* is not there for the pods of tunnels; right would"):
        tunnelled.create()
    assert tunnelled.api.of("configmaps") == []
    [problem] = tunnelled.provider.tunnel_problems()
    assert problem.startswith(f"no tunnel can be (spec.bursting.expose: tunnel): kubeconfig {tmp_path}")


def test_a_burst_in_this_cluster_itself_needs_no_tunnel(tmp_path: Path) -> None:
    wanted = WantedBurst("62dgmfw4gk", "here", 2, "c8", spot=False, until=NOW)
    with pytest.raises(CallInvalid, match=r"the provider names no kubeconfig; right would be .*expose: none"):
        tunnel_job(template(tmp_path), wanted, replace(task(""), lead=HOST), "x", NOW)


def test_a_route_of_this_machine_is_none_for_a_pod(tunnelled: PodTunnels) -> None:
    with pytest.raises(CallInvalid, match="a pod reaches a lead by its host alone"):
        tunnelled.reaches.check(task("kubeconfig"))


def test_missing_rights_are_named(tunnelled: PodTunnels) -> None:
    assert list(tunnelled.provider.tunnel_problems()) == []
    tunnelled.api.denied |= {"list jobs"}
    [problem] = tunnelled.provider.tunnel_problems()
    assert problem == (
        "no tunnel can be (spec.bursting.expose: tunnel), for which this service may not, in namespace"
        " system: list jobs.batch"
    )
    assert {each.name for each in RIGHTS} == {"jobs", "pods"}


def test_a_refused_job_is_the_bursts_problem(tunnelled: PodTunnels) -> None:
    """Its brokers are there by then: they end with it."""
    tunnelled.create()
    del tunnelled.api.items[JOB]
    tunnelled.api.fail("POST", "jobs", Refusal(403, 'jobs.batch is forbidden: User "burst" cannot create'))
    found = tunnelled.get()
    assert found.phase is ResourcePhase.COMING
    assert found.reason.startswith(f"its tunnel: tunnels in namespace {SYSTEM}: jobs.batch is forbidden")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("a: [", "is no template of a pod with one container"),
        ("spec: {containers: []}", "is no template of a pod with one container"),
        ("spec: {containers: [{name: x}]}", "has a container 'x'; right would be 'tunnel'"),
    ],
    ids=["no file", "no YAML", "no container", "another container"],
)
def test_a_template_that_is_none(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "pod.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsInvalid) as caught:
        load_template(path)
    assert message in str(caught.value)
