"""The library against a played instance over real sockets: what programs and workers hear and answer."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from minicluster.malleable import Program, Rejected, Worker, events, messages
from minicluster.malleable.credentials import Credentials
from tests.malleable.recording import RecordingHooks, joins, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from minicluster.malleable import Shrink
    from tests.malleable.played import Played


@pytest.fixture
def hooks() -> RecordingHooks:
    """Hooks that keep what they were called with."""
    return RecordingHooks()


def test_a_run_without_an_instance_is_a_rigid_one(hooks: RecordingHooks) -> None:
    with Program(hooks, {}) as program:
        assert not program.malleable
        assert program.poll() is False
        program.progress(0.5)
        program.deregister()
    assert hooks.called == []


def test_a_program_knows_its_size(play: Callable[..., Played], hooks: RecordingHooks) -> None:
    played = play(least=1, most=4, size=2)
    with Program(hooks, played.environment()) as program:
        assert (program.size, program.least, program.most) == (2, 1, 4)
        played.expect(events.ProgramRegistered)
    played.expect(events.ProgramDeregistered)


def test_growth(play: Callable[..., Played], hooks: RecordingHooks) -> None:
    """Hooks are called before and after, with the workers' addresses; then the growth is acknowledged."""
    box: list[Played] = []
    box.append(play(size=1, start=joins(box)))
    with Program(hooks, box[0].environment()) as program:
        box[0].grow("h3", "h4")
        until(program, lambda: program.size == 3)
        resized = box[0].expect(events.JobResized)
    assert hooks.called == [("before_grow", ("h3", "h4")), ("after_grow", (1, "addr1"), (2, "addr2"))]
    assert (resized.size, resized.gained) == (3, {1: "h3", 2: "h4"})


def test_a_shrink(play: Callable[..., Played], hooks: RecordingHooks) -> None:
    """The program names who leaves, and hears when they have ended."""
    played = play(size=4)
    with Program(hooks, played.environment()) as program:
        played.shrink(2)
        assert program.poll(30) is False
        assert played.expect(events.WorkersReleased).workers == (3, 2)
        played.ended(3, 2)
        until(program, lambda: program.size == 2)
    assert hooks.called == [("before_shrink", 2), ("after_shrink", 3, 2)]


def test_a_preference_reaches_the_hook(play: Callable[..., Played]) -> None:
    """The program may follow it."""

    class Obliging(RecordingHooks):
        def before_shrink(self, order: Shrink) -> Sequence[int]:
            return order.prefer[: order.count]

    played = play(size=4)
    with Program(Obliging(), played.environment()) as program:
        played.shrink(2, (2, 1, 3))
        program.poll(30)
        assert played.expect(events.WorkersReleased).workers == (2, 1)


@pytest.mark.parametrize("hook", ["before_grow", "before_shrink"])
def test_a_hook_refuses_with_its_reason(
    play: Callable[..., Played], hooks: RecordingHooks, hook: str
) -> None:
    hooks.refuses = hook
    played = play(size=2)
    with Program(hooks, played.environment()) as program:
        played.grow("h3") if hook == "before_grow" else played.shrink()
        program.poll(30)
        assert played.expect(events.ResizeRefused).reason == "little work left"
        assert program.size == 2


def test_a_refusal_once_the_workers_are_there_ends_them(
    play: Callable[..., Played], hooks: RecordingHooks
) -> None:
    hooks.refuses = "after_grow"
    box: list[Played] = []
    box.append(play(size=1, start=joins(box)))
    with Program(hooks, box[0].environment()) as program:
        box[0].grow("h3")
        until(program, lambda: len(hooks.called) == 2)
        assert box[0].expect(events.ResizeExpired).workers == (1,)
        assert program.size == 1


def test_a_program_that_never_answers_keeps_its_size(
    play: Callable[..., Played], hooks: RecordingHooks
) -> None:
    """And what it answers late changes nothing."""
    played = play(size=4)
    with Program(hooks, played.environment()) as program:
        played.shrink()
        played.later(61)
        assert played.expect(events.ResizeExpired).reason == "no answer in 60 s"
        program.poll(30)
        played.shrink()
        until(program, lambda: hooks.called)
        assert hooks.called == [("before_shrink", 1)]  # the first one is read together with its end


def test_workers_given_up_too_late_go_with_the_next_order(
    play: Callable[..., Played], hooks: RecordingHooks
) -> None:
    """Their data are away and they have left: the instance holds their resources until it asks again."""
    played = play(size=4)

    class Late(RecordingHooks):
        def before_shrink(self, order: Shrink) -> Sequence[int]:
            chosen = super().before_shrink(order)
            played.wait(lambda: played.stage == "moving", "that it is at work")
            played.later(601)
            return chosen

    late = Late()
    with Program(late, played.environment()) as program:
        played.shrink(1)
        program.poll(30)
        played.ended(3)
        until(program, lambda: ("expired", 1, "no answer in 600 s") in late.called)
        assert played.session.size == 4
        played.shrink(1)
        until(program, lambda: program.size == 3)
        assert played.expect(events.JobResized).lost == (3,)
    assert [name for name, *_ in late.called] == ["before_shrink", "expired", "after_shrink"]


def test_a_worker_that_dies_before_it_joins(play: Callable[..., Played], hooks: RecordingHooks) -> None:
    played = play(size=1)
    with Program(hooks, played.environment()) as program:
        played.grow("h3")
        program.poll(30)
        played.expect(events.GrowAccepted)
        played.ended(1)
        until(program, lambda: len(hooks.called) == 2)
        assert hooks.called[1] == ("expired", 1, "worker 1 ended before it was taken on")
        assert (program.size, played.session.accepts_resize) == (1, True)


def test_workers_that_are_late_are_rejected(play: Callable[..., Played], hooks: RecordingHooks) -> None:
    played = play(size=1)
    with Program(hooks, played.environment()) as program:
        played.grow("h3")
        program.poll(30)
        played.expect(events.GrowAccepted)
        played.later(61)
        with pytest.raises(Rejected, match="this order is over"):
            Worker.from_environment(played.environment(1, 1)).join("addr1")


def test_a_program_that_dies_half_way(play: Callable[..., Played], hooks: RecordingHooks) -> None:
    """Its workers are named, and its job is rigid from then on."""
    box: list[Played] = []
    box.append(play(size=1, start=joins(box)))
    program = Program(hooks, box[0].environment())
    box[0].grow("h3")
    program.poll(30)
    box[0].expect(events.WorkersJoined)
    program.close()
    assert box[0].expect(events.ResizeExpired).workers == (1,)
    box[0].expect(events.ProgramDeregistered)
    assert not box[0].session.accepts_resize


def test_a_lost_connection_is_made_again_once(play: Callable[..., Played], hooks: RecordingHooks) -> None:
    played = play(size=4)
    with Program(hooks, played.environment()) as program:
        played.hang_up()
        program.poll(30)
        played.expect(events.ProgramRegistered, 2)
        assert program.malleable
        played.hang_up()
        program.poll(30)
        assert not program.malleable
        assert program.poll() is False


def test_an_order_is_over_when_the_connection_is_lost(
    play: Callable[..., Played], hooks: RecordingHooks
) -> None:
    played = play(size=1)
    with Program(hooks, played.environment()) as program:
        played.grow("h3")
        program.poll(30)
        played.expect(events.GrowAccepted)
        played.hang_up()
        program.poll(30)
        assert hooks.called[-1] == ("expired", 1, "the connection to the instance was lost")
        played.grow("h3")
        until(program, lambda: hooks.called[-1] == ("before_grow", ("h3",)))


def test_a_release_is_not_forgotten_with_the_connection(
    play: Callable[..., Played], hooks: RecordingHooks
) -> None:
    played = play(size=4)
    with Program(hooks, played.environment()) as program:
        played.shrink(1)
        program.poll(30)
        played.expect(events.WorkersReleased)
        played.hang_up()
        program.poll(30)
        played.ended(3)
        until(program, lambda: program.size == 3)
    assert hooks.called == [("before_shrink", 1), ("after_shrink", 3)]


def test_a_program_is_not_taken_with_another_job_s_token(
    play: Callable[..., Played], hooks: RecordingHooks
) -> None:
    played = play()
    played.path.write_text(played.path.read_text().replace(played.credentials.token, "0" * 64))
    with pytest.raises(Rejected, match="ƒplayed: register: the proof is not one of this job"):
        Program(hooks, played.environment())


def test_progress_is_passed_on_a_few_times_a_second(
    play: Callable[..., Played], hooks: RecordingHooks
) -> None:
    played = play()
    with Program(hooks, played.environment()) as program:
        for step in range(1001):
            program.progress(step / 1000)
        played.wait(lambda: events.ProgressReported("ƒplayed", 1.0) in played.events, "the last report")
        assert sum(isinstance(event, events.ProgressReported) for event in played.events) < 1001


def test_deregistration(play: Callable[..., Played], hooks: RecordingHooks) -> None:
    played = play(size=2)
    with Program(hooks, played.environment()) as program:
        program.deregister()
        assert played.expect(events.ProgramDeregistered).reason == "the program deregistered"
        assert not program.malleable


def test_a_thread_of_its_own_may_poll(play: Callable[..., Played], hooks: RecordingHooks) -> None:
    """Closing wakes it; progress may be told meanwhile."""
    played = play(size=4)
    program = Program(hooks, played.environment())

    def listen() -> None:
        while program.malleable:
            program.poll(60)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    played.shrink(1)
    played.expect(events.WorkersReleased)
    program.progress(0.5)
    played.expect(events.ProgressReported)
    program.close()
    thread.join(60)
    assert not thread.is_alive()


def test_only_a_started_worker_joins(play: Callable[..., Played]) -> None:
    with pytest.raises(Rejected, match="only a worker that an order has started"):
        Worker.from_environment(play().environment(1)).join("addr")


def test_workers_that_were_lost_are_counted_no_more(
    play: Callable[..., Played], hooks: RecordingHooks
) -> None:
    """`poll` returns that the size has changed; no hook is called, as no order was for it."""
    played = play(size=4)
    with Program(hooks, played.environment()) as program:
        played.lost(3)
        assert program.poll(30) is True
        assert (program.size, sorted(program.workers), hooks.called) == (3, [0, 1, 2], [])
        played.shrink(1)
        with pytest.raises(ValueError, match=r"returned \[3\]: expected 1 of \[1, 2\]"):
            program.poll(30)


def test_another_task_is_no_program(play: Callable[..., Played], hooks: RecordingHooks) -> None:
    """And the first one keeps its connection."""
    played = play(size=4)
    with Program(hooks, played.environment()) as program:
        with pytest.raises(Rejected, match=r"^task 2 registered: only task 0 may; added tasks join$"):
            Program(hooks, played.environment(2))
        played.shrink(1)
        assert program.poll(30) is False
        assert hooks.called == [("before_shrink", 1)]


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[Callable[[bytes], dict[str, str]]]:
    """Make something that says these bytes to whoever connects, and hangs up; return a task's environment."""
    listener = socket.create_server(("127.0.0.1", 0))

    def make(greeting: bytes) -> dict[str, str]:
        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(greeting)

        threading.Thread(target=answer, daemon=True).start()
        path = tmp_path / "strange.json"
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        path.write_text(Credentials(address, "ƒstrange", "t").text())
        return {"MINICLUSTER_MALLEABLE": str(path)}

    yield make
    listener.close()


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        pytest.param(b'{"type":"hello","version":9,"nonce":"n"}\n', "does not speak version 1", id="version"),
        pytest.param(b'{"type":"released","order":1}\n', "does not speak version 1", id="no hello"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n", "a line is not JSON", id="another protocol"),
        pytest.param(b"", "has hung up", id="silence"),
    ],
)
def test_what_is_no_instance_is_not_taken_for_one(
    strange: Callable[[bytes], dict[str, str]], hooks: RecordingHooks, greeting: bytes, reason: str
) -> None:
    with pytest.raises((Rejected, ConnectionError), match=reason):
        Program(hooks, strange(greeting))


def test_an_instance_that_is_not_there(hooks: RecordingHooks, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(Credentials("nonsense", "ƒ", "t").text())
    with pytest.raises(Rejected, match="not host:port: 'nonsense'"):
        Program(hooks, {"MINICLUSTER_MALLEABLE": str(path)})


def test_mistakes_are_logged(
    play: Callable[..., Played], hooks: RecordingHooks, caplog: pytest.LogCaptureFixture
) -> None:
    played = play()
    with Program(hooks, played.environment()) as program:
        assert program._link is not None
        program._link.send(messages.Done(3))
        program.poll(30)
    assert "the instance found a mistake: done: there was no order 3" in caplog.text
