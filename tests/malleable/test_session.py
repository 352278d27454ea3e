"""A session: each order ends once, and whatever a program does, its workers stay accounted for."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.malleable import events
from minicluster.malleable.errors import NotAccepting
from minicluster.malleable.exchange import MAX_UNPROVEN
from tests.malleable.desk import JOB, TOKEN, Desk


@pytest.fixture
def desk() -> Desk:
    """A job of two workers, h0 and h1, of one to four, whose program has registered."""
    desk = Desk()
    desk.register()
    return desk


def started(desk: Desk, *hosts: str) -> None:
    desk.grow(*hosts)
    desk.send("p", type="accept", order=1)


def test_a_program_registers_and_receives_its_size() -> None:
    desk = Desk()
    assert desk.register() == [events.ProgramRegistered(JOB)]
    workers = [{"task": 0, "host": "h0"}, {"task": 1, "host": "h1"}]
    assert desk.last == {"type": "registered", "size": 2, "min": 1, "max": 4, "workers": workers}
    assert desk.session.accepts_resize


def test_growth(desk: Desk) -> None:
    """Order, accept, start, join, done."""
    desk.grow("h3", "h2")
    assert desk.last == {"type": "grow", "order": 1, "hosts": ["h3", "h2"], "size": 4}
    assert desk.send("p", type="accept", order=1) == [events.GrowAccepted(JOB, 1, {2: "h3", 3: "h2"})]
    assert desk.join(3, 1) == []
    assert desk.lines["w3"][-1] == {"type": "joined", "order": 0, "workers": []}
    assert "w3" in desk.closed
    assert desk.join(2, 1) == [events.WorkersJoined(JOB, 1)]
    assert [worker["task"] for worker in desk.last["workers"]] == [2, 3]
    assert desk.last["workers"][0] == {"task": 2, "host": "h3", "address": "a:1"}
    assert desk.send("p", type="done", order=1) == [events.JobResized(JOB, 1, 4, {2: "h3", 3: "h2"}, ())]
    assert (desk.session.size, desk.session.accepts_resize) == (4, True)


def test_a_shrink(desk: Desk) -> None:
    """Order, release, the task's end, released."""
    desk.shrink(1)
    assert desk.last == {"type": "shrink", "order": 1, "count": 1, "size": 1}
    assert desk.send("p", type="release", order=1, workers=[1]) == [events.WorkersReleased(JOB, 1, (1,))]
    assert desk.session.size == 2  # until it has ended
    assert desk.take(desk.session.ended(1, 0.0)) == [events.JobResized(JOB, 1, 1, {}, (1,))]
    assert desk.last == {"type": "released", "order": 1, "workers": []}


def test_a_shrink_with_a_preference(desk: Desk) -> None:
    """An order without one has no such field, as in release 0.1.0."""
    desk.take(desk.session.shrink(1, 0.0, (1,)))
    assert desk.last == {"type": "shrink", "order": 1, "count": 1, "size": 1, "prefer": [1]}


def test_a_worker_that_left_on_its_own_is_released_at_once(desk: Desk) -> None:
    desk.take(desk.session.ended(1, 0.0))
    desk.shrink(1)
    released = desk.send("p", type="release", order=1, workers=[1])
    assert released == [events.WorkersReleased(JOB, 1, (1,)), events.JobResized(JOB, 1, 1, {}, (1,))]


def test_numbers_of_workers_are_never_used_again(desk: Desk) -> None:
    started(desk, "h2")
    desk.take(desk.session.ended(2, 0.0))
    desk.grow("h2")
    (accepted,) = desk.send("p", type="accept", order=2)
    assert accepted == events.GrowAccepted(JOB, 2, {3: "h2"})


@pytest.mark.parametrize("kind", ["grow", "shrink"])
def test_a_refusal_has_its_reason(desk: Desk, kind: str) -> None:
    desk.grow("h2") if kind == "grow" else desk.shrink(1)
    refused = desk.send("p", type="refuse", order=1, reason="little work left")
    assert refused == [events.ResizeRefused(JOB, 1, "little work left")]
    assert (desk.session.size, desk.session.accepts_resize) == (2, True)


def test_no_answer_in_time_and_a_late_one(desk: Desk) -> None:
    desk.grow("h2")
    assert desk.session.deadline == 60
    assert desk.tick(59.9) == []
    assert desk.tick(0.1) == [events.ResizeExpired(JOB, 1, "no answer in 60 s", ())]
    assert desk.send("p", type="accept", order=1) == []
    assert desk.last == {"type": "expired", "order": 1, "reason": "this order is over"}
    assert desk.session.accepts_resize


def test_workers_that_do_not_join_in_time(desk: Desk) -> None:
    started(desk, "h2", "h3")
    desk.join(2, 1)
    assert desk.tick(50) == [events.ResizeExpired(JOB, 1, "workers 3 did not join in 50 s", (2, 3))]
    assert desk.last["type"] == "expired"
    desk.join(3, 1)
    assert desk.lines["w3"][-1]["type"] == "expired"


def test_a_program_that_never_takes_its_workers_on(desk: Desk) -> None:
    started(desk, "h2")
    desk.join(2, 1)
    assert desk.tick(600) == [events.ResizeExpired(JOB, 1, "no answer in 600 s", (2,))]


def test_an_accept_once_more_renews_the_limit(desk: Desk) -> None:
    desk.shrink(1)
    assert desk.send("p", type="accept", order=1) == []
    desk.tick(599)
    desk.send("p", type="accept", order=1)
    assert desk.tick(599) == []
    assert desk.tick(1) == [events.ResizeExpired(JOB, 1, "no answer in 600 s", ())]


@pytest.mark.parametrize("joined", [False, True], ids=["before it joined", "after"])
def test_a_worker_that_dies_ends_the_order(desk: Desk, joined: bool) -> None:
    started(desk, "h2")
    if joined:
        desk.join(2, 1)
    expired = events.ResizeExpired(JOB, 1, "worker 2 ended before it was taken on", (2,))
    assert desk.take(desk.session.ended(2, 0.0)) == [expired]
    assert desk.session.size == 2


def test_workers_that_cannot_be_started(desk: Desk) -> None:
    started(desk, "h2")
    assert desk.take(desk.session.failed("no room", 0.0)) == [events.ResizeExpired(JOB, 1, "no room", (2,))]
    assert desk.take(desk.session.failed("no room", 0.0)) == []


def test_a_refusal_after_workers_were_started_names_them(desk: Desk) -> None:
    started(desk, "h2")
    assert desk.send("p", type="refuse", order=1, reason="no") == [
        events.ResizeExpired(JOB, 1, "refused: no", (2,))
    ]


@pytest.mark.parametrize("stage", ["asked", "starting", "taking on", "moving"])
def test_a_lost_program_amid_an_order(desk: Desk, stage: str) -> None:
    if stage == "moving":
        desk.shrink(1)
        desk.send("p", type="accept", order=1)
    else:
        desk.grow("h2")
    if stage in ("starting", "taking on"):
        desk.send("p", type="accept", order=1)
    if stage == "taking on":
        desk.join(2, 1)
    assert desk.session.order is not None
    assert desk.session.order.stage.value == stage
    expired, gone = desk.take(desk.exchange.closed("p", 0.0))
    assert isinstance(expired, events.ResizeExpired)
    assert expired.workers == ((2,) if stage in ("starting", "taking on") else ())
    assert gone == events.ProgramDeregistered(JOB, "its connection was lost")
    assert not desk.session.accepts_resize


def test_a_release_is_carried_out_without_its_program(desk: Desk) -> None:
    desk.shrink(1)
    desk.send("p", type="release", order=1, workers=[1])
    assert desk.take(desk.exchange.closed("p", 0.0)) == [
        events.ProgramDeregistered(JOB, "its connection was lost")
    ]
    assert desk.take(desk.session.ended(1, 0.0)) == [events.JobResized(JOB, 1, 1, {}, (1,))]


def test_a_lost_program_comes_back_once(desk: Desk) -> None:
    desk.take(desk.exchange.closed("p", 0.0))
    assert desk.register("again") == [events.ProgramRegistered(JOB)]
    desk.take(desk.exchange.closed("again", 0.0))
    assert desk.register("third") == []
    assert "come back once before" in desk.lines["third"][-1]["reason"]


def test_a_second_connection_replaces_a_first(desk: Desk) -> None:
    left = events.ProgramDeregistered(JOB, "its connection was lost")
    assert desk.register("q") == [left, events.ProgramRegistered(JOB)]
    assert "p" in desk.closed
    desk.grow("h2")
    assert desk.lines["q"][-1]["type"] == "grow"


def test_deregistration_is_for_good(desk: Desk) -> None:
    gone = events.ProgramDeregistered(JOB, "the program deregistered")
    assert desk.send("p", type="deregister") == [gone]
    with pytest.raises(NotAccepting, match="takes no order now"):
        desk.grow("h2")
    assert desk.take(desk.exchange.closed("p", 0.0)) == []
    assert desk.register("again") == []
    assert "for good" in desk.lines["again"][-1]["reason"]


def test_a_program_that_takes_no_orders_has_a_reason() -> None:
    desk = Desk()
    assert desk.session.speaker.obstacle == "its program has not registered yet: try again"
    desk.register()
    assert desk.session.speaker.obstacle == ""
    desk.take(desk.exchange.closed("p", 0.0))
    assert desk.session.speaker.obstacle == "its program has closed or lost its connection"
    desk.register("again")
    desk.send("again", type="deregister")
    assert desk.session.speaker.obstacle == "its program has deregistered"


def test_progress_is_passed_on(desk: Desk) -> None:
    assert desk.send("p", type="progress", share=0.25) == [events.ProgressReported(JOB, 0.25)]


@pytest.mark.parametrize(("act", "more"), [("grow", 3), ("grow", 0), ("shrink", 2), ("shrink", 0)])
def test_the_job_s_range_holds(desk: Desk, act: str, more: int) -> None:
    with pytest.raises(ValueError, match="has 2 of at"):
        desk.grow(*["h"] * more) if act == "grow" else desk.shrink(more)


def test_one_order_at_a_time(desk: Desk) -> None:
    desk.grow("h2")
    with pytest.raises(NotAccepting):
        desk.shrink(1)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"type": "release", "order": 1, "workers": [0]}, "task 0 is the first place"),
        ({"type": "release", "order": 1, "workers": [9]}, "task 9 is no worker of this job"),
        ({"type": "release", "order": 1, "workers": []}, "order 1 is for 1 different workers"),
        ({"type": "release", "order": 1, "workers": [1, 1]}, "order 1 is for 1 different workers"),
        ({"type": "release", "order": 2, "workers": [1]}, "there was no order 2"),
        ({"type": "done", "order": 1}, "order 1 is not that far"),
        ({"type": "register", "version": 1, "job": JOB, "mac": ""}, "this connection has registered"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_answer_changes_nothing(desk: Desk, message: dict[str, Any], reason: str) -> None:
    desk.shrink(1)
    assert desk.send("p", **message) == []
    assert desk.last["type"] == "error"
    assert reason in desk.last["reason"]
    assert "p" not in desk.closed
    (released,) = desk.send("p", type="release", order=1, workers=[1])
    assert isinstance(released, events.WorkersReleased)


def test_one_worker_does_not_give_up_two_places(desk: Desk) -> None:
    started(desk, "h2", "h3")
    for task in (2, 3):
        desk.join(task, 1)
    desk.send("p", type="done", order=1)
    desk.shrink(2)
    assert desk.send("p", type="release", order=2, workers=[3, 3]) == []
    assert "order 2 is for 2 different workers" in desk.last["reason"]


def test_a_release_for_a_growth_and_a_second_one_are_wrong(desk: Desk) -> None:
    started(desk, "h2")
    desk.send("p", type="release", order=1, workers=[1])
    assert "does not wait for it" in desk.last["reason"]
    desk.send("p", type="refuse", order=1)
    desk.shrink(1)
    desk.send("p", type="release", order=2, workers=[1])
    desk.send("p", type="refuse", order=2)
    assert "order 2 is carried out" in desk.last["reason"]


def test_three_wrong_lines_and_it_is_hung_up_on(desk: Desk) -> None:
    for _ in range(2):
        assert desk.take(desk.exchange.received("p", b"nonsense\n", 0.0)) == []
    (gone,) = desk.take(desk.exchange.received("p", b"nonsense\nnonsense\n", 0.0))
    assert isinstance(gone, events.ProgramDeregistered)
    assert "p" in desk.closed
    assert desk.take(desk.exchange.received("p", b'{"type":"deregister"}\n', 0.0)) == []


def test_a_join_that_is_not_waited_for(desk: Desk) -> None:
    started(desk, "h2", "h3")
    desk.join(9, 1)
    assert "task 9 is none that order 1 waits for" in desk.lines["w9"][-1]["reason"]
    desk.join(2, 1)
    desk.join(2, 1, "once more")
    assert "task 2 is none" in desk.lines["once more"][-1]["reason"]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"type": "register", "version": 1, "job": JOB, "mac": "00"}, "the proof is not one of this job"),
        ({"type": "register", "version": 1, "job": "ƒ2", "mac": "00"}, "the proof is not one of this job"),
        ({"type": "join", "version": 1, "job": JOB, "mac": "", "task": 2, "order": 1}, "the proof is not"),
        ({"type": "progress", "share": 1}, "register or join comes first"),
        ({"type": "register", "version": 3, "job": JOB, "mac": "00"}, "version 3 is not spoken here"),
    ],
    ids=["forged", "another job", "forged join", "no register", "version"],
)
def test_an_unproven_peer_is_sent_the_reason_and_hung_up_on(message: dict[str, Any], reason: str) -> None:
    desk = Desk()
    desk.take(desk.exchange.opened("s"))
    assert desk.lines["s"] == [{"type": "hello", "version": 1, "nonce": "nonce"}]
    assert desk.send("s", **message) == []
    assert reason in desk.lines["s"][-1]["reason"]
    assert desk.closed == {"s"}


def test_of_too_many_silent_callers_the_oldest_goes(desk: Desk) -> None:
    for number in range(MAX_UNPROVEN + 1):
        desk.take(desk.exchange.opened(number))
    assert desk.closed == {0}
    assert desk.session.accepts_resize


def test_when_the_job_has_ended_its_program_is_hung_up_on(desk: Desk) -> None:
    assert desk.take(desk.exchange.remove(JOB)) == []
    assert desk.closed == {"p"}
    assert desk.register("late") == []


def test_the_token_is_in_no_traceback(desk: Desk) -> None:
    assert TOKEN not in repr(desk.session)
