"""How a MiniCluster with a profile is cut into brokers, over nodes, and what becomes of the pods."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats import resource_set
from minicluster import document
from minicluster.plan import (
    BrokerReport,
    JobReport,
    NodeReport,
    ObjectKey,
    Observed,
    ObservedObject,
    PodReport,
    Site,
    plan,
    render,
    to_yaml,
)
from tests.plan.conftest import UID

if TYPE_CHECKING:
    from minicluster.plan import Plan

NODES = tuple(NodeReport(f"n{number}", ready=True, cores=16) for number in range(4))
LARGE = (NodeReport("large", ready=True, cores=64),)
SCALE, GRANULARITY, PREDICTED = (Site(granularity=each) for each in ("scale", "granularity", "predicted"))
RESOURCES = {"limits": {"cpu": 16, "memory": "32Gi"}}
JOB: dict[str, Any] = {
    "size": 1,
    "tasks": 16,
    "profile": "memory",
    "containers": [{"image": "app", "command": "stream", "resources": RESOURCES}],
    "flux": {"container": {"disable": True}},
}


def stored(found: Plan) -> tuple[int, int, int]:
    """Return nodes, brokers of one of `size`, and groups, as the status has them."""
    record = found.status["granularity"]
    return record["nodes"], record["brokers"], record["groups"]


@pytest.fixture
def decide(make, keys, now):
    """Plan a MiniCluster for which nothing exists, once to store the cut, and once more for its objects."""

    def about(wanted=None, site=SCALE, nodes=NODES, **more):
        spec = {**JOB, **(wanted or {}), **more}
        first = plan(make(spec), Observed(nodes=nodes), site, keys, now)
        if "granularity" not in first.status:
            return first, first
        assert (first.objects, first.again) == ((), 0.0)
        again = plan(make(spec, status=first.status), Observed(), site, keys, now)
        return first, again

    return about


def the(found: Plan, kind: str) -> dict[str, Any]:
    (item,) = (each for each in found.objects if each["kind"] == kind)
    return item


def pod(found: Plan) -> dict[str, Any]:
    spec: dict[str, Any] = the(found, "Job")["spec"]["template"]["spec"]
    return spec


def resources(found: Plan) -> dict[str, Any]:
    given: dict[str, Any] = pod(found)["containers"][0]["resources"]
    return given


CASES = {
    "scale": ("memory", SCALE, (4, 4, 4)),
    "scale, cpu": ("cpu", SCALE, (4, 4, 4)),
    "a task a broker": ("memory", GRANULARITY, (4, 16, 4)),
    "network": ("network", GRANULARITY, (1, 1, 1)),
    "one domain a node is known": ("memory", PREDICTED, (4, 4, 4)),
    "predicted, cpu": ("cpu", PREDICTED, (4, 16, 4)),
    "io": ("io", GRANULARITY, (4, 4, 4)),
}


@pytest.mark.parametrize(("profile", "site", "expected"), CASES.values(), ids=CASES)
def test_nodes_brokers_and_groups_are_those_of_algorithm_1(decide, profile, site, expected):
    """Sixteen tasks of one core each, four nodes of sixteen."""
    first, _ = decide(profile=profile, site=site)
    assert stored(first) == expected
    assert first.status["granularity"]["profile"] == profile


def test_every_pod_has_an_equal_part_of_what_the_document_gives_one(decide):
    """Whole CPUs, and nothing is lost: 4 · 4 = 16 and 4 · 8Gi = 32Gi."""
    _, again = decide(site=SCALE)
    part = {"cpu": "4", "memory": str(8 * 2**30)}
    assert the(again, "Job")["spec"]["parallelism"] == 4
    assert resources(again) == {"limits": part, "requests": part}


def test_each_broker_offers_the_cores_of_its_part(decide):
    _, again = decide(site=GRANULARITY)
    found = resource_set.loads(the(again, "ConfigMap")["data"]["R"])
    assert [node.cores.bit_count() for node in found.nodes] == [1] * 16


def test_groups_are_spread_over_nodes_and_brokers_of_one_node_are_not_kept_apart(decide):
    _, again = decide(site=GRANULARITY)
    (constraint,) = pod(again)["topologySpreadConstraints"]
    assert (constraint["maxSkew"], constraint["topologyKey"], constraint["whenUnsatisfiable"]) == (
        1,
        "kubernetes.io/hostname",
        "ScheduleAnyway",
    )
    assert "affinity" not in pod(again)


def test_brokers_for_one_node_are_together(decide):
    _, again = decide(profile="network", size=2, nodes=LARGE)
    (term,) = pod(again)["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    assert "topologySpreadConstraints" not in pod(again)


def test_what_the_document_spreads_itself_stays(decide):
    own = {"maxSkew": 3, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    _, again = decide(site=GRANULARITY, pod={"topologySpreadConstraints": [own]})
    assert [each["maxSkew"] for each in pod(again)["topologySpreadConstraints"]] == [3]


def test_who_requires_one_broker_a_node_gets_no_more_brokers(decide):
    first, again = decide(site=GRANULARITY, network={"onePerNode": "Required"})
    assert stored(first)[1] == 1
    assert "requiredDuringSchedulingIgnoredDuringExecution" in pod(again)["affinity"]["podAntiAffinity"]


AMOUNTS = {
    "no divisor": ({"cpu": 7, "memory": "7Gi"}, 7),
    "the next divisor below": ({"cpu": 12, "memory": "12Gi"}, 12),
    "a prime is one or all": ({"cpu": 17, "memory": "1Gi"}, 1),
    "GPUs are divided with the cores": ({"cpu": 16, "memory": "1Gi", "nvidia.com/gpu": 4}, 4),
    "a fraction is not cut": ({"cpu": "1500m", "memory": "1Gi"}, 1),
    "no CPU is not cut": ({"memory": "1Gi"}, 1),
}


@pytest.mark.parametrize(("limits", "brokers"), AMOUNTS.values(), ids=AMOUNTS)
def test_cores_and_devices_are_cut_without_a_rest(decide, limits, brokers):
    """At most as many brokers as tasks, 16."""
    container = {"image": "app", "command": "x", "resources": {"limits": limits}}
    first, _ = decide(site=GRANULARITY, containers=[container])
    assert stored(first)[1] == brokers


def test_more_brokers_than_tasks_are_none(decide):
    first, _ = decide(site=GRANULARITY, tasks=2)
    assert stored(first) == (2, 2, 2)


def test_a_cluster_for_later_jobs_is_cut_for_a_task_a_core(decide):
    """It has no main job whose tasks could count."""
    first, _ = decide(site=GRANULARITY, interactive=True, tasks=1)
    assert stored(first) == (4, 16, 4)


OFFERS = {
    "known": ({}, NODES, 4),
    "not known, maxSize": ({"maxSize": 3}, None, 3),
    "not known, size": ({"size": 2}, None, 2),
    "none is there": ({"maxSize": 3}, (), 3),
    "none is ready": ({"size": 2}, tuple(replace(each, ready=False) for each in NODES), 2),
    "none has room": ({"size": 2}, tuple(replace(each, cores=0) for each in NODES), 2),
    "those that the selector admits": (
        {"pod": {"nodeSelector": {"pool": "hpc"}}},
        (*NODES, NodeReport("h", ready=True, labels=(("pool", "hpc"),), cores=16)),
        1,
    ),
}


@pytest.mark.parametrize(("wanted", "nodes", "expected"), OFFERS.values(), ids=OFFERS)
def test_over_how_many_nodes(decide, wanted, nodes, expected):
    """The nodes that are ready and that pods may use, else maxSize, else size."""
    first, _ = decide(wanted, site=SCALE, nodes=nodes)
    assert stored(first)[0] == expected


def test_a_network_job_that_no_node_holds_gets_the_fewest_that_do(decide):
    first, _ = decide(profile="network", size=3, tasks=48)
    assert stored(first) == (3, 1, 3)


LEFT_ALONE = {
    "no profile": ({"profile": None}, SCALE),
    "the operator has none": ({}, Site()),
    "the document says none": ({"granularity": "none"}, replace(SCALE, granularity_override=True)),
    "followers of another lead": (
        {"flux": {"bursting": {"leadBroker": {"address": "a", "name": "far", "size": 2}}}},
        SCALE,
    ),
}


@pytest.mark.parametrize(("wanted", "site"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_others_are_planned_as_before(make, keys, now, wanted, site):
    """To the byte."""
    spec = {**JOB, **wanted}
    found = plan(make(spec), Observed(nodes=NODES), site, keys, now)
    before = plan(make(spec), Observed(), Site(), keys, now) if not spec.get("granularity") else None
    assert found.objects
    assert "granularity" not in found.status
    assert "ExclusiveCores" not in [each["type"] for each in found.status["conditions"]]
    assert before is None or to_yaml(found.objects) == to_yaml(before.objects)


def test_a_document_chooses_only_where_it_may(make, keys, now):
    spec = {**JOB, "granularity": "granularity"}
    refused = plan(make(spec), Observed(nodes=NODES), SCALE, keys, now)
    assert refused.objects == ()
    (valid,) = (each for each in refused.status["conditions"] if each["type"] == "Valid")
    assert (valid["status"], valid["reason"], valid["message"]) == (
        "False",
        "Invalid",
        (
            "spec.granularity: granularity is not what the operator has for all (scale), and it lets no"
            " document choose; take spec.granularity out, or ask for --granularity-override"
        ),
    )
    allowed = plan(make(spec), Observed(nodes=NODES), replace(SCALE, granularity_override=True), keys, now)
    assert stored(allowed) == (4, 16, 4)
    same = plan(make({**JOB, "granularity": "scale"}), Observed(nodes=NODES), SCALE, keys, now)
    assert stored(same) == (4, 4, 4)


def test_what_was_cut_stays_so(make, keys, now, decide):
    """Whatever another operator would decide, with other nodes or another rule: pods are of one template."""
    first, again = decide(site=SCALE)
    for site, nodes in ((GRANULARITY, NODES), (Site(), ()), (SCALE, NODES[:1])):
        later = plan(make(JOB, status=first.status), Observed(nodes=nodes), site, keys, now)
        assert to_yaml(later.objects) == to_yaml(again.objects)
        assert later.status["granularity"] == first.status["granularity"]


def test_a_minicluster_that_has_pods_is_not_cut(make, now):
    """Such as one that was there before the operator had a rule."""
    job = JobReport(1, active=1)
    found = plan(make(JOB), seen(make, job), SCALE, None, now)
    assert "granularity" not in found.status
    assert the(found, "Job")["spec"]["parallelism"] == 1


def seen(make, job: JobReport, spec: Any = None, status: Any = None, **more: Any) -> Observed:
    """Return what is observed of a MiniCluster all of whose objects are there."""
    cluster = make(spec or JOB, status=status)
    keys = [ObjectKey(each["kind"], each["metadata"]["name"]) for each in render(cluster, Site())]
    found = tuple(ObservedObject(key, UID) for key in {*keys, ObjectKey("Secret", "hpc-curve")})
    return Observed(found, job=job, **more)


class TestSize:
    """`spec.size` counts brokers as the document has them; each was cut into four."""

    @pytest.fixture
    def status(self, decide):
        return decide({"size": 2, "maxSize": 4}, site=GRANULARITY, tasks=8)[0].status

    def planned(self, make, now, status, size, *, pods=8, job=8, **more):
        spec = {**JOB, "size": size, "maxSize": 4, "tasks": 8}
        reports = tuple(PodReport(index, phase="Running", scheduled=True) for index in range(pods))
        online = BrokerReport(online=f"0-{pods - 1}", running=True)
        observed = seen(make, JobReport(job, active=pods), spec, status, pods=reports, brokers=online, **more)
        return plan(
            make(spec, status=status), observed, Site(granularity="granularity", lead_api=True), None, now
        )

    def test_the_status_has_size_in_the_documents_brokers_and_hosts_in_pods(self, make, now, status):
        found = self.planned(make, now, status, 2)
        assert (found.status["size"], found.status["maximumSize"], found.status["readyBrokers"]) == (2, 16, 8)
        (resizing,) = (each for each in found.status["conditions"] if each["type"] == "Resizing")
        assert resizing["message"] == "the MiniCluster has its size of 2, which is 8 brokers"

    def test_growth_by_one_is_growth_by_four_brokers(self, make, now, status):
        found = self.planned(make, now, status, 3)
        assert the(found, "Job")["spec"]["parallelism"] == 12

    def test_a_shrink_drains_all_brokers_of_what_goes(self, make, now, status):
        found = self.planned(make, now, status, 1)
        assert [(each.action, each.ranks) for each in found.orders] == [("drain", "4-7")]

    def test_beyond_the_hosts_at_start_is_refused_in_the_documents_brokers(self, make, now, status):
        known = {**status, "maximumSize": 16}
        found = self.planned(make, now, known, 4)
        assert the(found, "Job")["spec"]["parallelism"] == 16
        spec = {**JOB, "size": 4, "tasks": 8}
        cluster = make(spec, status=known)
        grown = cluster.model_copy(update={"spec": cluster.spec.model_copy(update={"size": 5})})
        refused = plan(grown, seen(make, JobReport(8), spec, known), SCALE, None, now)
        (valid,) = (each for each in refused.status["conditions"] if each["type"] == "Valid")
        assert valid["message"] == (
            "spec.size is 5, but the brokers were started with a list of 16 hosts (4 for each one of"
            " spec.size); set spec.size to at most 4, or make a new MiniCluster with spec.maxSize 5"
        )

    def test_its_autoscaler_counts_the_documents_brokers_too(self, make, keys, now, status):
        spec = {**JOB, "size": 2, "maxSize": 4, "tasks": 8, "minSize": 1, "autoscaling": {}}
        found = plan(make(spec, status=status), Observed(), SCALE, keys, now)
        scaler = the(found, "HorizontalPodAutoscaler")["spec"]
        assert (scaler["minReplicas"], scaler["maxReplicas"]) == (1, 4)
        assert scaler["metrics"][0]["object"]["target"]["averageValue"] == "4000m"

    def test_a_deletion_keeps_how_it_was_cut(self, make, now, status):
        gone = {"deletionTimestamp": "2026-03-14T15:09:26Z", "finalizers": ["flux-framework.org/save"]}
        spec = {**JOB, "size": 2, "tasks": 8, "archive": {"path": "/a"}}
        found = plan(make(spec, status=status, **gone), Observed(), SCALE, None, now)
        assert found.status["granularity"] == status["granularity"]
        assert found.status.get("size") == status.get("size")


def test_the_main_job_knows_its_profile(decide):
    _, again = decide(site=SCALE)
    assert " --setattr=user.profile=memory " in the(again, "ConfigMap")["data"]["start.sh"]


def test_the_quorum_is_of_brokers(decide):
    _, again = decide(site=SCALE, size=2, minSize=2, maxSize=2, tasks=32)
    assert "quorum=4" in the(again, "ConfigMap")["data"]["start.sh"]


def test_a_name_that_leaves_no_room_for_more_hosts_bounds_the_cut(make, keys, now):
    cluster = make({**JOB, "size": 5}, name="m" * 61)
    found = plan(cluster, Observed(nodes=NODES), GRANULARITY, keys, now)
    assert stored(found)[1] == 2


def test_a_stored_cut_is_read_again(make, decide):
    """What the operator writes is what the document's records allow."""
    first, _ = decide(site=SCALE)
    assert make(JOB, status=first.status).status.granularity == document.GranularityStatus(
        policy="scale", profile="memory", nodes=4, groups=4, brokers=4
    )
