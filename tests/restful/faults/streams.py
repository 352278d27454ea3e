"""The output of four tasks, read over many connections while readers, service and instance end."""

from __future__ import annotations

import shutil
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import requests

from minicluster.client import Client
from minicluster.client.retries import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory
    from tests.restful.faults.service_process import MortalService

TASKS = 4
PATIENT = RetryPolicy(seconds=120.0, first=0.05, most=1.0)
SECONDS = 600.0
PROGRAM = """
import os, random, sys
rank = int(os.environ["FLUX_TASK_RANK"])
numbers = random.Random(rank)
with open(f"{sys.argv[1]}/{rank}", "wb") as file:
    for number in range(int(sys.argv[2])):
        line = b"%d %d " % (rank, number) + numbers.randbytes(numbers.randint(0, 30)) + b"\\n"
        file.write(line)
        sys.stdout.buffer.write(line)
"""
LINE_BYTES = 27
"""Of one line, about."""


@dataclass
class Reading:
    """What has been read, up to the last whole entry: all that a reader who is killed leaves behind."""

    url: str
    token: str
    job: str
    last: int = -1
    written: dict[int, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    connections: int = 0

    def some(self, size: int, meanwhile: Callable[[], object] | None = None) -> bool:
        """Read about so many bytes, then end as one who is killed; return whether that was all."""
        read, entry = 0, list[tuple[int, bytes]]()
        self.connections += 1
        with Client(self.url, self.token, retry=PATIENT) as client:
            output = client.job("mc", self.job).output(after=self.last)
            for chunk in output:
                entry.append((chunk.task, chunk.data))
                read += len(chunk.data)
                if chunk.last:
                    for task, data in entry:
                        self.written[task] += data
                    self.last = chunk.sequence
                    entry.clear()
                if read > size // 2 and meanwhile is not None:
                    meanwhile()
                    meanwhile = None
                if read > size:
                    return False
        return True


def submitted(url: str, token: str, files: Path, lines: int) -> str:
    """Submit the job, and return its id; its tasks write their lines to files as well."""
    files.mkdir()
    command = [sys.executable, "-c", PROGRAM, str(files), str(lines // TASKS)]
    with Client(url, token, retry=PATIENT) as client:
        return client.submit("mc", command, tasks=TASKS).id


def restart(laboratory: Laboratory, url: str, token: str, job: str) -> None:
    """Restart the instance once the job has ended, from a dump."""
    with Client(url, token, retry=PATIENT) as client:
        client.job("mc", job).wait(SECONDS)
    dump = laboratory.folder / "dump"
    with laboratory.connect() as instance:
        instance.life.dump(str(dump))
    laboratory.stop()
    shutil.rmtree(laboratory.folder / "0")
    laboratory.start(f"-Scontent.restore={dump}")


def read_all(
    laboratory: Laboratory, service: MortalService, lines: int, kills: int, restarts: int
) -> tuple[Reading, int]:
    """Read a job's output; return it, and the status of one more request behind its end."""
    url, numbers = f"http://127.0.0.1:{service.port}", Random(11)
    token = service.token
    reading = Reading(url, token, submitted(url, token, laboratory.folder / "files", lines))
    size = lines * LINE_BYTES // (kills + 10)
    for number in range(kills):
        dies = number % (kills // restarts) == kills // restarts // 2
        reading.some(numbers.randint(1, 2 * size) if not dies else size, service.kill if dies else None)
        if number == kills // 2:
            restart(laboratory, url, token, reading.job)
    while not reading.some(1 << 40):
        pass
    return reading, _behind_the_end(url, token, reading.job)


def _behind_the_end(url: str, token: str, job: str) -> int:
    headers = {"Authorization": f"Bearer {token}", "Last-Event-ID": "end"}
    answer = requests.get(
        f"{url}/v2/clusters/mc/jobs/{job}/output?format=sse", headers=headers, timeout=SECONDS
    )
    return answer.status_code


def files_of(laboratory: Laboratory) -> dict[int, bytes]:
    """Return what each task wrote itself."""
    return {task: (laboratory.folder / "files" / str(task)).read_bytes() for task in range(TASKS)}
