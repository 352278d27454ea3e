"""What an API server refuses of `spec.bursting`, in the validator's words, and what may change of it."""

import copy
import json
from typing import Any

import pytest

from minicluster.document import messages
from tests.devcluster import Api
from tests.kubernetes import operators

CLUSTERS: dict[str, Any] = {"bursting": {"clusters": [{"name": "far", "size": 2}]}}
LEAD = {"leadBroker": {"name": "other", "address": "192.0.2.1", "size": 1}}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no hosts": ({"bursting": {}}, messages.BURSTING_HOSTS),
    "a lead elsewhere": (
        {"bursting": {}, "flux": {"bursting": {**CLUSTERS["bursting"], **LEAD}}},
        messages.BURSTING_AND_LEAD,
    ),
    "lost before the fence": (
        {"bursting": {"lostAfterSeconds": 44}, "flux": CLUSTERS},
        messages.LOST_BEFORE_FENCE,
    ),
}


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_at_once(api: Api, spec: dict[str, Any], message: str) -> None:
    item: dict[str, Any] = copy.deepcopy(operators.DOCUMENT)
    item["metadata"] = {"name": "mc"}
    item["spec"].update(spec)
    words = operators.refusal(lambda: api.create(f"{operators.path('default')}?dryRun=All", item))
    assert words.endswith(message)


def test_jobs_in_instances_of_their_own_need_no_hosts(api: Api) -> None:
    item: dict[str, Any] = copy.deepcopy(operators.DOCUMENT)
    item["metadata"] = {"name": "mc"}
    item["spec"]["bursting"] = {"join": False}
    found = api.create(f"{operators.path('default')}?dryRun=All", item)
    assert found["spec"]["bursting"]["join"] is False


@pytest.fixture
def started(api: Api, namespace: str) -> str:
    """The path of a MiniCluster with bursts whose brokers were made."""
    operators.create(api, namespace, bursting={}, flux=CLUSTERS)
    where = operators.path(namespace, "mc")
    api.merge(f"{where}/status", {"status": {"maximumSize": 2}})
    return where


def test_what_brokers_have_read_cannot_change(api: Api, started: str) -> None:
    message = "spec.bursting cannot come or go once brokers were made"
    assert message in operators.refusal(lambda: api.merge(started, {"spec": {"bursting": None}}))


def test_what_a_burst_service_reads_can_change(api: Api, started: str) -> None:
    budget = {"amount": "12.50", "currency": "EUR", "period": "month"}
    change = {"dryRun": False, "maxNodes": 1, "budget": {"amount": "12.50"}, "select": {"users": ["ada"]}}
    found = api.merge(started, {"spec": {"bursting": change}})["spec"]["bursting"]
    assert (found["dryRun"], found["maxNodes"], found["budget"]) == (False, 1, budget)
    assert found["select"]["users"] == ["ada"]


def test_a_status_has_bursts_and_a_column_for_them(api: Api, started: str) -> None:
    burst = {"id": "01abc", "slot": "far", "provider": "p", "state": "active", "nodes": 2}
    condition = {"type": "Bursting", "status": "True", "reason": "Active"}
    api.merge(f"{started}/status", {"status": {"bursts": [burst], "conditions": [condition]}})
    assert api.get(started)["status"]["bursts"] == [burst]
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    _, body = api.exchange("GET", started, None, {**api.headers(), "Accept": accept})
    table = json.loads(body)
    names = [each["name"] for each in table["columnDefinitions"]]
    assert dict(zip(names, table["rows"][0]["cells"], strict=True))["Burst"] == "Active"
