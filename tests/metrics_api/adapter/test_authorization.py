"""Who may is asked of the API server, seldom."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from metrics_api.adapter import authorization
from metrics_api.adapter.authorization import Authorization
from metrics_api.answers.errors import ForbiddenError, UnavailableError
from metrics_api.answers.queries import RequestAttributes
from minicluster.kube_client.errors import ApiUnreachableError
from minicluster.lead_server.routes import Identity

JANE = Identity("jane", ("a",), "42", (("acme.com/project", ("one",)),))
WHAT = RequestAttributes(
    "/x", "custom.metrics.k8s.io", "v1beta2", "team", "get", "services", "mc", "flux_jobs"
)
DOCUMENT = RequestAttributes("/apis")


@dataclass
class Api:
    """An API server that allows what `allows` says of a review's spec."""

    allows: Callable[[dict[str, Any]], bool]
    reviews: list[dict[str, Any]] = field(default_factory=list)
    is_away: bool = False

    async def review(self, item: dict[str, Any]) -> dict[str, Any]:
        self.reviews.append(item["spec"])
        await asyncio.sleep(0)
        if self.is_away:
            raise ApiUnreachableError("no answer")
        return {"status": {"allowed": self.allows(item["spec"])}}


def check(api: Api, *asked: tuple[Identity, RequestAttributes]) -> None:
    """Check one after the other."""

    async def work() -> None:
        found = Authorization(api)
        for who, what in asked:
            await found.check(who, what)

    asyncio.run(work())


def is_single(spec: dict[str, Any]) -> bool:
    return "name" in spec.get("resourceAttributes", {})


def test_it_asks_for_exactly_what_is_requested_as_exactly_who_asks() -> None:
    api = Api(is_single)
    check(api, (JANE, WHAT))
    assert api.reviews[-1] == {
        "user": "jane",
        "groups": ["a"],
        "uid": "42",
        "extra": {"acme.com/project": ["one"]},
        "resourceAttributes": {
            "namespace": "team",
            "verb": "get",
            "group": "custom.metrics.k8s.io",
            "version": "v1beta2",
            "resource": "services",
            "name": "mc",
            "subresource": "flux_jobs",
        },
    }


def test_who_may_see_everything_is_asked_for_once() -> None:
    """As the autoscaler, which asks for a thousand MiniClusters."""
    api = Api(lambda _: True)
    others = [
        (JANE, RequestAttributes("", WHAT.group, WHAT.version, "team", "get", "services", str(n)))
        for n in range(9)
    ]
    check(api, *others)
    assert [each["resourceAttributes"] for each in api.reviews] == [
        {"verb": "get", "group": WHAT.group, "version": WHAT.version, "resource": "*"}
    ]


def test_an_answer_holds_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api(is_single)
    check(api, (JANE, WHAT), (JANE, WHAT))
    assert len(api.reviews) == 2
    monkeypatch.setattr(authorization, "HOLDS", 0.0)
    check(api, (JANE, WHAT), (JANE, WHAT))
    assert len(api.reviews) == 6


def test_who_may_not_gets_the_reason() -> None:
    message = "jane may not get services/flux_jobs 'mc' of custom.metrics.k8s.io in namespace team"
    with pytest.raises(ForbiddenError, match=message):
        check(Api(lambda _: False), (JANE, WHAT))
    with pytest.raises(ForbiddenError, match="jane may not get /apis"):
        check(Api(lambda _: False), (JANE, DOCUMENT))


@pytest.mark.parametrize("status", [None, {}, {"denied": False}, {"allowed": None}, {"allowed": "true"}])
def test_an_answer_without_a_permission_is_a_refusal(status: dict[str, Any] | None) -> None:
    class Vague(Api):
        async def review(self, item: dict[str, Any]) -> dict[str, Any]:
            return {**item, "status": status}

    with pytest.raises(ForbiddenError):
        check(Vague(lambda _: True), (JANE, DOCUMENT))


def test_anothers_answer_does_not_count() -> None:
    api = Api(lambda spec: spec["user"] == "jane")
    with pytest.raises(ForbiddenError):
        check(api, (JANE, DOCUMENT), (Identity("jane2"), DOCUMENT))


def test_the_api_server_itself_is_not_asked_about() -> None:
    api = Api(lambda _: False)
    check(api, (Identity("system:kube-aggregator", ("system:masters",)), DOCUMENT))
    assert api.reviews == []


def test_an_api_server_that_is_away_gives_no_answer_and_is_asked_again() -> None:
    api = Api(lambda _: True, is_away=True)

    async def work() -> None:
        found = Authorization(api)
        with pytest.raises(UnavailableError, match="does not say who may do this"):
            await found.check(JANE, DOCUMENT)
        api.is_away = False
        await found.check(JANE, DOCUMENT)

    asyncio.run(work())


def test_what_is_remembered_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authorization, "MAX_ANSWERS", 3)
    api = Api(lambda _: True)
    check(api, *[(Identity(str(number)), DOCUMENT) for number in range(9)])
    assert len(api.reviews) == 9
