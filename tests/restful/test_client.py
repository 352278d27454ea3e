"""The client, and the back end of the commands, against the service itself on loopback."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING

import pytest

from minicluster.client import Client, JobExecutor, JobFailure
from minicluster.client.errors import Invalid, JobEnded, NotFound, Unauthenticated
from minicluster.client.records import JobBurst, JobStatus
from minicluster.server_backend import backend
from restful.jobs.views import BurstView, JobView
from tests.backends.conformance.cases import INSTANCE_CASES, USERS_CASES, Scene, Teller
from tests.client.loopback import on_loopback
from tests.restful.jobs.service import opened, spec_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from fastapi import FastAPI
    from pydantic import BaseModel

    from tests.conformance.laboratory import Laboratory

SECONDS = 240.0
"""In which a job must have ended."""


@pytest.fixture(scope="module")
def url(embedded: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service; tokens are users' names."""

    @contextlib.asynccontextmanager
    async def app() -> AsyncIterator[FastAPI]:
        async with opened(tmp_path_factory.mktemp("service"), spec_of(embedded)) as here:
            yield here.app

    with on_loopback(app) as found:
        yield found


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url, "alice") as found:
        yield found


@pytest.mark.parametrize(("record", "view"), [(JobStatus, JobView), (JobBurst, BurstView)])
def test_a_job_has_the_fields_that_the_service_answers(record: type, view: type[BaseModel]) -> None:
    assert {each.name for each in dataclasses.fields(record)} == set(view.model_fields)


def test_a_job_is_submitted_once_and_awaited(client: Client) -> None:
    job = client.submit("mc", ["true"], key="one")
    assert client.submit("mc", ["true"], key="one").id == job.id
    assert job.result(SECONDS).returncode == 0
    assert next(client.jobs("mc")).id == job.id
    with pytest.raises(JobEnded, match="has ended"):
        job.cancel()


def test_a_failed_job_is_raised(client: Client) -> None:
    with pytest.raises(JobFailure, match=r"exit code 3; its standard error ends with\n  no input$"):
        client.submit("mc", ["sh", "-c", "echo no input >&2; exit 3"]).result(SECONDS)


def test_refusals_have_words(client: Client, url: str) -> None:
    with pytest.raises(Invalid, match="tasks"):
        client.submit("mc", ["true"], tasks=0)
    with pytest.raises(NotFound):
        client.job("mc", "ƒ2oVwY1").record()
    with Client(url, "nobody") as nobody, pytest.raises(Unauthenticated, match="minicluster login"):
        nobody.clusters()


def test_a_listing_has_every_job_once(client: Client) -> None:
    made = [client.submit("mc", ["true"], name="listed").id for _ in range(5)]
    listed = [each.id for each in client.jobs("mc", name="listed", limit=2)]
    assert listed == made[::-1]


def test_futures(client: Client) -> None:
    with JobExecutor(client, "mc", poll=0.05) as executor:
        codes = [each.returncode for each in executor.map(["test", "1", "-eq"], [1, 1], timeout=SECONDS)]
    assert codes == [0, 0]


def test_futures_of_jobs_that_fail_have_their_output_all_the_same(client: Client) -> None:
    script = ["sh", "-c", 'echo begun "$1"; test "$1" -ne 1 || { echo one is none >&2; exit 4; }', "run"]
    with JobExecutor(client, "mc", poll=0.05) as executor:
        runs = [executor.submit(script, number) for number in range(3)]
        errors = [str(each.exception(SECONDS) or "") for each in runs]
        output = [each.output() for each in runs]
    failure = f"job {runs[1].job().id} failed with exit code 4; its standard error ends with\n  one is none"
    assert errors == ["", failure, ""]
    assert output == [b"begun 0\n", b"begun 1\n", b"begun 2\n"]


@pytest.fixture
def scene(url: str, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setenv("MINICLUSTER_TOKEN", "olga")
    made = backend.KIND.open({"server": url, "ca_file": ""}, Teller())
    return Scene(made, suspends=False, up_before=True)


CASES = [
    pytest.param(case, id=case.__name__)
    for case in (*USERS_CASES, *INSTANCE_CASES)
    if case.__name__ != "each_broker_has_logs"  # for who has a cluster
]


@pytest.mark.parametrize("case", CASES)
def test_the_back_end(scene: Scene, case: Callable[[Scene], None]) -> None:
    case(scene)
