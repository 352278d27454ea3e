"""APIServices are kept right where they are ours, and left alone where they are not."""

import asyncio
import copy
import logging
from typing import Any

import pytest

from metrics_api.adapter.registration import LEFT_ALONE, NAMES, Registration, ServiceReference, wanted
from minicluster.kube_client.errors import ApiError

SERVER = ServiceReference("system", "adapter")
NAME = "v1beta2.custom.metrics.k8s.io"
OWNER = {"metadata": {"name": "adapter", "uid": "uid-role"}}
BUNDLE = "-----BEGIN CERTIFICATE-----\n"


class Api:
    """What was applied."""

    def __init__(self, refusal: ApiError | None = None) -> None:
        self.applied: list[tuple[dict[str, Any], bool]] = []
        self.created: list[dict[str, Any]] = []
        self.refusal = refusal

    async def create(self, item: dict[str, Any]) -> dict[str, Any]:
        if self.refusal is not None:
            raise self.refusal
        self.created.append(item)
        return item

    async def apply(self, item: dict[str, Any], *, new: bool = False) -> dict[str, Any]:
        if self.refusal is not None:
            raise self.refusal
        self.applied.append((item, new))
        return item


def right(**spec: Any) -> dict[str, Any]:
    """Return an APIService as it must be, or with something else in its spec."""
    item = copy.deepcopy(wanted(NAMES[NAME], SERVER, BUNDLE, OWNER))
    item["metadata"]["uid"] = "uid-1"
    item["spec"] |= spec
    del item["spec"]["insecureSkipTLSVerify"]  # what is false is not stored
    item["spec"] |= {key: value for key, value in spec.items() if key == "insecureSkipTLSVerify"}
    return item


def keep(item: dict[str, Any] | None, api: Api) -> Registration:
    found = Registration(api, SERVER, OWNER)
    asyncio.run(found.keep(NAME, item, BUNDLE))
    return found


def test_one_that_is_missing_is_made() -> None:
    api = Api()
    keep(None, api)
    [(item, new)] = api.applied
    assert new
    assert item["spec"]["service"] == {"namespace": "system", "name": "adapter", "port": 443}
    assert item["metadata"]["ownerReferences"][0]["uid"] == "uid-role"


def test_one_that_is_right_is_not_written() -> None:
    api = Api()
    keep(right(), api)
    assert api.applied == []


@pytest.mark.parametrize(
    "change",
    [
        {"caBundle": "AAAA"},
        {"caBundle": "?"},
        {"caBundle": None},
        {"insecureSkipTLSVerify": True},
        {"versionPriority": 1},
        {"service": {"namespace": "system", "name": "adapter", "port": 8443}},
    ],
    ids=["another bundle", "nonsense", "no bundle", "insecure", "priority", "port"],
)
def test_what_was_changed_is_put_right(change: dict[str, Any]) -> None:
    api = Api()
    keep(right(**change), api)
    [(item, new)] = api.applied
    assert not new
    assert (item["metadata"]["uid"], item["spec"]["caBundle"]) == ("uid-1", right()["spec"]["caBundle"])


def test_one_without_its_owner_gets_it() -> None:
    api = Api()
    item = right()
    del item["metadata"]["ownerReferences"]
    keep(item, api)
    assert len(api.applied) == 1


@pytest.mark.parametrize(
    ("service", "whose"),
    [
        ({"namespace": "keda", "name": "keda-metrics", "port": 443}, "Service keda/keda-metrics"),
        ({"namespace": "other", "name": "adapter", "port": 443}, "Service other/adapter"),
        (None, "the API server itself"),
    ],
    ids=["keda", "another adapter", "local"],
)
def test_one_of_somebody_else_is_left_alone_and_reported_once(
    service: dict[str, Any] | None, whose: str, caplog: pytest.LogCaptureFixture
) -> None:
    api = Api()
    item = right(service=service)
    found = Registration(api, SERVER, OWNER)

    async def twice() -> None:
        await found.keep(NAME, item, BUNDLE)
        await found.keep(NAME, item, BUNDLE)

    with caplog.at_level(logging.WARNING):
        asyncio.run(twice())
    assert api.applied == []
    assert found.conflicting[NAME].startswith(whose)
    assert [
        record.getMessage().startswith(f"APIService {NAME} belongs to {whose}") for record in caplog.records
    ] == [True]
    [event] = api.created
    assert (event["reason"], event["type"]) == (LEFT_ALONE, "Warning")
    assert event["message"].startswith(f"{NAME} belongs to {whose}")
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"] == {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "name": NAME,
        "uid": "uid-1",
    }


def test_where_no_event_can_be_written_the_log_has_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        keep(right(service=None), Api(ApiError(403, "Forbidden", "no")))
    assert [record.getMessage().split(":")[0][-70:] for record in caplog.records][1:] == [
        f"no Event tells of APIService {NAME}"
    ]


def test_once_it_is_gone_ours_replaces_it() -> None:
    api = Api()
    found = Registration(api, SERVER, OWNER)

    async def work() -> None:
        await found.keep(NAME, right(service=None), BUNDLE)
        await found.keep(NAME, None, BUNDLE)

    asyncio.run(work())
    assert (found.conflicting, len(api.applied)) == ({}, 1)


def test_who_was_faster_has_it() -> None:
    keep(None, Api(ApiError(409, "Conflict", "there is one")))


def test_what_is_refused_is_raised() -> None:
    with pytest.raises(ApiError):
        keep(None, Api(ApiError(403, "Forbidden", "no")))
