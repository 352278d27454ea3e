"""`plan()`: what is applied, what is deleted, what is left alone."""

from __future__ import annotations

from base64 import b64decode
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from broker_config import curve
from minicluster.document import MiniClusterSpec
from minicluster.document.cel import IMMUTABLE
from minicluster.plan import (
    JobCondition,
    JobReport,
    KeysNeededError,
    ObjectKey,
    Observed,
    ObservedObject,
    Plan,
    Site,
    plan,
)

if TYPE_CHECKING:
    from minicluster import document

SERVICES = {"services": [{"image": "db", "name": "db"}]}
ENDED = JobReport(1, conditions=(JobCondition("Complete"),))


def key_of(item: dict[str, Any]) -> ObjectKey:
    return ObjectKey(item["kind"], item["metadata"]["name"])


def exist(decided: Plan, uid: str, **besides: Any) -> Observed:
    return Observed(tuple(ObservedObject(key_of(item), uid) for item in decided.objects), **besides)


def kinds(decided: Plan) -> list[str]:
    return [item["kind"] for item in decided.objects]


def found(decided: Plan, type_: str) -> dict[str, Any]:
    return next(each for each in decided.status["conditions"] if each["type"] == type_)


def test_objects_in_order(make, keys, now):
    """The Job, which needs the others, comes last."""
    decided = plan(make(SERVICES), Observed(), Site(), keys, now)
    assert kinds(decided) == [
        "Secret",
        "ConfigMap",
        "Service",
        "NetworkPolicy",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Pod",
        "Job",
    ]


def test_everything_is_owned_and_labelled(make, keys, now):
    """Each object names the MiniCluster as its controller, and carries the recommended labels."""
    cluster = make(SERVICES)
    for item in plan(cluster, Observed(), Site(), keys, now).objects:
        (owner,) = item["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == (
            "MiniCluster",
            cluster.metadata.uid,
            True,
        )
        labels = {key.rpartition("/")[2] for key in item["metadata"]["labels"] if "app.kubernetes.io" in key}
        assert labels >= {"name", "instance", "component", "part-of", "managed-by"}


def test_keys_make_the_secret(make, keys, now):
    """Fresh keys become a certificate that Flux reads."""
    decided = plan(make(), Observed(), Site(), keys, now)
    (secret,) = (item for item in decided.objects if item["kind"] == "Secret")
    assert curve.decode(b64decode(secret["data"]["curve.cert"]).decode()) == keys.curve


def test_an_observed_secret_stays(make, keys, now):
    """Keys are used only where no Secret is observed; it is still counted among the objects."""
    cluster = make()
    first = plan(cluster, Observed(), Site(), keys, now)
    again = plan(cluster, exist(first, cluster.metadata.uid), Site(), keys, now)
    assert "Secret" not in kinds(again)
    assert found(again, "ResourcesCreated")["message"] == f"all {len(first.objects)} objects exist"


def test_keys_are_needed(make, now):
    """Without keys there is no certificate: the caller is told."""
    with pytest.raises(KeysNeededError, match="Secret hpc-curve-8c8a2f4e6b0f is to be made: pass fresh keys"):
        plan(make(), Observed(), Site(), None, now)


def test_the_documents_own_certificate(make, keys, now):
    """`curveCert` stands in place of fresh keys."""
    text = curve.render("mine", keys.curve)
    decided = plan(make({"flux": {"curveCert": text}}), Observed(), Site(), None, now)
    (secret,) = (item for item in decided.objects if item["kind"] == "Secret")
    assert b64decode(secret["data"]["curve.cert"]).decode() == text


@pytest.mark.parametrize(
    ("key", "words"),
    [
        pytest.param(ObjectKey("Service", "hpc"), "Service hpc belongs to MiniCluster other", id="service"),
        pytest.param(
            ObjectKey("ConfigMap", "hpc-config"), "ConfigMap hpc-config belongs to", id="config map"
        ),
        pytest.param(ObjectKey("Job", "hpc"), "Job hpc belongs to MiniCluster other", id="job"),
        pytest.param(ObjectKey("Secret", "hpc-curve-8c8a2f4e6b0f"), "Secret hpc-curve-", id="secret"),
    ],
)
def test_somebody_elses_object(make, keys, now, key, words):
    """An object of such a name that is not ours is never taken over nor deleted: nothing is made."""
    observed = Observed((ObservedObject(key, "other-uid", "MiniCluster other"),), job=JobReport(1, 1))
    decided = plan(make(), observed, Site(), keys, now)
    assert (decided.objects, decided.delete) == ((), ())
    condition = found(decided, "ResourcesCreated")
    assert (condition["status"], condition["reason"]) == ("False", "NameTaken")
    assert words in condition["message"]
    assert "rename this MiniCluster" in condition["message"]
    assert [(event.type, str(event.reason)) for event in decided.events] == [("Warning", "NameTaken")]


def test_an_object_of_nobody(make, keys, now):
    """An object without an owner is somebody's all the same."""
    observed = Observed((ObservedObject(ObjectKey("Service", "hpc")),))
    message = found(plan(make(), observed, Site(), keys, now), "ResourcesCreated")["message"]
    assert message.startswith("Service hpc belongs to somebody else")


@pytest.mark.parametrize("owner", ["MiniCluster hpc", "MiniCluster hpc (which is being deleted)"])
def test_objects_of_a_predecessor(make, keys, now, owner):
    """A MiniCluster made again at once has nothing to put right: the garbage collector is at it."""
    observed = Observed((ObservedObject(ObjectKey("Service", "hpc"), "former-uid", owner),))
    decided = plan(make(), observed, Site(), keys, now)
    condition = found(decided, "ResourcesCreated")
    assert (decided.objects, condition["reason"], decided.events) == ((), "Creating", ())
    assert condition["message"] == "the objects of the former MiniCluster of this name are going (1 left)"


def test_growth_beyond_the_hosts(make, keys, now):
    """Brokers know their hosts from the start: a greater size changes nothing, and says what would."""
    cluster = make({"size": 4}, status={"maximumSize": 4})
    grown = cluster.model_copy(update={"spec": cluster.spec.model_copy(update={"size": 9})})
    decided = plan(grown, Observed(job=JobReport(4, 4)), Site(), keys, now)
    assert decided.objects == ()
    assert found(decided, "Valid")["message"] == (
        "spec.size is 9, but the brokers were started with a list of 4 hosts; "
        "set spec.size to at most 4, or make a new MiniCluster with spec.maxSize 9"
    )


def test_settings_that_contradict_each_other(make, keys, now):
    """What only shows when the brokers' files are written ends in a condition, not in a traceback."""
    cluster = make({"flux": {"bursting": {"clusters": [{"name": "hpc", "size": 1}]}}})
    decided = plan(cluster, Observed(), Site(), keys, now)
    assert (decided.objects, decided.status["phase"]) == ((), "Invalid")
    assert "hpc-0" in found(decided, "Valid")["message"]


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param({"managedBy": "kueue.x-k8s.io/multikueue"}, id="managed by another"),
        pytest.param({}, id="being deleted"),
    ],
)
def test_left_alone(make, keys, now, cluster):
    """A MiniCluster that is not ours to manage, or is going, keeps its status and gets no objects."""
    metadata = {} if cluster else {"deletionTimestamp": "2026-03-14T15:00:00Z"}
    stored = {"phase": "Running", "size": 2}
    decided = plan(make(cluster, status=stored, **metadata), Observed(), Site(), keys, now)
    assert decided == Plan(objects=(), status=stored)


def test_nothing_is_applied_after_the_end(make, keys, now):
    """The objects of a MiniCluster that has ended are left as they are."""
    assert plan(make(), Observed(job=ENDED), Site(), keys, now).objects == ()


def test_cleanup_waits_for_the_written_result(make, keys, now):
    """`cleanup` deletes the MiniCluster, but not before its stored status tells the result."""
    cluster = make({"cleanup": True})
    first = plan(cluster, Observed(job=ENDED), Site(), keys, now)
    written = make({"cleanup": True}, status=first.status)
    second = plan(written, Observed(job=ENDED), Site(), keys, now + timedelta(seconds=1))
    assert (first.delete, second.delete) == ((), (ObjectKey("MiniCluster", "hpc"),))
    assert [str(event.reason) for event in first.events][-1] == "CommandSucceeded"


def test_without_cleanup_the_result_stays(make, keys, now):
    """Without `cleanup` nothing is deleted at the end."""
    first = plan(make(), Observed(job=ENDED), Site(), keys, now)
    assert plan(make(status=first.status), Observed(job=ENDED), Site(), keys, now).delete == ()


def test_services_rest_while_suspended(make, keys, now):
    """A suspended MiniCluster has no services pod: one that exists is deleted, none is made."""
    cluster = make({**SERVICES, "suspend": True})
    services = ObservedObject(ObjectKey("Pod", "hpc-services"), cluster.metadata.uid)
    decided = plan(cluster, Observed((services,), job=JobReport(1, suspended=True)), Site(), keys, now)
    assert "Pod" not in kinds(decided)
    assert decided.delete == (ObjectKey("Pod", "hpc-services"),)


@pytest.mark.parametrize(
    ("uid", "suspended"),
    [pytest.param("other", True, id="somebody else's pod"), pytest.param(None, False, id="not suspended")],
)
def test_services_pod_is_kept(make, keys, now, uid, suspended):
    """Only our own pod, and only while suspended, is deleted."""
    cluster = make(SERVICES)
    pod = ObservedObject(ObjectKey("Pod", "hpc-services"), uid or cluster.metadata.uid)
    observed = Observed((pod,), job=JobReport(1, 1, suspended=suspended))
    assert plan(cluster, observed, Site(), keys, now).delete == ()


def job_of(decided: Plan) -> dict[str, Any]:
    return next(item for item in decided.objects if item["kind"] == "Job")["spec"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param({}, {"suspend": False}, id="runs"),
        pytest.param({"suspend": True}, {"suspend": True}, id="suspended"),
        pytest.param(
            {"jobLabels": {"kueue.x-k8s.io/queue-name": "q"}}, {"suspend": None}, id="Kueue's field"
        ),
        pytest.param(
            {"size": 0, "suspend": True}, {"completions": 1, "parallelism": 1, "suspend": True}, id="size 0"
        ),
        pytest.param({"size": 3}, {"completions": 3, "parallelism": 3}, id="size 3"),
        pytest.param({"deadlineSeconds": 0}, {"activeDeadlineSeconds": None}, id="no deadline"),
        pytest.param({"backoffLimit": 0}, {"backoffLimit": 0}, id="no back-off"),
        pytest.param(
            {"pod": {"restartPolicy": "OnFailure"}},
            {"podFailurePolicy": None, "podReplacementPolicy": "Failed"},
            id="restarts in place have no failure policy",
        ),
        pytest.param(
            {},
            {"successPolicy": {"rules": [{"succeededIndexes": "0", "succeededCount": 1}]}},
            id="lead's success",
        ),
    ],
)
def test_job(make, keys, now, wanted, expected):
    """The Job's fields follow the document."""
    built = job_of(plan(make(wanted), Observed(), Site(), keys, now))
    assert {field: built.get(field) for field in expected} == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [(75, "Count"), (137, "Count"), (143, "Count"), (1, "FailJob"), (3, "FailJob"), (127, "FailJob")],
)
def test_failure_policy(make, keys, now, code, expected):
    """Lost followers count and are replaced; every other code of the lead fails the whole at once."""
    rules = job_of(plan(make(), Observed(), Site(), keys, now))["podFailurePolicy"]["rules"]

    def applies(rule: dict[str, Any]) -> bool:
        codes = rule.get("onExitCodes")
        return bool(codes) and (code in codes["values"]) is (codes["operator"] == "In")

    assert next(rule["action"] for rule in rules if applies(rule)) == expected


CHANGES = {
    "size": 4,
    "minSize": 1,
    "deadlineSeconds": 99,
    "backoffLimit": 9,
    "suspend": True,
    "cleanup": True,
    "autoscaling": {"maxSize": 8},
    "bursting": {"dryRun": False, "maxNodes": 1},
}
"""The fields that may change while brokers run, each with another value."""


def test_changes_are_complete():
    """The fields that may change are those that the CRD does not freeze."""
    fields = {info.alias or name for name, info in MiniClusterSpec.model_fields.items()}
    assert set(CHANGES) == fields - set(IMMUTABLE)


@pytest.mark.parametrize("field", CHANGES)
def test_what_may_change_leaves_the_template(make, keys, now, field):
    """A Job's template and policies cannot change: no field that may change must show in them."""
    bursting = {"bursting": {}, "flux": {"bursting": {"clusters": [{"size": 2}]}}}
    base = {"size": 2, "maxSize": 8, **SERVICES, **bursting}
    jobs = [
        job_of(plan(make({**base, **change}), Observed(), Site(), keys, now))
        for change in ({}, {field: CHANGES[field]})
    ]
    fixed = ("template", "successPolicy", "podFailurePolicy", "podReplacementPolicy", "completionMode")
    before, after = ([each[part] for part in fixed] for each in jobs)
    assert before == after


def test_a_resize_changes_no_hosts(make, keys, now):
    """broker.toml and R are those of the start, whatever the size is now."""
    files = [
        plan(make({"size": size}, status={"maximumSize": 4}), Observed(), Site(), keys, now).objects[1][
            "data"
        ]
        for size in (1, 4)
    ]
    assert [each["broker.toml"] for each in files[:1]] == [each["broker.toml"] for each in files[1:]]
    assert files[0]["R"] == files[1]["R"]


def test_local_documents_have_no_owner(make, keys, now):
    """Without a UID, on a machine of one's own, there is nobody to refer to."""
    cluster = make(uid="", namespace="")
    decided = plan(cluster, Observed(), Site(namespace="here"), keys, now)
    assert not any("ownerReferences" in item["metadata"] for item in decided.objects)
    assert {item["metadata"]["namespace"] for item in decided.objects} == {"here"}
    seen = Observed(tuple(ObservedObject(key_of(item)) for item in decided.objects), job=JobReport(1, 1))
    assert found(plan(cluster, seen, Site(), None, now), "ResourcesCreated")["status"] == "True"


def test_two_miniclusters_have_no_name_in_common(make, keys, now):
    """Names that only differ in where a hyphen belongs stay apart."""

    def with_sidecar(name: str, sidecar: str) -> document.MiniCluster:
        containers = [
            {"image": "app", "command": "x", "runFlux": True},
            {"image": "web", "name": sidecar, "ports": [80]},
        ]
        return make({"containers": containers}, name=name)

    one, other = (
        {key_of(item) for item in plan(cluster, Observed(), Site(), keys, now).objects}
        for cluster in (with_sidecar("a", "b-c"), with_sidecar("a-b", "c"))
    )
    assert one.isdisjoint(other)


def test_variables_are_given_once(make, keys, now):
    """Server-side apply refuses a variable that is there twice: ours stands in place of the document's."""
    given = {"MINICLUSTER_RUN": "/elsewhere", "COLOUR": "blue"}
    cluster = make({"containers": [{"image": "app", "command": "x", "environment": given}]})
    template = job_of(plan(cluster, Observed(), Site(), keys, now))["template"]
    assert template["spec"]["containers"][0]["env"] == [
        {"name": "COLOUR", "value": "blue"},
        {"name": "MINICLUSTER_RUN", "value": "/run/minicluster/broker"},
    ]
