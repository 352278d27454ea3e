"""Traces in the Standard Workload Format, with a sidecar that lists the elastic jobs.

Source: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers", JSSPP 1999;
the format's fields as in the Parallel Workloads Archive. The format has no elastic jobs. A sidecar beside
`trace.swf`, called `trace.elastic.csv`, has a line `job,min,max,parallel,malleable` for each elastic job:
`parallel` is the share of it that Amdahl's law divides, `malleable` 0 or 1.
"""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.job import PRIORITY, WorkloadJob
from queue_policies.simulator.speedup import Amdahl, Fixed
from queue_policies.simulator.workload import Oversized, Workload, fitted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FIELDS = 18
SIDECAR = ("job", "min", "max", "parallel", "malleable")
EFFICIENCY_MIN, EFFICIENCY, EFFICIENCY_MAX = 0.95, 0.8, 0.5


class Elasticity(NamedTuple):
    """A line of a sidecar."""

    job: int
    """Its number in the trace."""
    min: int
    """Its least size, in processors."""
    max: int
    parallel: float
    """The fraction of its work that Amdahl's law divides, 0 to 1."""
    malleable: bool
    """False: it is moldable."""


def read(path: str, total: int = 0, oversized: Oversized = "refuse") -> Workload:
    """Read a trace (also gzipped). `total`: processors of the cluster; 0: those of the header.

    Jobs without run time or processors, which never ran, are left out. Raises WorkloadError with the line.
    """
    source = Path(path)
    try:
        text = (
            gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
        ).decode("utf-8", "replace")
    except OSError as error:
        raise WorkloadError(f"{path}: {error.strerror or error}") from error
    sidecar = _sidecar_of(source)
    elastic = {each.job: each for each in _read_sidecar(sidecar)} if sidecar.exists() else {}
    return parse(text, path, total, elastic, oversized)


def parse(
    text: str,
    source: str,
    total: int = 0,
    elastic: dict[int, Elasticity] | None = None,
    oversized: Oversized = "refuse",
) -> Workload:
    """Return the workload of a trace's text."""
    known = elastic or {}
    header: dict[str, str] = {}
    jobs: list[WorkloadJob] = []
    unknown = dict(known)
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(";"):
            name, _, value = line[1:].partition(":")
            header[name.strip()] = value.strip()
        elif line.strip():
            job = _job(line, source, number, known, unknown)
            if job is not None:
                jobs.append(job)
    if unknown:
        several = f"job {next(iter(unknown))}" + (f" and {len(unknown) - 1} more" * (len(unknown) > 1))
        raise WorkloadError(f"{_sidecar_of(Path(source))}: {several}: not in {source}")
    total = total or _size(header, source)
    return Workload(source, fitted(jobs, total, oversized), total, "processors")


def _size(header: dict[str, str], source: str) -> int:
    for name in ("MaxProcs", "MaxNodes"):
        digits = header.get(name, "").split(maxsplit=1)
        if digits and digits[0].isdecimal() and int(digits[0]):
            return int(digits[0])
    raise WorkloadError(
        f"{source}: its header has no MaxProcs and no MaxNodes; say how large the cluster is (--size)"
    )


def _job(
    line: str,
    source: str,
    line_number: int,
    elastic: dict[int, Elasticity],
    unknown: dict[int, Elasticity],
) -> WorkloadJob | None:
    """Return the job of a line, None if it never ran, and drop it from the `unknown` ones."""
    words = line.split()
    position = f"{source}, line {line_number}"
    if len(words) != FIELDS:
        raise WorkloadError(f"{position}: {len(words)} fields; a line of this format has {FIELDS}")
    try:
        fields = list(map(float, words))
    except ValueError as error:
        raise WorkloadError(f"{position}: {error}; all {FIELDS} fields are numbers") from error
    number, submitted, run, size, requested = (fields[0], fields[1], fields[3], fields[4], fields[8])
    if not math.isfinite(sum(fields)):
        index = next(index for index, value in enumerate(fields) if not math.isfinite(value))
        raise WorkloadError(f"{position}: field {index + 1} is {words[index]}; needed is a number")
    unknown.pop(int(number), None)
    if submitted < 0 or (run < 0 and run != -1):
        raise WorkloadError(
            f"{position}: submitted at {submitted:g} s, a run time of {run:g} s; times are not negative "
            "(only the run time may be -1: unknown)"
        )
    if size <= 0:
        size = fields[7]
    if run < 0 or size <= 0:
        return None
    limit = max(requested, run, 1.0) if requested > 0 else math.inf
    user = max(0, int(fields[11]))
    return _shaped(int(number), submitted, run, int(size), limit, user, elastic.get(int(number)))


def _shaped(
    number: int, submitted: float, run: float, size: int, limit: float, user: int, elastic: Elasticity | None
) -> WorkloadJob:
    if elastic is None:
        return WorkloadJob(number, submitted, size, size, Fixed(run), limit, PRIORITY, user)
    serial = run / (1 - elastic.parallel + elastic.parallel / size)
    slowest = Amdahl(serial, elastic.parallel)
    stretch = slowest.seconds(elastic.min) / run if run else 1.0
    return WorkloadJob(
        number,
        submitted,
        elastic.min,
        elastic.max,
        slowest,
        limit * max(1.0, stretch),
        PRIORITY,
        user,
        elastic.malleable,
    )


def parallel_fraction(size: int) -> float:
    """Return the share of a job that Amdahl's law divides, if its efficiency on `size` processors is 0.8."""
    return max(0.0, (size - 1 / EFFICIENCY) / (size - 1)) if size > 1 else 0.0


def derived(workload: Workload, malleable: bool = True) -> Iterator[Elasticity]:
    """Yield a sidecar's lines by a rule: each job has the parallel share for an efficiency of 0.8.

    Its sizes are then those between efficiencies of 0.95 and 0.5. Jobs on one processor stay rigid.
    """
    for job in workload.jobs:
        if job.max > 1:
            parallel = parallel_fraction(job.max)
            least = int((1 / EFFICIENCY_MIN - parallel) / (1 - parallel) + 1e-9)
            most = int((1 / EFFICIENCY_MAX - parallel) / (1 - parallel) + 1e-9)
            yield Elasticity(
                job.id,
                min(max(1, least), job.max),
                min(max(most, job.max), workload.total),
                parallel,
                malleable,
            )


def write_sidecar(path: str, lines: Iterable[Elasticity]) -> str:
    """Write a sidecar beside the trace at `path`; return its path."""
    sidecar = _sidecar_of(Path(path))
    with sidecar.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(SIDECAR)
        writer.writerows((each.job, each.min, each.max, each.parallel, int(each.malleable)) for each in lines)
    return str(sidecar)


def _sidecar_of(trace: Path) -> Path:
    return trace.with_name(trace.name.removesuffix(".gz").removesuffix(".swf") + ".elastic.csv")


def _read_sidecar(path: Path) -> Iterator[Elasticity]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        if tuple(next(rows, ())) != SIDECAR:
            raise WorkloadError(f"{path}: its first line must be {','.join(SIDECAR)}")
        for row in rows:
            position = f"{path}, line {rows.line_num}"
            try:
                job, least, most, parallel, malleable = row
                line = Elasticity(int(job), int(least), int(most), float(parallel), malleable.strip() == "1")
            except ValueError as error:
                raise WorkloadError(f"{position}: {error}; needed is {','.join(SIDECAR)}") from error
            if malleable.strip() not in {"0", "1"}:
                raise WorkloadError(
                    f"{position}: malleable is {malleable}; it is 0 (moldable) or 1 (malleable)"
                )
            if not 0 <= line.parallel <= 1:
                raise WorkloadError(f"{position}: parallel is {line.parallel:g}; it is a share from 0 to 1")
            yield line
