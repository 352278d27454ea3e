"""What holds for every document, whatever exists: `plan()` is steady, repeatable and discreet."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config import shell
from broker_config.curve import generate
from broker_config.formats import idset
from minicluster import document as spec
from minicluster.plan import (
    BrokerReport,
    FreshKeys,
    JobCondition,
    JobReport,
    LeadKeys,
    ObjectKey,
    Observed,
    ObservedObject,
    Plan,
    PodReport,
    Site,
    plan,
    render,
)

pytestmark = pytest.mark.usefixtures("unmeasured")

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
CURVE = generate()
KEYS = FreshKeys(CURVE, LeadKeys("door certificate", "door key", "door token", "metrics token"))
UID = "8c8a2f4e-6b0f-4f3a-9d53-0f6f2a1c7b11"
DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")

label = st.from_regex(r"\A[a-z]([-a-z0-9]{0,20}[a-z0-9])?\Z")
# A services pod, `<name>-services`, leaves 54 characters for the name.
long_label = st.integers(40, 54).map(lambda length: "m" * length)
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
line = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=30)
line = line.filter(lambda words: not shell.open_quote(words))


def sidecars(minimum: int = 0) -> Any:
    container = st.fixed_dictionaries(
        {"name": label, "image": st.just("side")},
        optional={
            "command": line,
            "ports": st.lists(st.integers(1, 65535), max_size=3, unique=True),
            "environment": st.dictionaries(st.from_regex(r"\A[A-Z_]{1,8}\Z"), text, max_size=2),
            "noWrapEntrypoint": st.booleans(),
        },
    )
    return st.lists(container, min_size=minimum, max_size=3, unique_by=lambda each: each["name"])


@st.composite
def clusters(draw: Any) -> spec.MiniCluster:
    """Valid documents, of many sizes and shapes."""
    size = draw(st.integers(1, 300))
    runner = draw(
        st.fixed_dictionaries(
            {"image": st.just("app"), "runFlux": st.just(True), "name": st.just("0-runner")},
            optional={
                "command": line,
                "workingDir": st.just("/home/user"),
                "launcher": st.booleans(),
                "ports": st.lists(st.integers(1, 65535), max_size=3, unique=True),
                "securityContext": st.just({"runAsUser": 1000}),
                "volumes": st.just({"data": {"path": "/data", "claimName": "data"}}),
            },
        )
    )
    wanted = draw(
        st.fixed_dictionaries(
            {"containers": sidecars().map(lambda others: [runner, *others]), "size": st.just(size)},
            optional={
                "services": sidecars(),
                "maxSize": st.integers(size, 400),
                "minSize": st.integers(1, size),
                "suspend": st.booleans(),
                "cleanup": st.booleans(),
                "jobLabels": st.just({"kueue.x-k8s.io/queue-name": "queue"}),
                "pod": st.just({"securityContext": {"runAsUser": 1000}, "labels": {"hpa-selector": "mine"}}),
                "network": st.fixed_dictionaries({}, optional={"headlessName": label}),
            },
        )
    )
    metadata = {"name": draw(label | long_label), "namespace": "science", "uid": UID, "generation": 1}
    document = {"apiVersion": spec.API_VERSION, "kind": spec.KIND, "metadata": metadata, "spec": wanted}
    return spec.validate(document)


jobs = st.builds(
    JobReport,
    parallelism=st.integers(0, 8),
    active=st.integers(0, 8),
    suspended=st.booleans(),
    conditions=st.lists(
        st.builds(
            JobCondition,
            type=st.sampled_from(["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"]),
            status=st.sampled_from(["True", "False"]),
            reason=st.sampled_from(["", "DeadlineExceeded", "BackoffLimitExceeded", "PodFailurePolicy"]),
            message=st.sampled_from(["", "why"]),
        ),
        max_size=2,
    ).map(tuple),
)
pod_reports = st.lists(
    st.builds(
        PodReport,
        index=st.integers(0, 4),
        phase=st.sampled_from(["Pending", "Running", "Failed"]),
        scheduled=st.booleans(),
        reason=st.sampled_from(["", "ImagePullBackOff"]),
        message=st.sampled_from(["", "why"]),
        exit_code=st.none() | st.integers(0, 255),
        termination_message=st.sampled_from(["", "7", "text"]),
    ),
    max_size=5,
    unique_by=lambda pod: pod.index,
).map(tuple)
some_ranks = st.frozensets(st.integers(0, 7)).map(idset.encode)
broker_reports = st.none() | st.builds(
    BrokerReport, online=some_ranks, drained=some_ranks, busy=some_ranks, running=st.booleans()
)


def key_of(item: dict[str, Any]) -> ObjectKey:
    return ObjectKey(item["kind"], item["metadata"]["name"])


def stored(cluster: spec.MiniCluster, decided: Plan) -> spec.MiniCluster:
    """The MiniCluster as the server gives it back once the plan's status was written."""
    return cluster.model_copy(update={"status": spec.Status.model_validate(decided.status)})


def made(decided: Plan, before: Observed) -> Observed:
    """What exists once the plan was carried out."""
    kept = [item for item in before.objects if item.key not in decided.delete]
    known = {item.key for item in kept}
    new = [ObservedObject(key_of(item), UID) for item in decided.objects if key_of(item) not in known]
    return Observed((*kept, *new), before.job, before.pods, before.brokers)


@given(clusters(), st.none() | jobs, pod_reports, broker_reports)
def test_a_settled_plan_changes_nothing(cluster, job, pods, brokers):
    """Carried out twice, a plan leads to a state for which it wants nothing new, also an hour later.

    But for the hint about pods that were not made in that hour.
    """
    observed = Observed(job=job, pods=pods, brokers=brokers)
    for _ in range(2):
        decided = plan(cluster, observed, Site(), KEYS, NOW)
        cluster, observed = stored(cluster, decided), made(decided, observed)
    again = plan(cluster, observed, Site(), None, LATER)
    assert without_hint(again.status) == plan(cluster, observed, Site(), None, NOW).status
    assert without_hint(again.status) == decided_status(cluster)
    assert again.events == ()
    assert {key_of(item) for item in again.objects} <= {item.key for item in observed.objects}


def without_hint(status: dict[str, Any]) -> Any:
    return json.loads(re.sub(r" \(if it stays so, [^)]*\)", "", json.dumps(status)))


def decided_status(cluster: spec.MiniCluster) -> dict[str, Any]:
    return cluster.status.model_dump(mode="json", by_alias=True, exclude_unset=True)


@given(clusters())
def test_the_same_again(cluster):
    """The same input gives the same plan, to the byte and in the same order."""
    first, second = (plan(cluster, Observed(), Site(), KEYS, NOW) for _ in range(2))
    assert json.dumps(first.objects) == json.dumps(second.objects)
    assert json.dumps(render(cluster, Site())) == json.dumps(render(cluster, Site()))


@given(clusters(), st.none() | jobs)
def test_keys_are_nowhere_but_in_the_secret(cluster, job):
    """The secret key is in one object, the Secret, and in no status, Event or rendered text."""
    decided = plan(cluster, Observed(job=job), Site(), KEYS, NOW)
    elsewhere = [item for item in decided.objects if item["kind"] != "Secret"]
    words = json.dumps([elsewhere, render(cluster, Site()), decided.status]) + repr(decided.events)
    assert CURVE.secret not in words
    assert b64encode(CURVE.secret.encode()).decode()[:40] not in words
    for item in decided.objects:
        if item["kind"] == "Secret":
            assert item["immutable"] is True
            assert CURVE.secret in b64decode(item["data"]["curve.cert"]).decode()


@given(clusters())
def test_names_and_labels_are_valid(cluster):
    """Every name, host name and label is one that Kubernetes accepts, however long the document's are."""
    for item in plan(cluster, Observed(), Site(), KEYS, NOW).objects:
        kind, name = key_of(item)
        assert (DNS_LABEL if kind in {"Service", "Job", "Pod"} else SUBDOMAIN).fullmatch(name), (kind, name)
        for key, value in labels_of(item):
            assert LABEL_KEY.fullmatch(key)
            assert LABEL_VALUE.fullmatch(value), (key, value)
    last = f"{cluster.metadata.name}-{spec.max_size(cluster) - 1}"
    assert DNS_LABEL.fullmatch(last)


def labels_of(value: Any) -> list[tuple[str, str]]:
    """Every label and selector of an object."""
    if isinstance(value, list):
        return [pair for each in value for pair in labels_of(each)]
    if not isinstance(value, dict):
        return []
    own = [
        pair
        for key in ("labels", "matchLabels", "selector")
        for pair in value.get(key, {}).items()
        if isinstance(pair[1], str)
    ]
    return [*own, *(pair for each in value.values() for pair in labels_of(each))]


@given(clusters())
def test_volumes_and_mounts_fit(cluster):
    """Every mount has its volume, every volume a mount; no container mounts one path twice."""
    for item in plan(cluster, Observed(), Site(), KEYS, NOW).objects:
        if item["kind"] not in {"Job", "Pod"}:
            continue
        pod = item["spec"]["template"]["spec"] if item["kind"] == "Job" else item["spec"]
        containers = [*pod["containers"], *pod.get("initContainers", [])]
        mounted = {mount["name"] for each in containers for mount in each.get("volumeMounts", [])}
        assert mounted == {volume["name"] for volume in pod.get("volumes", [])}
        assert len({each["name"] for each in containers}) == len(containers)
        for each in containers:
            paths = [mount["mountPath"] for mount in each.get("volumeMounts", [])]
            assert len(set(paths)) == len(paths)


@given(clusters())
def test_another_owner_stops_everything(cluster):
    """Whichever of its names is taken, nothing is applied and nothing deleted."""
    for item in plan(cluster, Observed(), Site(), KEYS, NOW).objects:
        observed = Observed((ObservedObject(key_of(item), "somebody-else"),))
        decided = plan(cluster, observed, Site(), KEYS, NOW)
        assert (decided.objects, decided.delete) == ((), ())
