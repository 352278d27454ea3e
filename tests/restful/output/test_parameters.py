"""Where a reader goes on, what he wants, and how many streams he may have: the refusals have words."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.instance.records import OutputChunk
from restful.errors import HttpProblem
from restful.jobs.output.entries import FeedEntry
from restful.jobs.output.limits import StreamLimiter, StreamLimits
from restful.jobs.output.positions import AtEnd, position
from restful.jobs.output.selection import selection


@pytest.mark.parametrize(
    ("after", "last_event_id", "expected"),
    [
        pytest.param(None, None, -1, id="from the start"),
        pytest.param("-1", None, -1, id="from the start, as a number"),
        pytest.param("41", None, 41, id="after"),
        pytest.param(None, "42", 42, id="Last-Event-ID"),
        pytest.param("41", "42", 42, id="a browser that connects again"),
        pytest.param("41", "", 41, id="a browser that has had no id"),
    ],
)
def test_a_reader_goes_on(after: str | None, last_event_id: str | None, expected: int) -> None:
    assert position(after, last_event_id) == expected


@pytest.mark.parametrize(("after", "last_event_id"), [("end", None), ("3", "end")])
def test_a_reader_has_had_the_end(after: str | None, last_event_id: str | None) -> None:
    with pytest.raises(AtEnd):
        position(after, last_event_id)


@pytest.mark.parametrize("text", ["x", "-2", "1.5", "٣", " 1", "1\n", "9" * 17, "1e3"])
def test_a_wrong_position_is_named(text: str) -> None:
    with pytest.raises(HttpProblem) as problem:
        position(None, text)
    assert (problem.value.type, problem.value.errors[0].path) == ("malformed", "Last-Event-ID")
    assert problem.value.detail == (
        f"Last-Event-ID is {text!r}: send the id of the last event, a number, or leave it out."
    )


@given(st.text())
def test_no_position_is_more_than_a_refusal(text: str) -> None:
    with contextlib.suppress(AtEnd, HttpProblem):
        assert position(text, None) >= -1


CHUNKS = tuple(
    OutputChunk(1, 0, task, stream, b"") for task in (0, 1, 5) for stream in ("stdout", "stderr", "log")
)


@pytest.mark.parametrize(
    ("stream", "task", "expected"),
    [
        pytest.param(None, None, 9, id="everything"),
        pytest.param("", "", 9, id="nothing named"),
        pytest.param("stderr", None, 3, id="a stream"),
        pytest.param("stdout,log", "0-1", 4, id="streams of tasks"),
        pytest.param(None, "7", 0, id="a task that is not there"),
    ],
)
def test_chunks_are_selected(stream: str | None, task: str | None, expected: int) -> None:
    assert len(selection(stream, task).of(FeedEntry(0, CHUNKS, 0))) == expected


@pytest.mark.parametrize(
    ("stream", "task", "words"),
    [
        pytest.param("stdin", None, "stream is 'stdin': it is one or several of stdout", id="no such stream"),
        pytest.param(None, "one", "task is 'one': it is the rank of a task", id="no number"),
        pytest.param(None, "3,1", "ids ascend", id="not in order"),
        pytest.param(None, "0-99999", "more than 65536 tasks", id="too many"),
        pytest.param(None, "0-99999999999999", "more than 4194304 ids", id="far too many"),
    ],
)
def test_a_wrong_selection_is_named(stream: str | None, task: str | None, words: str) -> None:
    with pytest.raises(HttpProblem) as problem:
        selection(stream, task)
    assert problem.value.type == "malformed"
    assert words in problem.value.detail


def test_one_user_cannot_take_the_streams_of_others() -> None:
    limiter = StreamLimiter(StreamLimits(per_user=2, in_all=3))
    with contextlib.ExitStack() as open_streams:
        for user in ("alice", "alice", "bob"):
            open_streams.enter_context(limiter.one(user))
        refusals = [_refusal(limiter, user) for user in ("alice", "carol")]
    assert refusals == [
        ("too-many-requests", "You have 2 open streams, which is the limit: close one."),
        ("busy", "3 streams are open here, which is the limit: try again later."),
    ]
    assert limiter.open == 0


def _refusal(limiter: StreamLimiter, user: str) -> tuple[str, str]:
    with pytest.raises(HttpProblem) as problem, limiter.one(user):
        raise AssertionError("it was admitted")
    assert problem.value.headers == {"Retry-After": "10"}
    return problem.value.type, problem.value.detail


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_what_is_closed_counts_no_more(users: list[str]) -> None:
    limiter = StreamLimiter(StreamLimits(per_user=3, in_all=5))
    with contextlib.ExitStack() as open_streams:
        admitted: list[str] = []
        for user in users:
            with contextlib.suppress(HttpProblem):
                open_streams.enter_context(limiter.one(user))
                admitted.append(user)
        assert limiter.open == len(admitted) <= 5
        assert all(admitted.count(user) <= 3 for user in "abc")
    assert limiter.open == 0
