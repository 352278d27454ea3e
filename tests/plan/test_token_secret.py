"""The second Secret: a token of the lead API for each purpose."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from broker_config import curve
from minicluster import document
from minicluster.plan import FreshKeys, JobReport, LeadKeys, ObjectKey, Observed, ObservedObject, Site, plan
from minicluster.plan.constants import ANNOTATION_TOKENS
from minicluster.plan.objects.keys import Generations

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.document import MiniCluster

UID = "8c8a2f4e-6b0f-4f3a-9d53-0f6f2a1c7b11"
NAME = "mc-tokens-8c8a2f4e6b0f"
TOKENS = {"metrics.token": "m", "jobs.token": "j", "burst.token": "b"}
KEYS = FreshKeys(curve.generate(), LeadKeys("certificate", "key", "token", "m", TOKENS))
SITE = Site(lead_api=True, operator_namespace="system")
FIRST = "metrics=1,jobs=1,burst=1"
CURVE = ObservedObject(ObjectKey("Secret", "mc-curve-8c8a2f4e6b0f"), UID)


@pytest.fixture
def cluster() -> MiniCluster:
    about = {"name": "mc", "namespace": "science", "uid": UID, "generation": 1}
    spec = {"size": 2, "containers": [{"image": "flux:latest"}]}
    return document.validate(
        {"apiVersion": document.API_VERSION, "kind": document.KIND, "metadata": about, "spec": spec}
    )


def kinds(objects: Any) -> list[str]:
    return [f"{each['kind']} {each['metadata']['name']}" for each in objects]


def secret(objects: Any) -> Any:
    [found] = [each for each in objects if each["metadata"]["name"] == NAME]
    return found


def test_a_new_minicluster_has_one_before_its_pods(cluster: MiniCluster, now: datetime) -> None:
    objects = plan(cluster, Observed(), SITE, KEYS, now).objects
    made = kinds(objects)
    assert made.index(f"Secret {NAME}") < made.index("PodDisruptionBudget mc-lead") < made.index("Job mc")
    data = {name: b64decode(text).decode() for name, text in secret(objects)["data"].items()}
    assert data == TOKENS
    assert "immutable" not in secret(objects), "its tokens may be replaced"
    assert secret(objects)["metadata"]["ownerReferences"][0]["uid"] == UID


def test_the_budget_has_a_note_of_what_is_in_it(cluster: MiniCluster, now: datetime) -> None:
    found = plan(cluster, Observed(), SITE, KEYS, now).objects
    [budget] = [each for each in found if each["kind"] == "PodDisruptionBudget"]
    assert budget["metadata"]["annotations"] == {ANNOTATION_TOKENS: FIRST}


@pytest.mark.parametrize(
    ("tokens", "generations", "written"),
    [
        pytest.param("", Generations(), True, id="a MiniCluster of 0.1.0"),
        pytest.param(FIRST, Generations(), False, id="as they are"),
        pytest.param(FIRST, Generations(jobs=2), True, id="those for jobs replaced"),
        pytest.param("something", Generations(), True, id="a note that is none"),
    ],
)
def test_it_is_written_where_its_tokens_are_others(
    cluster: MiniCluster, now: datetime, tokens: str, generations: Generations, written: bool
) -> None:
    """After what runs already: a quota that refuses it keeps nothing of that back."""
    observed = Observed((CURVE,), tokens=tokens, job=JobReport(2, active=2))
    objects = kinds(plan(cluster, observed, replace(SITE, generations=generations), KEYS, now).objects)
    assert (f"Secret {NAME}" in objects) == written
    assert "Secret mc-curve-8c8a2f4e6b0f" not in objects
    if written:
        assert objects[-2:] == [f"Secret {NAME}", "PodDisruptionBudget mc-lead"]


def test_where_there_is_no_lead_api_there_is_none(cluster: MiniCluster, now: datetime) -> None:
    objects = plan(cluster, Observed(), Site(), FreshKeys(KEYS.curve), now).objects
    assert f"Secret {NAME}" not in kinds(objects)
    [budget] = [each for each in objects if each["kind"] == "PodDisruptionBudget"]
    assert "annotations" not in budget["metadata"]


def test_pods_mount_it_where_it_is_there(cluster: MiniCluster, now: datetime) -> None:
    [job] = [each for each in plan(cluster, Observed(), SITE, KEYS, now).objects if each["kind"] == "Job"]
    pod = job["spec"]["template"]["spec"]
    [volume] = [each for each in pod["volumes"] if each["name"] == "minicluster-tokens"]
    assert volume["secret"] == {"secretName": NAME, "defaultMode": 0o400, "optional": True}
    [mount] = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] == volume["name"]]
    assert mount == {"name": volume["name"], "mountPath": "/etc/minicluster-tokens", "readOnly": True}


def test_pods_of_before_stay_as_they_were_made(cluster: MiniCluster, now: datetime) -> None:
    """The template of a Job cannot change."""
    observed = Observed((CURVE,), job=JobReport(2, active=2, mounts_flux_files=False))
    [job] = [each for each in plan(cluster, observed, SITE, KEYS, now).objects if each["kind"] == "Job"]
    names = {each["name"] for each in job["spec"]["template"]["spec"]["volumes"]}
    assert "minicluster-tokens" not in names


def test_the_lead_finds_them(cluster: MiniCluster, now: datetime) -> None:
    [config] = [
        each
        for each in plan(cluster, Observed(), SITE, KEYS, now).objects
        if each["metadata"]["name"] == "mc-config"
    ]
    assert 'tokens = "/etc/minicluster-tokens"' in config["data"]["broker.toml"]


def test_tokens_do_not_show() -> None:
    assert "jobs.token" not in repr(KEYS)


def test_a_lead_admits_these_and_nobody_else(cluster: MiniCluster, now: datetime) -> None:
    [policy] = [
        each
        for each in plan(cluster, Observed(), SITE, KEYS, now).objects
        if each["metadata"]["name"] == "mc-brokers"
    ]
    own, lead = policy["spec"]["ingress"]
    assert own["from"] == [
        {
            "podSelector": {
                "matchLabels": {
                    "app.kubernetes.io/name": "minicluster",
                    "app.kubernetes.io/instance": "mc",
                }
            }
        }
    ]
    [peer] = lead["from"]
    [selected] = peer["podSelector"]["matchExpressions"]
    assert peer["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "system"}}
    applications = ["minicluster-operator", "minicluster-metrics-adapter", "minicluster-rest"]
    assert (selected["key"], selected["values"]) == ("app.kubernetes.io/name", applications)
    assert lead["ports"] == [{"port": 8443, "protocol": "TCP"}]
