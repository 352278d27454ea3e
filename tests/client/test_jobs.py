"""A job in hand: waited for, read, cancelled; and listings of many."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.client.errors import BadAnswer, JobEnded, JobTimeout, OutputGone
from minicluster.client.job_errors import JobCanceled, JobFailure
from minicluster.client.last_lines import last_lines
from minicluster.client.records import JobBurst
from minicluster.instance.records import OutputChunk
from tests.client.fake_jobs import JOBS
from tests.client.fake_service import LOST, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.client import Client
    from tests.client.conftest import Clock
    from tests.client.fake_jobs import FakeJobs
    from tests.client.fake_service import Request, Service

OUTPUT = f"{JOBS}/7/output"


def test_a_job_is_awaited(client: Client, jobs: FakeJobs, clock: Clock) -> None:
    jobs.ends = False
    job = client.submit("mc", ["sleep"])
    with pytest.raises(JobTimeout, match="has not ended within 5 s: it is RUN"):
        job.wait(5)
    assert clock.slept == [pytest.approx(each) for each in (0.1, 0.2, 0.4, 0.8, 1.6)]
    jobs.end(job.id)
    assert job.result().returncode == 0


def test_a_job_names_its_burst(client: Client, jobs: FakeJobs) -> None:
    job = client.submit("mc", ["true"])
    assert job.record().burst is None
    jobs.found[job.id]["burst"] = {"id": "b1", "slot": "far", "provider": "lab", "state": "active"}
    assert job.record().burst == JobBurst("b1", "far", "lab", "active")
    jobs.found[job.id]["burst"] = {"id": "b1"}
    with pytest.raises(BadAnswer, match="a JobBurst without slot"):
        job.record()


def test_a_failed_job_raises(client: Client, jobs: FakeJobs) -> None:
    with pytest.raises(JobFailure, match="failed with exit code 1") as error:
        client.submit("mc", ["false"]).result()
    assert error.value.record.returncode == 1


LAST_LINES: dict[str, tuple[list[tuple[int, str]], str]] = {
    "nothing": ([], ""),
    "one line": (
        [(0, "python3: can't open file 'sq.py'\n")],
        "; its standard error ends with\n  python3: can't open file 'sq.py'",
    ),
    "the last ten": (
        [(0, "".join(f"line {number}\n" for number in range(50)))],
        "; its standard error ends with" + "".join(f"\n  line {number}" for number in range(40, 50)),
    ),
    "what was cut, and has no end": (
        [(0, "Trace"), (0, "back\nValue"), (0, "Error")],
        "; its standard error ends with\n  Traceback\n  ValueError",
    ),
    "a long line": ([(0, "a" * 1000)], f"; its standard error ends with\n  {'a' * 300} …"),
    "what moves the cursor": ([(0, "\x1b[2Ja\n")], "; its standard error ends with\n  \\x1b[2Ja"),
}


@pytest.mark.parametrize(("written", "words"), LAST_LINES.values(), ids=LAST_LINES)
def test_a_failure_has_the_last_lines(
    client: Client, jobs: FakeJobs, service: Service, written: list[tuple[int, str]], words: str
) -> None:
    job = client.submit("mc", ["false"])
    events = [event("stderr", str(entry), task=each[0], text=each[1]) for entry, each in enumerate(written)]
    service.routes["GET", f"{JOBS}/{job.id}/output"] = lambda _: (200, b"".join([*events, END]))
    with pytest.raises(JobFailure) as error:
        job.result()
    assert str(error.value) == f"job {job.id} failed with exit code 1{words}"


def test_lines_of_several_tasks_have_their_ranks() -> None:
    chunks = [OutputChunk(7, 0, task, "stderr", b"a\nb\n") for task in (0, 1)]
    assert last_lines(chunks, label=True) == ("0: a", "0: b", "1: a", "1: b")


def test_too_much_is_not_read_for_its_last_lines() -> None:
    """Its end would be far away, and whatever were read before it is not the last."""
    read = []

    def chunks() -> Iterator[OutputChunk]:
        for number in range(20):
            read.append(number)
            yield OutputChunk(7, number, 0, "stderr", b"a" * (1 << 20))

    assert last_lines(chunks(), label=False) == ()
    assert len(read) == 9


def test_a_cancelled_job_raises(client: Client, jobs: FakeJobs) -> None:
    jobs.ends = False
    job = client.submit("mc", ["sleep"])
    job.cancel("enough")
    with pytest.raises(JobCanceled, match="was canceled"):
        job.result()
    with pytest.raises(JobEnded):
        job.cancel()


def test_a_listing_comes_page_by_page(client: Client, jobs: FakeJobs, service: Service) -> None:
    made = [client.submit("mc", ["true"]).id for _ in range(5)]
    assert [each.id for each in client.jobs("mc", name="true")] == made[::-1]
    pages = [each.query for each in service.requests if each.method == "GET"]
    assert [each.get("cursor") for each in pages] == [None, ["2"], ["4"]]
    assert all(each["name"] == ["true"] for each in pages)


def test_a_listing_asks_for_no_page_before_its_turn(client: Client, jobs: FakeJobs, service: Service) -> None:
    for _ in range(5):
        client.submit("mc", ["true"])
    next(client.jobs("mc"))
    assert service.lines().count(f"GET {JOBS}") == 1


def test_jobs_are_cancelled_a_thousand_at_a_time(client: Client, service: Service) -> None:
    service.routes["POST", f"{JOBS}:cancel"] = lambda request: (
        207,
        {"results": [{"id": each, "status": 202, "detail": ""} for each in request.json["ids"]]},
    )
    done = client.cancel("mc", map(str, range(1500)))
    assert [each.id for each in done] == [str(each) for each in range(1500)]
    assert len(service.requests) == 2


def event(name: str, id: str = "", **data: Any) -> bytes:  # noqa: A002 - the field's name
    """Return a server-sent event."""
    return (
        f"event: {name}\ndata: {json.dumps(data)}\n".encode()
        + (f"id: {id}\n".encode() if id else b"")
        + b"\n"
    )


END = event("end", "end", state="inactive", result="completed", returncode=0, exception=None)


def answers(service: Service, *bodies: Any) -> None:
    """Let the requests for a job's output have these answers, one after another."""
    left = list(bodies)

    def answer(_: Request) -> Any:
        found = left.pop(0)
        return (200, found) if isinstance(found, bytes) else found

    service.routes["GET", OUTPUT] = answer


def test_output_goes_on_where_a_connection_was_lost(client: Client, service: Service) -> None:
    """An entry that was cut comes again as a whole, and each byte once."""
    first = event("stdout", "0", task=0, text="a\n") + event("stdout", task=0, text="b")
    whole = event("stdout", task=0, text="b") + event(
        "stderr", "1", task=1, base64=base64.b64encode(b"\xff").decode()
    )
    answers(service, first, (503, problem("busy", "later")), whole + END)
    assert list(client.job("mc", "7").output()) == [
        OutputChunk(7, 0, 0, "stdout", b"a\n"),
        OutputChunk(7, 1, 0, "stdout", b"b", last=False),
        OutputChunk(7, 1, 1, "stderr", b"\xff"),
    ]
    assert [each.headers.get("last-event-id") for each in service.requests] == [None, "0", "0"]


def test_output_stops_at_its_end(client: Client, service: Service) -> None:
    answers(service, END)
    output: Any = client.job("mc", "7").output()
    assert (list(output), output.end["returncode"], output.moved_to) == ([], 0, None)
    assert len(service.requests) == 1


def test_output_stops_at_204(client: Client, service: Service) -> None:
    answers(service, event("stdout", "0", task=0, text="a"), (204, None))
    assert [each.data for each in client.job("mc", "7").output()] == [b"a"]
    assert len(service.requests) == 2


def test_output_names_the_job_that_goes_on(client: Client, service: Service) -> None:
    answers(service, event("moved", id="", f58="ƒ9") + END)
    output: Any = client.job("mc", "7").output()
    assert (list(output), output.moved_to) == ([], "ƒ9")


def test_output_behind_an_entry(client: Client, service: Service) -> None:
    answers(service, END)
    assert list(client.job("mc", "7").output(after=4, streams=["stdout"], tasks="0-3")) == []
    (request,) = service.requests
    assert request.headers["last-event-id"] == "4"
    assert request.query == {"stream": ["stdout"], "task": ["0-3"], "format": ["sse"], "follow": ["true"]}


def test_output_that_is_there(client: Client, service: Service) -> None:
    """Without following: one request, whose lost answer is asked for again."""
    service.fault("GET", LOST)
    lines = [{"event": "stdout", "task": 0, "text": "a"}, {"event": "log", "task": 0, "text": "b", "id": 3}]
    service.routes["GET", OUTPUT] = lambda _: (200, b"\n".join(json.dumps(each).encode() for each in lines))
    assert list(client.job("mc", "7").output(follow=False)) == [
        OutputChunk(7, 3, 0, "stdout", b"a", last=False),
        OutputChunk(7, 3, 0, "log", b"b"),
    ]


def test_output_that_is_gone(client: Client, service: Service) -> None:
    answers(service, (410, problem("output-gone", "The instance is gone, and its output")))
    with pytest.raises(OutputGone, match="The instance is gone"):
        list(client.job("mc", "7").output())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"event: stdout\ndata: {\nid: 0\n\n", id="no JSON"),
        pytest.param(b"event: stdout\ndata: 1\nid: 0\n\n", id="no object"),
        pytest.param(event("stdout", "0", text="a"), id="without a task"),
        pytest.param(event("stdout", "x", task=0, text="a"), id="an id that is no number"),
    ],
)
def test_output_that_cannot_be_read(client: Client, service: Service, body: bytes) -> None:
    answers(service, body)
    with pytest.raises(BadAnswer, match="an event of a job"):
        list(client.job("mc", "7").output())
