"""Which connection has to make room for another one."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from minicluster.lead_server.connections import MAX_READERS, Connections

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.lead_server.connections import Connection

UNPROVEN, READER, OPERATOR = "unproven", "reader", "operator"
ROOM = [
    pytest.param([OPERATOR, READER, UNPROVEN, UNPROVEN], 2, id="the oldest unproven one"),
    pytest.param([UNPROVEN, OPERATOR, READER, READER], 0, id="an unproven one before readers"),
    pytest.param([OPERATOR, READER, OPERATOR, READER], 1, id="the oldest reader"),
    pytest.param([OPERATOR, OPERATOR, OPERATOR, OPERATOR], 0, id="the oldest of all"),
]


class Pool:
    """Four places, two of them for readers of metrics."""

    def __init__(self) -> None:
        self.connections = Connections(4, most_readers=2)
        self.admitted: list[Connection] = []
        self.others: list[socket.socket] = []

    def add(self, who: str) -> Connection:
        """Have a client connect, and prove who it is."""
        here, other = socket.socketpair()
        self.others.append(other)
        connection = self.connections.admit(here)
        self.admitted.append(connection)
        if who != UNPROVEN:
            connection.prove(is_reader=who == READER)
        return connection

    def ended(self) -> list[int]:
        """Return which clients, in their order, have lost their connections."""
        for each in self.others:
            each.setblocking(False)
        return [position for position, each in enumerate(self.others) if _is_ended(each)]

    def close(self) -> None:
        """Close every socket."""
        for each in (*self.admitted, *self.others):
            each.close()


def _is_ended(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.close()


@pytest.mark.parametrize(("there", "ended"), ROOM)
def test_a_new_connection_replaces(pool: Pool, there: list[str], ended: int) -> None:
    for who in [*there, UNPROVEN]:
        pool.add(who)
    assert pool.ended() == [ended]


def test_a_reader_too_many_replaces_the_oldest_reader(pool: Pool) -> None:
    for who in (OPERATOR, READER, READER, READER):
        pool.add(who)
    assert pool.ended() == [1]


def test_a_reader_that_asks_again_replaces_nobody(pool: Pool) -> None:
    pool.add(READER)
    reader = pool.add(READER)
    reader.prove(is_reader=True)
    assert pool.ended() == []


def test_64_readers_replace_no_operator(pool: Pool) -> None:
    """By the limits that a lead has: its watch is the oldest of all connections."""
    pool.connections = Connections()
    pool.add(OPERATOR)
    for _ in range(64):
        pool.add(READER)
    assert 0 not in pool.ended()
    assert len(pool.ended()) == 64 - MAX_READERS
