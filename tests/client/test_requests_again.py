"""Requests are sent again where that can help, and a job is submitted once however often that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from minicluster.client.errors import (
    BadAnswer,
    Forbidden,
    Invalid,
    JobEnded,
    NotFound,
    OutputGone,
    QuotaExceeded,
    ServerAway,
    ServiceFailed,
    ServiceRefused,
    TooManyRequests,
    Unauthenticated,
)
from tests.client.fake_jobs import JOBS
from tests.client.fake_service import LOST, problem

if TYPE_CHECKING:
    from minicluster.client import Client
    from tests.client.conftest import Clock
    from tests.client.fake_jobs import FakeJobs
    from tests.client.fake_service import Answer, Service

SUBMIT = f"POST {JOBS}"


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param([LOST], id="an answer lost after the submit was done"),
        pytest.param([LOST, LOST, LOST], id="three answers lost"),
        pytest.param([(502, None), (504, None)], id="a proxy without its service"),
        pytest.param([LOST, (409, problem("under-way", "wait"))], id="the first attempt is under way"),
        pytest.param([(429, problem("too-many-requests", "slower"))], id="too many requests"),
    ],
)
def test_a_job_is_submitted_once(
    service: Service, client: Client, jobs: FakeJobs, faults: list[Answer]
) -> None:
    for each in faults:
        service.fault(SUBMIT, each)
    job = client.submit("mc", ["hostname"], tasks=2)
    assert job.id in jobs.found
    assert len(jobs.found) == 1
    keys = {each.headers["idempotency-key"] for each in service.requests}
    assert (len(keys), service.lines()) == (1, [SUBMIT] * (len(faults) + 1))


def test_two_jobs_have_two_keys(client: Client, jobs: FakeJobs) -> None:
    assert client.submit("mc", ["true"]).id != client.submit("mc", ["true"]).id
    assert len(jobs.by_key) == 2


def test_a_key_may_be_given(client: Client, jobs: FakeJobs) -> None:
    """By who tries again after an end of the process."""
    assert client.submit("mc", ["true"], key="k").id == client.submit("mc", ["true"], key="k").id
    assert list(jobs.by_key) == ["k"]


def test_it_waits_as_long_as_the_service_asks(
    service: Service, client: Client, jobs: FakeJobs, clock: Clock
) -> None:
    service.fault(SUBMIT, (503, problem("instance-away", "cluster mc: it starts")), Retry_After="7")
    client.submit("mc", ["true"])
    assert clock.slept == [pytest.approx(7.05)]
    assert len(jobs.found) == 1


def test_it_gives_up_with_the_services_reason(service: Service, client: Client, clock: Clock) -> None:
    for _ in range(20):
        service.fault("GET", (503, problem("instance-away", "cluster mc: its lead does not answer")))
    with pytest.raises(ServiceFailed) as error:
        client.nodes("mc")
    assert str(error.value) == "cluster mc: its lead does not answer"
    assert clock.slept == [0.5, 1, 2, 4, 8, 10]


def test_a_service_that_asks_for_too_long_is_not_awaited(
    service: Service, client: Client, clock: Clock
) -> None:
    service.fault("GET", (503, problem("busy", "later")), Retry_After="3600")
    with pytest.raises(ServiceFailed, match="later"):
        client.nodes("mc")
    assert clock.slept == []


def test_a_signal_is_not_sent_twice(service: Service, client: Client) -> None:
    """Whether it arrived is not known, and twice would not be the same."""
    service.fault("POST", LOST)
    with pytest.raises(ServerAway, match=r"the connection to .* was lost"):
        client.job("mc", "ƒ1").kill("USR1")
    assert service.lines() == [f"POST {JOBS}/ƒ1/kill"]


def test_what_was_deleted_by_a_lost_attempt_is_no_error(service: Service, client: Client) -> None:
    service.fault("DELETE", LOST)
    client.tokens.revoke("01T")
    assert service.lines() == ["DELETE /v2/me/tokens/01T"] * 2


def test_a_server_that_is_not_there_is_named(client: Client, service: Service, clock: Clock) -> None:
    from minicluster.client import Client as Another  # noqa: PLC0415

    with (
        Another("http://127.0.0.1:1", "t", timing=clock.timing) as absent,
        pytest.raises(ServerAway) as error,
    ):
        absent.clusters()
    assert str(error.value) == "http://127.0.0.1:1 cannot be reached: Connection refused"
    assert len(clock.slept) > 3
    assert service.lines() == []


FIELDS = [{"path": "/tasks", "message": "is 1 at least"}, {"path": "/cwd", "message": "begins with /"}]
REFUSALS: list[Any] = [
    pytest.param(422, problem("invalid", "two fields are wrong", errors=FIELDS), Invalid, id="fields"),
    pytest.param(
        403, problem("quota", "10 jobs are queued, as many as you may have"), QuotaExceeded, id="quota"
    ),
    pytest.param(403, problem("forbidden", "This needs the scope jobs:submit."), Forbidden, id="scope"),
    pytest.param(404, problem("not-found", "there is no job"), NotFound, id="absent"),
    pytest.param(409, problem("ended", "job ƒ1 has ended"), JobEnded, id="ended"),
    pytest.param(410, problem("output-gone", "The instance is gone"), OutputGone, id="gone"),
    pytest.param(500, problem("internal", "This service failed"), ServiceFailed, id="failed"),
    pytest.param(418, None, ServiceRefused, id="a status that nobody expects"),
]


@pytest.mark.parametrize(("status", "body", "kind"), REFUSALS)
def test_a_refusal_has_the_services_words(
    service: Service, client: Client, status: int, body: Any, kind: type[ServiceRefused]
) -> None:
    service.fault("GET", (status, body))
    with pytest.raises(ServiceRefused) as error:
        client.clusters()
    assert (type(error.value), error.value.status) == (kind, status)
    expected = body["detail"] if body else f"the server answers with {status}"
    assert str(error.value).splitlines()[0] == expected
    assert len(service.requests) == 1


def test_each_wrong_field_has_a_line(service: Service, client: Client) -> None:
    service.fault(SUBMIT, (422, problem("invalid", "two fields are wrong", errors=FIELDS)))
    with pytest.raises(Invalid) as error:
        client.submit("mc", ["true"])
    assert str(error.value) == "two fields are wrong\n  tasks: is 1 at least\n  cwd: begins with /"


def test_a_token_that_is_refused_has_the_way_out(service: Service, client: Client) -> None:
    service.fault("GET", (401, problem("unauthenticated", "The token has expired.")))
    with pytest.raises(Unauthenticated) as error:
        client.clusters()
    assert str(error.value) == f"The token has expired: `minicluster login --server {service.url}`"


def test_too_many_requests_for_too_long(service: Service, client: Client) -> None:
    for _ in range(20):
        service.fault("GET", (429, problem("too-many-requests", "20 a second are allowed")))
    with pytest.raises(TooManyRequests, match="20 a second"):
        client.clusters()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param((200, {"hello": 1}), "an answer is without clusters: is this the service?", id="other"),
        pytest.param((200, {"clusters": [1]}), "in place of a ClusterRecord", id="no object"),
        pytest.param((200, {"clusters": [{}]}), "a ClusterRecord without name", id="a field is missing"),
        pytest.param((200, {"clusters": [{"name": 1}]}), "whose name is no str", id="another type"),
        pytest.param((200, b"<html>"), "answers with no JSON: is this the service?", id="a page"),
    ],
)
def test_what_is_no_such_service_is_named(
    service: Service, client: Client, answer: Answer, message: str
) -> None:
    service.fault("GET", answer)
    with pytest.raises(BadAnswer, match=message.replace("?", "[?]")):
        client.clusters()
