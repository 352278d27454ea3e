"""The client reads the output that the service's routes give, each byte once."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.client import Client
from minicluster.client.errors import NotFound
from tests.client.loopback import on_loopback
from tests.restful.output.scripted import Script
from tests.restful.output.service import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from fastapi import FastAPI


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def client(script: Script) -> Iterator[Client]:
    @contextlib.asynccontextmanager
    async def app() -> AsyncIterator[FastAPI]:
        async with serving(script) as service:
            yield service.app

    with on_loopback(app) as url, Client(url, "alice") as found:
        yield found


def test_output_up_to_the_end(client: Client, script: Script) -> None:
    """What is there, and what comes; text, bytes, and entries of several tasks."""
    script.write((0, "stdout", b"first\n"))
    output: Any = client.job("mc", "7").output()
    read = [next(output)]
    script.write((0, "stdout", "🥞".encode()[:2]), (1, "stderr", b"\xff\0"))
    script.write((0, "stdout", "🥞".encode()[2:]), (0, "log", b"exit 3\n"))
    script.finish(waitstatus=3 << 8)
    read += output
    assert [(each.sequence, each.task, each.stream, each.data, each.last) for each in read] == [
        (0, 0, "stdout", b"first\n", True),
        (1, 0, "stdout", "🥞".encode()[:2], False),
        (1, 1, "stderr", b"\xff\0", True),
        (2, 0, "stdout", "🥞".encode()[2:], False),
        (2, 0, "log", b"exit 3\n", True),
    ]
    assert (output.end["returncode"], output.moved_to) == (3, None)


def test_output_behind_an_entry(client: Client, script: Script) -> None:
    for number in range(4):
        script.write((number % 2, "stdout", b"%d" % number))
    script.finish()
    job = client.job("mc", "7")
    assert [each.data for each in job.output(after=1)] == [b"2", b"3"]
    assert [each.data for each in job.output(tasks="1")] == [b"1", b"3"]
    assert [each.data for each in job.output(streams=["stderr"])] == []


def test_output_that_is_there_now(client: Client, script: Script) -> None:
    script.write((0, "stdout", b"a"), (1, "stdout", b"\xff"))
    found = list(client.job("mc", "7").output(follow=False))
    assert [(each.sequence, each.data, each.last) for each in found] == [(0, b"a", False), (0, b"\xff", True)]


def test_a_job_that_was_restarted_names_the_next(client: Client, script: Script) -> None:
    script.successor = 1000
    script.finish()
    output: Any = client.job("mc", "7").output()
    assert (list(output), output.moved_to) == ([], "ƒJF")


def test_events(client: Client, script: Script) -> None:
    script.happen("submit", urgency=16)
    script.finish()
    (found,) = client.job("mc", "7").events()
    assert (found.name, found.context) == ("submit", {"urgency": 16})


def test_no_such_job(client: Client) -> None:
    with pytest.raises(NotFound):
        next(client.job("mc", "8").output())
