"""MiniClusters of followers: with a `leadBroker` they have no lead, and nothing that a lead needs."""

from __future__ import annotations

import tomllib
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import pytest

from broker_config import curve
from minicluster.plan import (
    FreshKeys,
    JobReport,
    LeadKeys,
    Observed,
    PodReport,
    Site,
    plan,
    render,
)
from tests.plan.decided import condition, decide, ended, pod, pods

if TYPE_CHECKING:
    from collections.abc import Mapping

SITE = Site(lead_api=True, operator_namespace="operators")
KEYS = FreshKeys(curve.generate(), LeadKeys("certificate", "key", "token", "metrics", {"jobs.token": "jobs"}))
LEAD = {"address": "192.0.2.10", "port": 30050, "name": "near", "size": 2}
FOLLOWS: dict[str, Any] = {
    "flux": {"bursting": {"leadBroker": LEAD, "clusters": [{"name": "hpc", "size": 4}]}},
    "autoscaling": {"maxSize": 4, "tlsSecret": "readers"},
    "archive": {"path": "/archive/dump"},
}
RUNNING = JobReport(parallelism=4, active=4)
ITS_LEAD = "the lead of near at 192.0.2.10:30050"


def made(make: Any, now: Any, **more: Any) -> dict[str, dict[str, Any]]:
    """The objects of a first plan, as an operator makes it, by kind."""
    wanted = {"size": 4, **FOLLOWS, **more}
    return {item["kind"]: item for item in plan(make(wanted), Observed(), SITE, KEYS, now).objects}


def decided(make: Any, keys: Any, now: Any, *found: PodReport, status: Any = None) -> Any:
    return decide(make, keys, now, Observed(job=RUNNING, pods=found), FOLLOWS, status, SITE)


def test_there_is_what_followers_need_and_no_more(make, now):
    """Whole, for who applies it where no operator is; no Service, budget, autoscaler or second Secret."""
    assert list(made(make, now)) == ["Secret", "ConfigMap", "NetworkPolicy", "Job"]


def test_the_same_is_shown(make):
    shown = [item["kind"] for item in render(make({"size": 4, **FOLLOWS}), SITE, KEYS, with_secrets=True)]
    assert shown == ["Secret", "ConfigMap", "NetworkPolicy", "Job"]


def test_the_certificate_is_all_that_is_secret(make, now):
    assert list(made(make, now)["Secret"]["data"]) == ["curve.cert"]
    assert b"metadata" in b64decode(made(make, now)["Secret"]["data"]["curve.cert"])


def test_no_keys_of_a_lead_are_asked_for(make, now):
    """Once its Secret is there, nothing is."""
    decide(make, FreshKeys(curve.generate()), now, Observed(job=RUNNING, pods=pods()), FOLLOWS, site=SITE)


def test_nobody_but_each_other_connects(make, now):
    (rule,) = made(make, now)["NetworkPolicy"]["spec"]["ingress"]
    assert list(rule) == ["from"]
    assert rule["from"][0]["podSelector"]["matchLabels"]["app.kubernetes.io/instance"] == "hpc"


def test_ports_of_the_user_s_own_stay_open(make, now):
    policy = made(make, now, containers=[{"image": "app", "ports": [9000]}])["NetworkPolicy"]
    assert policy["spec"]["ingress"][1:] == [{"ports": [{"port": 9000, "protocol": "TCP"}]}]


def test_the_files_have_nothing_of_a_lead_s_api(make, now):
    found = made(make, now)["ConfigMap"]["data"]
    assert {"broker.toml", "R", "start.sh"} <= found.keys()
    assert not [name for name in found if "lead" in name or "door" in name]
    volumes = made(make, now)["Job"]["spec"]["template"]["spec"]["volumes"]
    assert not {"minicluster-tokens", "minicluster-metrics-tls"} & {each["name"] for each in volumes}


@pytest.mark.parametrize(
    ("flux", "named"),
    [
        ({}, False),
        ({"topology": "kary:5"}, False),
        ({"topology": "kary:4"}, True),
        ({"topology": "binomial"}, True),
        ({"topology": "binomial", "minimalService": True}, False),
    ],
    ids=[
        "all at the lead",
        "just enough",
        "too many",
        "a tree",
        "a tree, but only the lead is named",
    ],
)
def test_followers_have_names_where_they_connect_to_one_another(make, now, flux: Mapping[str, Any], named):
    """There are six hosts: the lead, one follower beside it, and these four."""
    assert ("Service" in made(make, now, flux={**FOLLOWS["flux"], **flux})) is named


@pytest.mark.parametrize(("topology", "named"), [("", False), ("kary:34", False), ("kary:32", True)])
def test_however_many_there_are_all_follow_the_lead_itself(make, now, topology: str, named: bool):
    """Beyond Flux's own fan-out as well, unless the document says how they are connected."""
    bursting = {"leadBroker": {**LEAD, "size": 30}, "clusters": [{"name": "hpc", "size": 4}]}
    assert ("Service" in made(make, now, flux={"bursting": bursting, "topology": topology})) is named


def test_a_lead_that_may_be_joined_opens_its_port(make):
    """As before, where nobody manages its bursts."""
    wanted = {"size": 2, "flux": {"bursting": {"clusters": [{"name": "far", "size": 2}]}}}
    (policy,) = [each for each in render(make(wanted), SITE) if each["kind"] == "NetworkPolicy"]
    assert policy["spec"]["ingress"][-1] == {"ports": [{"port": 8050, "protocol": "TCP"}]}


def test_they_follow_once_their_pods_are_ready(make, keys, now):
    found = decided(make, keys, now, *pods())
    ready = condition(found, "BrokersReady")
    assert (ready["status"], ready["reason"]) == ("True", "Following")
    assert ready["message"] == f"4 of 4 pods are ready: their brokers join {ITS_LEAD}"
    assert condition(found, "Running")["reason"] == "PodsRunning"
    assert (found.status["phase"], found.status["readyBrokers"]) == ("Running", 4)
    assert found.orders == ()
    assert not found.finalizer


@pytest.mark.parametrize(
    ("last", "reason", "message"),
    [
        (pod(3, phase="Pending"), "PodsStarting", f"3 of 4 pods are ready; they follow {ITS_LEAD}"),
        (pod(3, leaving=True), "PodsStarting", f"3 of 4 pods are ready; they follow {ITS_LEAD}"),
        (
            pod(3, reason="CrashLoopBackOff", message="back-off 10s"),
            "PodsStuck",
            f"3 of 4 pods are ready; hpc-3: CrashLoopBackOff: back-off 10s; they follow {ITS_LEAD}",
        ),
    ],
    ids=["starts", "leaves", "fails again and again"],
)
def test_a_pod_that_is_not_ready(make, keys, now, last: PodReport, reason: str, message: str):
    found = decided(make, keys, now, *pods(3), last)
    ready = condition(found, "BrokersReady")
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", reason, message)
    assert found.status["readyBrokers"] == 3


def test_a_follower_that_is_lost_is_missing(make, keys, now):
    before = decided(make, keys, now, *pods()).status
    found = decided(make, keys, now, *pods(3), status=before)
    assert condition(found, "BrokersReady")["reason"] == "BrokersMissing"
    assert condition(found, "Running")["reason"] == "PodsStarting"
    again = decided(make, keys, now, *pods(3), status=found.status)
    assert again.status == found.status


def test_their_size_follows_no_queue(make, keys, now):
    found = condition(decided(make, keys, now, *pods()), "Autoscaling")
    assert (found["status"], found["reason"]) == ("False", "HeldBack")
    assert found["message"] == "the size is left alone: followers of another lead have no queue of their own"


def test_they_shrink_at_once(make, keys, now):
    """There is no lead that could drain them: it is for theirs to have done so."""
    wanted = {**FOLLOWS, "size": 2, "maxSize": 4}
    found = decide(make, keys, now, Observed(job=RUNNING, pods=pods()), wanted, site=SITE)
    (job,) = [each for each in found.objects if each["kind"] == "Job"]
    assert job["spec"]["parallelism"] == 2


def test_they_end_with_their_lead(make, keys, now):
    over = ended("Complete")
    found = decide(make, keys, now, Observed(job=over, pods=pods(phase="Succeeded")), FOLLOWS, site=SITE)
    assert condition(found, "Succeeded")["message"] == "the brokers left their lead"


def test_hosts_are_those_of_the_lead_s_list(make, now):
    """One list for all: the lead's, then these."""
    found = tomllib.loads(made(make, now)["ConfigMap"]["data"]["broker.toml"])
    assert "hpc-[0-3]" in "".join(each["host"] for each in found["bootstrap"]["hosts"])
