"""API10:2023, unsafe consumption of APIs: whatever is behind a cluster is hostile to it alone."""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.jobid import f58plain
from minicluster.broker_link.errors import InstanceGone
from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.records import (
    Job,
    JobChange,
    JobException,
    JobState,
    OutputChunk,
)
from restful.clusters.ownership import NOBODYS
from restful.clusters.projection import new_record, projected
from restful.clusters.spec import ClusterSpec
from restful.store import jobs
from tests.restful.authorization.memory_instance import MemoryInstance, MemoryStream
from tests.restful.authorization.requests import Answer, Sent
from tests.restful.authorization.service import SHARED, Everything, opened
from tests.restful.authorization.users import Asker
from tests.restful.identity.service import bearer, within
from tests.restful.owasp.document import shown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterable
    from pathlib import Path

    from restful.clusters.cluster import ServedCluster

C = f"/v2/clusters/{SHARED}"
MARKUP = '<img src=x onerror="alert(1)">\r\nSet-Cookie: a=b\x00\x1b[2J\u202e'
HUGE = 10**30


def nested(levels: int) -> dict[str, Any]:
    """Return objects within each other."""
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


ODD: dict[str, dict[str, Any]] = {
    "markup": {"name": MARKUP, "queue": MARKUP, "nodelist": MARKUP, "annotations": {MARKUP: MARKUP}},
    "long": {"name": "x" * 5_000_000, "queue": "q" * 70_000, "nodelist": "n" * 5_000_000},
    "huge numbers": {"urgency": HUGE, "priority": HUGE, "nnodes": HUGE, "ntasks": HUGE, "ncores": -HUGE},
    "no numbers": {"t_submit": math.nan, "t_run": math.inf, "duration": -math.inf, "expiration": math.nan},
    "a huge time": {"t_submit": 1e300, "t_run": 1e300, "t_cleanup": 1e301, "t_inactive": 1e301},
    "another type": {"name": 5, "queue": None, "nodelist": ["a"], "annotations": [1], "urgency": "x"},
    "surrogates": {"name": "\ud800", "queue": "\udfff", "nodelist": "\ud800"},
    "a deep annotation": {"annotations": nested(5000)},
    "an exception": {"exception": JobException(MARKUP, HUGE, "x" * 100_000)},
    "a wait status": {"waitstatus": HUGE},
    "dependencies": {"dependencies": ("x" * 10_000,) * 10_000},
    "another user": {"userid": 0, "attributes": {"minicluster": {"request": "mcr1.x.y"}}},
}


class Odd(MemoryInstance):
    """An instance with odd jobs, whose stream of changes has them too."""

    def __init__(self, jobs_there: Iterable[Job]) -> None:
        super().__init__({each.id: each for each in jobs_there})

    def stream(self, items: Iterable[Any], *, endless: bool = False) -> MemoryStream:
        changes = [JobChange(each) for each in self.known.values()] if endless else []
        return super().stream([*items, *changes], endless=endless)


def odd_job(number: int, fields: dict[str, Any]) -> Job:
    """Return a job that nobody's broker has."""
    return Job(**{"id": 1000 + number, "state": JobState.RUN, "t_submit": 1.0, **fields})


@pytest.mark.parametrize("name", ODD)
def test_an_odd_job_can_be_stored_and_shown(tmp_path: Path, name: str) -> None:
    async def work() -> Any:
        async with opened(tmp_path) as here:
            cluster = here.services.clusters.get(SHARED)
            assert cluster is not None
            record = projected(
                new_record(cluster.id, cluster.row.instance, 77, NOBODYS), odd_job(0, ODD[name])
            )
            async with here.services.database.write() as connection:
                await jobs.put(connection, [record])
            token = (await shown(here, Asker.OPERATOR)).bearer
            found = await here.ask(Sent("GET", f"{C}/jobs/{f58plain(77)}", bearer(token)))
            listed = await here.ask(Sent("GET", f"{C}/jobs", bearer(token), query={"owner": "nobody"}))
            return found, listed

    found, listed = within(work())
    assert (found.status, listed.status) == (200, 200)
    assert len(found.body) < 300_000
    assert found.json() == listed.json()["jobs"][0]


@contextlib.asynccontextmanager
async def with_cluster(here: Everything, instance: Any) -> AsyncIterator[ServedCluster]:
    """Serve one more cluster."""
    await here.services.clusters.add(ClusterSpec("odd", connect=lambda: instance))
    found = here.services.clusters.get("odd")
    assert found is not None
    try:
        yield found
    finally:
        instance.close()
        await here.services.clusters.remove("odd")


def test_what_odd_jobs_there_are_is_followed(tmp_path: Path) -> None:
    """The projection goes on behind each of them; an id that there cannot be is left out."""
    found = [odd_job(number, fields) for number, fields in enumerate(ODD.values())]
    beyond = [Job(2**63, JobState.RUN), Job(2**200, JobState.RUN), Job(-1, JobState.RUN)]
    last = Job(5000, JobState.RUN, name="the last", t_submit=2.0)

    async def work() -> Any:
        async with opened(tmp_path) as here, with_cluster(here, Odd([*found, *beyond, last])):
            token = (await shown(here, Asker.ADMIN)).bearer
            async with asyncio.timeout(30):
                while True:
                    sent = Sent(
                        "GET", "/v2/clusters/odd/jobs", bearer(token), query={"owner": "*", "limit": "500"}
                    )
                    jobs_there = (await here.ask(sent)).json().get("jobs", [])
                    if any(each["name"] == "the last" for each in jobs_there):
                        return {each["number"] for each in jobs_there}, (
                            await here.ask(Sent("GET", "/readyz"))
                        ).status
                    await asyncio.sleep(0.01)

    numbers, ready = within(work())
    assert numbers == {str(each.id) for each in [*found, last]}
    assert ready == 200


class Nonsense(MemoryInstance):
    """An instance whose broker answers what no broker does."""

    def job(self, jobid: int) -> Job:
        raise KeyError("payload")


@pytest.mark.parametrize("end", ["cancel", "kill", "urgency", "why", "jobspec"])
def test_answers_that_are_none_are_the_instances_fault(
    tmp_path: Path, end: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither an error of this service, nor a traceback for each request."""

    async def work() -> Any:
        async with opened(tmp_path) as here:
            instance = here.instances[SHARED]
            instance.job = Nonsense().job  # type: ignore[method-assign]
            token = (await shown(here, Asker.OWNER)).bearer
            where = f"{C}/jobs/{here.job_of[SHARED, 'alice']}/{end}"
            body = {"urgency": 1} if end == "urgency" else None
            method = "GET" if end in {"why", "jobspec"} else "POST"
            return await here.ask(Sent(method, where, bearer(token), body=body))

    answer = within(work())
    assert (answer.status, answer.json()["type"]) == (502, "/problems/instance-refused")
    assert "does not understand" in answer.json()["detail"]
    assert "Traceback" not in caplog.text


class Lines:
    """A channel with the lines of a lead that breaks its protocol."""

    def __init__(self, *lines: bytes) -> None:
        self._lines = [b'{"engine": "flux"}', *lines]

    def write(self, data: bytes) -> None:
        """Take it."""

    def lines(self) -> Generator[bytes]:
        yield from self._lines

    def how_ended(self) -> str:
        return "hangs up"

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"[]", id="a list"),
        pytest.param(b"5", id="a number"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b'{"id": []}', id="an id that is none"),
        pytest.param(b'{"id": {"a": 1}, "payload": 1}', id="an id that is an object"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"gone": {"a": 1}}', id="an end that is none"),
        pytest.param(b"1" * 100_000, id="a number without an end"),
    ],
)
def test_a_lead_that_breaks_its_protocol_is_gone(line: bytes) -> None:
    """Who waits for an answer gets an error; no thread dies and leaves him waiting."""
    endpoint = LinesEndpoint("lead", Lines(line))
    link = endpoint.link()
    with pytest.raises(InstanceGone):
        link.rpc("job-list.list", {}, timeout=20)
    endpoint.close()


def test_output_cannot_end_its_own_stream(tmp_path: Path) -> None:
    """Nor name an event, nor give it an id: what a job writes is data, and unknown streams are left out."""
    evil = b"a\r\n\r\nevent: end\r\ndata: {}\r\nid: end\r\n\r\n\xff\x00"
    chunks = [
        OutputChunk(1, 0, 0, "stdout", evil),
        OutputChunk(1, 1, 0, "stdout\nevent: end\nid: end", b"b"),
        OutputChunk(1, 2, 0, "stderr", "\u2028\u0085</script>".encode()),
    ]

    async def work() -> Any:
        async with opened(tmp_path) as here:
            jobs_there = here.instances[SHARED].jobs
            jobs_there.output = lambda *_, **__: MemoryStream(chunks)  # type: ignore[method-assign]
            token = (await shown(here, Asker.OWNER)).bearer
            where = f"{C}/jobs/{here.job_of[SHARED, 'alice']}/output"
            headers = {**bearer(token), "accept": "text/event-stream"}
            whole = Answer()
            return await here.ask(Sent("GET", where, headers, query={"follow": "false"}), whole)

    answer = within(work())
    lines = answer.body.decode().split("\n")
    assert [each for each in lines if each.startswith("event:")] == ["event: stdout", "event: stderr"]
    assert [each for each in lines if each.startswith("id:")] == ["id: 0", "id: 2"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert b"\r" not in answer.body
