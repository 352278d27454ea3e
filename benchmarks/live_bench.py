"""The programs of `live_cosched.py` as jobs: how much each has to do, and how a job ran."""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from live_cluster import ROOT, live

from minicluster.instance.records import JobRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from live_cluster import Cluster

    from minicluster.instance.records import Event

PROGRAM = ROOT / "benchmarks" / "live_programs.py"
CORES = 2
HALF = 0.5  # the quota of static
SET = {"computes": (1, 1, 2, 2), "multiplies": (1, 1, 2, 2), "asks": (1, 1, 2, 2), "reads": (1, 2, 2)}
"""The sizes of a set's jobs by program, which have the hours of Montage, BLAST, Statistics and Synthetic."""
HOURS = {"computes": 0.35, "multiplies": 0.71, "asks": 0.69, "reads": 0.49}
TIGHTEST, LOOSEST = 1.1, 1.5  # limits over the time alone
ALONE_SECONDS = 10.0  # for so long a program is measured alone, where its jobs are that long
LEAST_BLOCKS = 20
ROOM = (1 / 2, 3 / 8, 1 / 4, 3 / 16, 1 / 8, 1 / 16)
"""Parts of the last-level cache over the number of cores; of that of a virtual machine, others have some."""
SLOWER_BESIDE = 1.15
"""A reader that has room enough is slower by less beside another one."""
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
MEASURED_SECONDS = 1.0
TIMEOUT = 3600.0
Key = tuple[str, int]


@dataclass(frozen=True)
class Alone:
    """A program at one size, alone."""

    blocks: int
    """Of each task of a job."""
    seconds: float
    """What they take, from those of the first ones."""
    cpu: float
    """The fraction of its cores' time."""


@dataclass(frozen=True)
class Ran:
    """A job as it ran."""

    kind: str
    size: int
    submitted: float
    started: float
    ended: float
    cpu_seconds: float
    returncode: int | None
    exchange: str
    """How its tasks met; empty: they did not."""
    host: bool
    guest: bool
    events: Sequence[Event]

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return self.ended - self.started


@dataclass(frozen=True)
class Work:
    """What each task of a program's jobs does."""

    blocks: int
    first: int
    """So many of them are measured alone."""


@dataclass(frozen=True)
class Programs:
    """What is to be known of the machine to run them."""

    kinds: Sequence[str]
    library: str = ""
    """`chase.c`, compiled."""
    reads: int = 0
    """Bytes that a task of `reads` goes through."""
    apart: bool = False
    """Whether the tasks of a job do not meet."""

    def words(self, kind: str, *words: str) -> tuple[str, ...]:
        """Return a program's command."""
        memory = ("--library", self.library, "--bytes", str(self.reads)) if kind == "reads" else ()
        apart = ("--apart",) if self.apart else ()
        return (sys.executable, str(PROGRAM), kind, *words, *memory, *apart)

    def rate(self, kind: str, beside: int = 1) -> float:
        """Measure how many blocks one of so many does in a second, each on a core of its own."""
        words = self.words(kind, "--measure", str(MEASURED_SECONDS))
        running = [
            subprocess.Popen([*words, "--cpu", str(cpu)], stdout=subprocess.PIPE)
            for cpu in sorted(os.sched_getaffinity(0))[:beside]
        ]
        done = [json.loads(each.communicate()[0]) for each in running]
        return statistics.fmean(each["blocks"] / each["seconds"] for each in done)


def programs(kinds: Sequence[str], directory: Path) -> Programs:
    """Compile what is to be compiled, and find out how much `reads` may read. Raises SystemExit."""
    if "reads" not in kinds:
        return Programs(kinds)
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("the program that reads memory is in C, and there is no `cc`")
    library = directory / "chase.so"
    source = ROOT / "benchmarks" / "chase.c"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    cache = max((_bytes(each.read_text()) for each in CACHES.glob("index*/size")), default=0)
    found = Programs(kinds, str(library))
    for part in ROOM if cache else ():
        found = Programs(kinds, str(library), int(part * cache / CORES))
        if found.rate("reads") < SLOWER_BESIDE * found.rate("reads", CORES):
            return found
    raise SystemExit(f"no part of a cache of {cache} bytes is free for {CORES} readers on this machine")


def _bytes(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20}
    number = text.strip()
    return int(number[:-1]) * units[number[-1]] if number[-1:] in units else int(number)


class Bench:
    """A cluster on which programs run."""

    def __init__(self, cluster: Cluster, made: Programs) -> None:
        self.cluster = cluster
        self._programs = made
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}
        self._environment = {**kept, "PYTHONPATH": str(ROOT)}

    def submit(self, kind: str, size: int, blocks: int, limit: float = 0.0) -> int:
        """Submit a job: a task on each of its cores, each with so many blocks."""
        command = self._programs.words(kind, str(blocks))
        request = JobRequest(
            command, size, duration=limit, environment=self._environment, cwd="/", name=name_of(kind, size)
        )
        return self.cluster.instance.jobs.submit(request)

    def ran(self, job: int, kind: str, size: int) -> Ran:
        """Wait for a job, and return how it ran."""
        ended = self.cluster.instance.jobs.wait(job, TIMEOUT)
        events = self.cluster.log(job)
        output = self.cluster.output(job).splitlines()
        done: list[dict[str, Any]] = [json.loads(line) for line in output if line.startswith("{")]
        shared = [each.context for each in events if each.name == "co-allocated"]
        return Ran(
            kind,
            size,
            ended.t_submit,
            ended.t_run,
            ended.t_cleanup,
            sum(each["cpu"] for each in done),
            ended.returncode,
            next((each["exchange"] for each in done if "exchange" in each), ""),
            any("guest" in each for each in shared),
            any("host" in each for each in shared),
            events,
        )

    def alone(self, works: Mapping[str, Work]) -> dict[Key, Alone]:
        """Run the first blocks of each program once at each size, alone."""
        found = {}
        for kind, work in works.items():
            for size in sorted(set(SET[kind])):
                ran = self.ran(self.submit(kind, size, work.first), kind, size)
                cpu = ran.cpu_seconds / ran.seconds / size
                found[kind, size] = Alone(work.blocks, ran.seconds * work.blocks / work.first, cpu)
        return found

    def doubled(self, kind: str, size: int, blocks: int) -> float:
        """Return how long jobs take, at a mean, if each core has two, and each of them half of its time."""
        jobs = [self.submit(kind, size, blocks) for _ in range(2 * CORES // size)]
        return statistics.fmean(self.ran(job, kind, size).seconds for job in jobs)


def name_of(kind: str, size: int) -> str:
    """Return the name of a program's jobs of a size."""
    return f"{kind}-{size}"


def jobs_of(kinds: Sequence[str], seed: int) -> list[tuple[str, int, float]]:
    """Return program, size, and the limit over the time alone, of a set in random order."""
    stream = random.Random(seed)
    made = [(kind, size) for kind in kinds for size in SET[kind]]
    stream.shuffle(made)
    return [(kind, size, stream.uniform(TIGHTEST, LOOSEST)) for kind, size in made]


def calibrated(minutes: float, sets: int, made: Programs) -> dict[str, Work]:
    """Return what each program has to do, so that all sets take about so many minutes."""
    unit = minutes * 60 * CORES / sets / sum(HOURS[kind] * sum(SET[kind]) for kind in made.kinds)
    works = {}
    for kind in made.kinds:
        rate, seconds = made.rate(kind), HOURS[kind] * unit
        first = max(LEAST_BLOCKS, round(min(seconds, ALONE_SECONDS) * rate))
        works[kind] = Work(max(first, round(seconds * rate)), first)
    return works


def measured_alone(works: Mapping[str, Work], made: Programs) -> dict[Key, Alone]:
    """Measure each program alone, on a cluster for that."""
    with live("easy", 1, CORES) as cluster:
        return Bench(cluster, made).alone(works)


def measured_doubled(
    works: Mapping[str, Work], alone: Mapping[Key, Alone], made: Programs
) -> dict[Key, float]:
    """Return by how much two of a kind on the same cores are slower than by the half of their time."""
    with live(f"static:quota={HALF:g}", 1, CORES) as cluster:
        bench, found = Bench(cluster, made), {}
        for (kind, size), each in alone.items():
            work = works[kind]
            expected = each.seconds * work.first / work.blocks * max(1.0, each.cpu / HALF)
            found[kind, size] = bench.doubled(kind, size, work.first) / expected
    return found
