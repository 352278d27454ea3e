"""Channels between tasks: who is let in, what comes out, and what is said of those who are gone."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING

import pytest

from minicluster.malleable import GONE, Team, TeamError, events
from minicluster.malleable.link import split_address
from minicluster.malleable.pmi import Pmi

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.malleable.played import Played

TIMEOUT = 240.0


@pytest.fixture
def team() -> Iterator[Callable[..., Team]]:
    """Make a task's end of a team; they are closed after the test."""
    made: list[Team] = []

    def make(number: int, key: str = "key") -> Team:
        made.append(Team(number, key))
        for one in made:
            one.admit({other.number: other.address for other in made})
        return made[-1]

    yield make
    for one in made:
        one.close()


class PmiServer:
    """A launcher's side of PMI-1 for some tasks on this machine."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.values: dict[str, str] = {}
        self.barrier = threading.Barrier(size)
        self.lock = threading.Lock()
        pairs = [socket.socketpair() for _ in range(size)]
        self.ends = [theirs for _, theirs in pairs]
        for ours, _ in pairs:
            threading.Thread(target=self._serve, args=(ours,), daemon=True).start()

    def environment(self, rank: int) -> dict[str, str]:
        return {"PMI_FD": str(self.ends[rank].fileno()), "PMI_RANK": str(rank), "PMI_SIZE": str(self.size)}

    def close(self) -> None:
        for end in self.ends:
            end.close()

    def _serve(self, ours: socket.socket) -> None:
        with ours, ours.makefile("rw") as stream:
            for line in stream:
                words = dict(word.partition("=")[::2] for word in line.split())
                stream.write(f"{self._answer(words)}\n")
                stream.flush()

    def _answer(self, words: dict[str, str]) -> str:
        if words["cmd"] == "put":
            with self.lock:
                self.values[words["key"]] = words["value"]
            return "cmd=put_result rc=0"
        if words["cmd"] == "barrier_in":
            self.barrier.wait(TIMEOUT)
            return "cmd=barrier_out rc=0"
        if words["cmd"] == "get":
            found = self.values.get(words["key"])
            return "cmd=get_result rc=4" if found is None else f"cmd=get_result rc=0 value={found}"
        plain = {
            "init": "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1",
            "get_my_kvsname": "cmd=my_kvsname rc=0 kvsname=played",
            "finalize": "cmd=finalize_ack rc=0",
        }
        return plain[words["cmd"]]


def test_frames_of_a_task_arrive_whole_and_in_order(team: Callable[..., Team]) -> None:
    one, two = team(1), team(2)
    for number in range(50):
        one.send(2, "rows", bytes(number) * 1000, first=number)
    for number in range(50):
        frame = two.receive(TIMEOUT)
        assert frame is not None
        assert (frame.sender, frame.kind, frame.fields) == (1, "rows", {"first": number})
        assert frame.body == bytes(number) * 1000


def test_large_data_both_ways_at_once_do_not_block(team: Callable[..., Team]) -> None:
    one, two = team(1), team(2)
    data = memoryview(bytearray(8 << 20)).cast("d")
    one.send(2, "block", data)
    two.send(1, "block", data)
    for end in (one, two):
        frame = end.receive(TIMEOUT)
        assert frame is not None
        assert len(frame.body) == 8 << 20


def test_a_task_can_send_to_itself(team: Callable[..., Team]) -> None:
    one = team(1)
    data = bytearray(b"now")
    one.send(1, "note", data)
    data[:] = b"new"  # as with others, what was sent is what it was then
    frame = one.receive(TIMEOUT)
    assert frame is not None
    assert frame.body == b"now"


def test_nothing_comes_in_time(team: Callable[..., Team]) -> None:
    assert team(1).receive(0) is None
    assert team(2).receive(0.001) is None


def test_a_task_that_is_gone_is_reported(team: Callable[..., Team]) -> None:
    one, two = team(1), team(2)
    one.send(2, "hello")
    next(iter(one._out.values())).shutdown(socket.SHUT_RDWR)  # as the kernel does when a process dies
    assert [getattr(two.receive(TIMEOUT), "kind", None) for _ in range(2)] == ["hello", GONE]
    gone = one.receive(TIMEOUT)
    assert gone is not None
    assert (gone.sender, gone.kind) == (2, GONE)  # who only sends notices it as well


def test_a_task_that_takes_its_leave_is_not(team: Callable[..., Team]) -> None:
    one, two, three = team(1), team(2), team(3)
    one.send(2, "hello")
    one.dismiss(2)
    assert one.others == [3]
    three.send(2, "later")
    assert {getattr(two.receive(TIMEOUT), "kind", None) for _ in range(2)} == {"hello", "later"}
    assert two.receive(0) is None


def test_a_task_that_has_left_cannot_be_reached(team: Callable[..., Team]) -> None:
    one, two = team(1), team(2)
    one.send(2, "hello")
    two.close()
    while one._out:  # its farewell has not come yet
        time.sleep(0.01)
    with pytest.raises(TeamError, match=f"task 2 at {two.address} cannot be reached: .* Connection refused"):
        one.send(2, "hello")


def test_an_unproven_peer_is_ignored(team: Callable[..., Team]) -> None:
    one, unproven = team(1), Team(7, "another key")
    unproven.admit({1: one.address})
    with contextlib.suppress(TeamError):  # it may have been hung up on already
        unproven.send(1, "trust me")
    team(2).send(1, "hello")
    frame = one.receive(TIMEOUT)
    assert frame is not None
    assert frame.kind == "hello"
    unproven.close()


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n\r\n", struct.pack(">IQ", 4, 1 << 40), b"x" * 100])
def test_what_is_no_frame_is_hung_up_on(team: Callable[..., Team], first: bytes) -> None:
    one = team(1)
    with socket.create_connection(split_address(one.address), timeout=TIMEOUT) as connection:
        connection.sendall(first)
        with contextlib.suppress(ConnectionResetError):  # it has not read everything
            while connection.recv(4096):
                pass
    assert one.receive(0) is None


def test_an_unknown_task_is_named(team: Callable[..., Team]) -> None:
    with pytest.raises(TeamError, match=r"there is no task 9; known are \[1\]"):
        team(1).send(9, "hello")


def test_a_task_that_cannot_be_reached_is_named(team: Callable[..., Team]) -> None:
    one = team(1)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    one.admit({2: address})
    with pytest.raises(TeamError, match=f"task 2 at {address} cannot be reached"):
        one.send(2, "hello")


def together(size: int) -> dict[int, Team]:
    """Open the team of tasks that start together."""
    server = PmiServer(size)
    teams: dict[int, Team] = {}

    def open_one(rank: int) -> None:
        teams[rank] = Team.open({**server.environment(rank), "FLUX_TASK_RANK": str(rank)})

    threads = [threading.Thread(target=open_one, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    server.close()
    return teams


def test_tasks_that_start_together_find_each_other() -> None:
    """By PMI, without an instance: the first task's key counts for all."""
    teams = together(3)
    assert teams[0].others == [1, 2]
    teams[2].send(1, "hello")
    frame = teams[1].receive(TIMEOUT)
    assert frame is not None
    assert frame.sender == 2
    for team in teams.values():
        team.close()


def crash(team: Team) -> None:
    """Have its connections end as the kernel does when a process dies."""
    for connection in (*team._in, *team._out.values()):
        connection.shutdown(socket.SHUT_RDWR)


def test_a_worker_that_waits_on_without_its_first_task_is_ended() -> None:
    """Also where that had sent nothing before it crashed, and where its loop takes no notice."""
    teams = together(2)
    crash(teams[0])
    gone = teams[1].receive(TIMEOUT)
    assert gone is not None
    assert (gone.sender, gone.kind) == (0, GONE)
    with pytest.raises(TeamError, match="task 0 is gone; a worker ends when it receives 'gone'"):
        teams[1].receive(TIMEOUT)
    for team in teams.values():
        team.close()


def test_a_worker_goes_on_without_another_worker(team: Callable[..., Team]) -> None:
    one, two = team(1), team(2)
    two.send(1, "hello")
    crash(two)
    assert [getattr(one.receive(TIMEOUT), "kind", None) for _ in range(2)] == ["hello", GONE]
    assert one.receive(0) is None


def test_a_first_task_that_closes_its_team_is_not_gone() -> None:
    teams = together(2)
    teams[0].send(1, "leave")
    teams[0].close()
    frame = teams[1].receive(TIMEOUT)
    assert frame is not None
    assert frame.kind == "leave"
    while teams[1]._out:  # the goodbye has not come yet
        time.sleep(0.01)
    assert teams[1].receive(0) is None
    teams[1].close()


def test_the_end_of_a_worker_that_was_dismissed_is_no_loss() -> None:
    """Also where the worker had connected, and is killed."""
    teams = together(2)
    teams[1].send(0, "left")
    assert getattr(teams[0].receive(TIMEOUT), "kind", None) == "left"
    teams[0].dismiss(1)
    (connection,) = teams[0]._in
    crash(teams[1])
    while connection in teams[0]._in:  # its end has not come yet
        time.sleep(0.01)
    assert teams[0].receive(0.05) is None
    for team in teams.values():
        team.close()


def test_a_second_exchange_does_not_disturb_who_is_still_reading_the_first() -> None:
    """A value is put under a key of its own each time."""
    server = PmiServer(1)
    pmi = Pmi(server.environment(0))
    assert (pmi.exchange("one"), pmi.exchange("two")) == (["one"], ["two"])
    assert sorted(server.values.values()) == ["one", "two"]
    pmi.close()
    server.close()


def test_without_a_launcher_a_task_is_alone() -> None:
    alone = Team.open({})
    assert (alone.number, alone.others) == (0, [])
    alone.close()


def test_what_pmi_refuses_is_reported() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"cmd=response_to_init rc=-1\n")
        with pytest.raises(
            TeamError, match=r"PMI: 'cmd=init .*' was answered with 'cmd=response_to_init rc=-1'"
        ):
            Pmi({"PMI_FD": str(theirs.fileno())})


def test_a_started_worker_comes_in_by_the_instance(play: Callable[..., Played]) -> None:
    """It tells the instance where it listens; with the job's token as their key both ends agree."""
    played = play(size=1)
    first = Team.open(played.environment())
    session = played.session
    from minicluster.malleable import Hooks, Program  # noqa: PLC0415 - this test alone

    class Admit(Hooks):
        def after_grow(self, workers: object) -> None:
            first.admit({member.task: member.address for member in workers})

        def before_shrink(self, order: object) -> list[int]:
            return []

    with Program(Admit(), played.environment()) as program:
        played.grow("h1")
        program.poll(TIMEOUT)
        order = played.expect(events.GrowAccepted).order
        worker = Team.open(played.environment(1, order))
        assert program.poll(TIMEOUT)
        first.send(1, "welcome")
        frame = worker.receive(TIMEOUT)
        assert frame is not None
        assert frame.kind == "welcome"
        worker.send(0, "thanks")  # it knows where from
        frame = first.receive(TIMEOUT)
        assert frame is not None
        assert (frame.sender, frame.kind) == (1, "thanks")
        played.expect(events.JobResized)
        assert session.size == 2
    worker.close()
    first.close()
