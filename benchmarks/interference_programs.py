"""The programs of `interference.py`: compiled, run on two CPUs at the same time, and counted."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SOURCE = Path(__file__).with_name("interference.c")
CPUS = Path("/sys/devices/system/cpu")
STEPS = 2048
"""Of the chase, in a unit of its work."""
SPINNER = "spinner"
WARM_SECONDS = 0.3
"""How long programs run beside each other before anything counts: the chase goes through its lines twice."""
DEADLINE_SECONDS = 60.0


class Cache(NamedTuple):
    """The last-level cache, as the system describes it."""

    size: int
    """Bytes."""
    cpus: tuple[int, ...]
    """Which share it."""


class Sample(NamedTuple):
    """What a program did in a window."""

    rate: float
    """Units of work for a second of CPU."""
    used: float
    """The fraction of its CPU's time."""


class Window(NamedTuple):
    """What programs did at the same time, and how quiet the machine was."""

    samples: tuple[Sample, ...]
    others: float
    """How many CPUs other processes had."""
    stolen: float
    """How many CPUs the hypervisor gave to other guests, as far as it says so."""


def last_level(cpu: int, root: Path = CPUS) -> Cache:
    """Return the last-level cache of a CPU. Ends the program where the system describes none."""
    found = []
    for index in (root / f"cpu{cpu}" / "cache").glob("index*"):
        kind, level, size, shared = (
            (index / name).read_text().strip() for name in ("type", "level", "size", "shared_cpu_list")
        )
        if kind != "Instruction":
            found.append((int(level), Cache(_size(size), numbers(shared))))
    if not found:
        raise SystemExit(f"{root}/cpu{cpu}/cache: this system does not describe its caches, so none is known")
    return max(found)[1]


def _size(text: str) -> int:
    unit = {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1)
    return int(text.rstrip("KM")) * unit


def numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a list as the kernel writes it: `0-2,5`."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def two_cores(allowed: Sequence[int], root: Path = CPUS) -> tuple[int, int]:
    """Return CPUs of two cores with one last-level cache. Ends the program where there are none."""
    taken: list[int] = []
    hidden: set[int] = set()
    for cpu in sorted(allowed):
        if cpu in hidden or (taken and cpu not in last_level(taken[0], root).cpus):
            continue
        siblings = root / f"cpu{cpu}" / "topology" / "thread_siblings_list"
        hidden.update(numbers(siblings.read_text().strip()))
        taken.append(cpu)
        if len(taken) == 2:
            return taken[0], taken[1]
    raise SystemExit(
        f"needed are two cores with one last-level cache; CPUs {', '.join(map(str, allowed))} have none"
    )


def compiled(directory: Path) -> Path:
    """Compile the programs into a directory. Ends the program where that fails."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit(
            "needs a C compiler: there is no `cc` on PATH (Debian: apt-get install gcc libc6-dev)"
        )
    program = directory / "interference"
    words = [
        compiler,
        "-O2",
        "-ftree-vectorize",
        "-Wall",
        f"-DSTEPS={STEPS}",
        "-o",
        str(program),
        str(SOURCE),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr.strip()}")
    return program


class Machine(NamedTuple):
    """Two cores, and how to run programs on them."""

    program: Path
    cpus: tuple[int, int]
    cache: int
    """Bytes of the last-level cache."""
    seconds: float
    """Of a window."""

    def bytes_of(self, kind: str) -> int:
        """Return how much memory a program works on, where that goes by the last-level cache."""
        return {"chase": self.cache * 3 // 4, "stream": self.cache * 4}.get(kind, 0)

    def run(self, programs: Sequence[tuple[str, int]], mirrored: bool = False, size: int = 0) -> Window:
        """Run programs, each on core 0 or 1, at the same time. Ends the program where one fails.

        A core without a program has one that computes in registers: so the clock of the cores is the same in
        all windows, and other processes stay away. `mirrored` exchanges the cores. `size` is the memory of
        the programs in place of their own, in bytes.
        """
        with contextlib.ExitStack() as stack:
            idle = {0, 1} - {core for _, core in programs}
            running = [
                stack.enter_context(
                    self._started(kind, self.cpus[core ^ mirrored], size or self.bytes_of(kind))
                )
                for kind, core in (*programs, *((SPINNER, core) for core in idle))
            ]
            for process in running:
                _read(process)
            begin = time.monotonic() + WARM_SECONDS
            end = begin + self.seconds
            for process in running:
                assert process.stdin is not None
                process.stdin.write(f"{begin!r} {end!r}\n")
                process.stdin.flush()
            time.sleep(max(0.0, begin - time.monotonic()))
            before = _busy_and_stolen()
            time.sleep(max(0.0, end - time.monotonic()))
            after = _busy_and_stolen()
            counted = [_read(process).split() for process in running]
        used = [float(seconds) for _, seconds in counted]
        samples = tuple(
            Sample(int(units) / seconds, seconds / self.seconds)
            for (units, _), seconds in zip(counted, used, strict=True)
        )[: len(programs)]
        others = max(0.0, after[0] - before[0] - sum(used))
        return Window(samples, others / self.seconds, (after[1] - before[1]) / self.seconds)

    @contextlib.contextmanager
    def _started(self, kind: str, cpu: int, size: int) -> Iterator[subprocess.Popen[str]]:
        pipe = subprocess.PIPE
        words = [str(self.program), kind, str(cpu), str(size)]
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
            try:
                yield process
            finally:
                process.kill()


def _read(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"{process.args!r}: exit {process.wait(DEADLINE_SECONDS)}: {process.stderr.read()}")
    return line


def _busy_and_stolen() -> tuple[float, float]:
    """Return the CPU seconds of all processes so far, and those that the hypervisor took."""
    words = Path("/proc/stat").read_text().partition("\n")[0].split()
    user, nice, system, _idle, _wait, irq, softirq, stolen = (
        int(word) / os.sysconf("SC_CLK_TCK") for word in words[1:9]
    )
    return user + nice + system + irq + softirq, stolen
