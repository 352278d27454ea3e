"""A reader who is cut off fifty times, of an instance that is lost five times, has every byte once."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.client.event_stream import EventParser
from minicluster.instance.connection import connect
from minicluster.instance.records import JobRequest
from restful.jobs.output.followed import Followed
from tests.embedded.conftest import Instance
from tests.restful.output.driver import request
from tests.restful.output.scripted import Script
from tests.restful.output.service import OUTPUT, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from restful.jobs.output.endings import FeedEnd
    from tests.restful.output.service import Service

CUTS = 50
LOSSES = 5
TASKS = 4


class Client:
    """Reads events; those of an entry count once its id has come, as the others will come again."""

    def __init__(self) -> None:
        self.written = dict.fromkeys(range(TASKS), b"")
        self.parser = EventParser()
        self.ended: list[str] = []
        self._pending: list[tuple[int, bytes]] = []

    def take(self, body: bytes) -> None:
        """Read what came over one connection."""
        self.parser.reset()
        self._pending.clear()
        last = self.parser.last_event_id
        for event in self.parser.feed(body):
            data = json.loads(event.data)
            if event.name == "end":
                self.ended.append(data["result"])
                continue
            bytes_ = data["text"].encode() if "text" in data else base64.b64decode(data["base64"])
            self._pending.append((data["task"], bytes_))
            if event.id != last:
                last = event.id
                for task, part in self._pending:
                    self.written[task] += part
                self._pending.clear()

    async def follow(
        self, service: Service, cut: int | None, meanwhile: Callable[[], object] | None = None
    ) -> int:
        """Follow over one connection, during which something else happens; return the status."""
        headers = {"Last-Event-ID": self.parser.last_event_id}
        exchange = request(service.app, OUTPUT + "?format=sse", cut=cut, headers=headers)
        if meanwhile is not None:
            await exchange.has(b"data")
            await asyncio.to_thread(meanwhile)
        await exchange.ended()
        self.take(exchange.body)
        return exchange.status


async def _read_all(service: Service, size: int, lose: Callable[[], object]) -> Client:
    """Follow with cuts, one in ten with a lost instance, then to the end, then once more."""
    random_numbers, client = random.Random(7), Client()
    for number in range(CUTS):
        lost = number % (CUTS // LOSSES) == 5
        cut = size // CUTS if lost else random_numbers.randint(1, 2 * size // CUTS)
        await client.follow(service, cut, lose if lost else None)
    assert await client.follow(service, None) == 200
    assert await client.follow(service, None) == 204
    return client


def test_a_scripted_job_is_read_whole() -> None:
    """Entries of several tasks, which one connection sees in part."""
    random_numbers, script = random.Random(3), Script()
    files = dict.fromkeys(range(TASKS), b"")
    for _ in range(2500):
        size = random_numbers.randint(1, 60)
        parts = [(task, "stdout", random_numbers.randbytes(size) + b"\n") for task in files]
        for task, _, data in parts:
            files[task] += data
        script.write(*parts)
    script.finish()

    def lose() -> None:
        script.lose()
        script.come_back()

    async def check() -> None:
        async with serving(script, ring_bytes=16_000, batch_bytes=4_000) as service:
            client = await _read_all(service, 700_000, lose)
            assert client.ended == ["completed"]
            assert client.written == files

    asyncio.run(check())


PROGRAM = """
import os, random, sys
rank = int(os.environ["FLUX_TASK_RANK"])
numbers = random.Random(rank)
with open(f"{sys.argv[1]}/{rank}", "wb") as file:
    for number in range(25_000):
        line = b"%d %d " % (rank, number) + numbers.randbytes(numbers.randint(0, 30)) + b"\\n"
        file.write(line)
        sys.stdout.buffer.write(line)
"""


@pytest.fixture
def instance() -> Iterator[Instance]:
    with tempfile.TemporaryDirectory(prefix="mc-") as directory:
        found = Instance(Path(directory), 1, "0-3").up()
        yield found
        found.close()


def test_a_job_of_the_embedded_instance_is_read_whole(instance: Instance) -> None:
    """10^5 lines of four tasks, with bytes that are no text, as each task also writes them to a file."""
    connections = [connect(instance.uri, "embedded")]
    (instance.directory / "files").mkdir()
    command = (sys.executable, "-c", PROGRAM, str(instance.directory / "files"))
    jobid = connections[-1].jobs.submit(JobRequest(command, tasks=TASKS, environment=instance.env))

    def lose() -> None:
        """Hang up in the middle of what is read: the feed sees its stream end in silence."""
        connections.append(connect(instance.uri, "embedded"))
        connections[-2].close()

    class Job:
        streams: tuple[FeedEnd, ...] = ()

        def followed(self) -> Followed:
            return Followed(("mc", jobid), jobid, lambda: connections[-1].jobs, lambda _id: None)

    async def check() -> None:
        async with serving(Job()) as service:
            client = await _read_all(service, 4_000_000, lose)
            assert client.ended == ["completed"]
            files = {task: (instance.directory / "files" / str(task)).read_bytes() for task in range(TASKS)}
            assert client.written == files

    asyncio.run(check())
    connections[-1].close()
