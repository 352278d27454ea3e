"""The fit of the model of contention: what it gets are three rows of experiment 2, and run times.

It reads NONE.json, CM.json, CM_S.json and experiment-1.json of a directory, and nothing else. Where tasks go
at random (CM_S) the means over seeds are compared, and so is how far the runs of STREAM and MiniFE lie apart:
the means alone leave open where the knee is, and how steeply it goes on from there.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, NamedTuple

from least_squares import minimize

from queue_policies import plugins
from queue_policies.simulator.domain_contention import KindOfJob
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.workloads import scanflow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queue_policies.simulator.outcome import RunOutcome

PUBLISHED = Path(__file__).with_name("granularity")
SPREAD = ("STREAM", "MiniFE")
"""The kinds of which the deviation counts."""
WIDTHS = {"response": 0.05, "makespan": 0.05, "FFT": 0.1, "deviation": 0.25}
"""How far off each figure may be; of run times else 0.06."""
START = (109.2, 96.9, 365.2, 498.9, 0.4786, 5.563, 0.2512, 1.3784)
"""Where the search begins: compute and memory of STREAM and MiniFE, demand of MiniFE, knee, slope, and the
price of no affinity for memory. Of the ends of wide searches on the same rows it has the least cost."""
SEEDS = 100
SCALED = scanflow.TASKS // scanflow.NODES
"""Tasks of a worker under scale."""


class Figures(NamedTuple):
    """The figures of a row, in seconds."""

    runs: Mapping[str, float]
    """The mean run time of each kind."""
    makespan: float
    response: float = math.nan
    """The sum over the jobs from submission to end."""
    deviations: Mapping[str, float] = {}
    """The standard deviation of run times of some kinds."""

    def metrics(self) -> dict[str, float]:
        """Return all but the deviations by name, and without what was not published."""
        response = {} if math.isnan(self.response) else {"response": self.response}
        return {"makespan": self.makespan, **response, **self.runs}


def published(name: str, directory: Path = PUBLISHED) -> Figures:
    """Return the published row of this name."""
    return Figures(**json.loads((directory / f"{name}.json").read_text()))


def published_first(directory: Path = PUBLISHED) -> dict[str, Figures]:
    """Return the published rows of experiment 1."""
    rows = json.loads((directory / "experiment-1.json").read_text())
    return {name: Figures(**row) for name, row in rows.items()}


def figures(outcome: RunOutcome) -> Figures:
    """Return the row of an outcome. A job runs once it is up: the start is no part of its run time."""
    runs: dict[str, list[float]] = {}
    for job in outcome.jobs:
        runs.setdefault(job.kind, []).append(job.ended - job.started - job.idle)
    return Figures(
        {kind: fmean(each) for kind, each in runs.items()},
        outcome.last_end - outcome.begin,
        sum(job.turnaround for job in outcome.jobs),
        {kind: pstdev(each) for kind, each in runs.items()},
    )


def mean(rows: Sequence[Figures]) -> Figures:
    """Return the means of the figures of several rows of the same kinds."""
    return Figures(
        {kind: fmean(row.runs[kind] for row in rows) for kind in rows[0].runs},
        fmean(row.makespan for row in rows),
        fmean(row.response for row in rows),
        {kind: fmean(row.deviations[kind] for row in rows) for kind in rows[0].deviations},
    )


def simulated(
    variant: scanflow.Variant,
    constants: scanflow.Constants,
    seeds: Sequence[int] = (0,),
    arrivals: Sequence[tuple[str, float]] = scanflow.EXPERIMENT_2,
) -> list[Figures]:
    """Return the row of each seed."""
    policy = plugins.load("backfill")
    return [
        figures(simulate(scanflow.workload(arrivals, variant, constants, seed), policy)) for seed in seeds
    ]


class Fit(NamedTuple):
    """The rows of a fit, and what follows from them at once.

    Kinds that demand no bandwidth take `compute` times a factor, whoever is beside them: so their constants
    are read off their run times, and no search moves them.
    """

    rows: Mapping[str, Figures]
    by_worker: tuple[tuple[int, float], ...]
    """f: the run times of experiment 1 at 1, 4 and 16 tasks a worker, over the last of them."""
    seeds: int

    def constants(self, at: Sequence[float]) -> scanflow.Constants:
        """Return the model at these logarithms of the parameters."""
        stream_c, stream_m, minife_c, minife_m, demand, knee, slope, memory = map(math.exp, at)
        none, alone, scaled = (self.rows[name].runs for name in ("NONE", "CM", "CM_S"))
        dgemm = fmean((alone["DGEMM"], scaled["DGEMM"] / dict(self.by_worker)[SCALED]))
        return scanflow.Constants(
            {
                "DGEMM": KindOfJob(dgemm, by_worker=self.by_worker, unpinned=none["DGEMM"] / dgemm),
                "STREAM": KindOfJob(stream_c, stream_m, 1.0),
                "MiniFE": KindOfJob(minife_c, minife_m, demand),
                "RR": KindOfJob(alone["RR"], unpinned=none["RR"] / alone["RR"]),
                "FFT": KindOfJob(alone["FFT"]),
            },
            knee,
            slope,
            memory,
        )

    def residuals(self, at: Sequence[float]) -> list[float]:
        """Return how far off each figure is, in widths."""
        constants, found = self.constants(at), []
        for name, wanted in self.rows.items():
            variant = scanflow.VARIANTS[name]
            seeds = range(self.seeds) if variant.placement == "random" else (0,)
            row = mean(simulated(variant, constants, seeds))
            had = row.metrics()
            found += [
                (had[key] / value - 1) / WIDTHS.get(key, 0.06) for key, value in wanted.metrics().items()
            ]
            if variant.placement == "random":
                found += [
                    (row.deviations[kind] / wanted.deviations[kind] - 1) / WIDTHS["deviation"]
                    for kind in SPREAD
                ]
        return found


def fit(
    directory: Path = PUBLISHED,
    seeds: int = SEEDS,
    steps: int = 4,
    start: Sequence[float] = START,
) -> scanflow.Constants:
    """Return the constants of the model, from the four files of the directory."""
    runs = {name: row.runs["DGEMM"] for name, row in published_first(directory).items()}
    by_worker = (
        (1, fmean((runs["CM_G"], runs["CM_G_TG"])) / runs["CM"]),
        (SCALED, fmean((runs["CM_S"], runs["CM_S_TG"])) / runs["CM"]),
        (16, 1.0),
    )
    rows = {name: published(name, directory) for name in ("NONE", "CM", "CM_S")}
    what = Fit(rows, by_worker, seeds)
    found = minimize(what.residuals, [math.log(value) for value in start], steps, 0.05)
    return what.constants(found.at)


def with_communication(constants: scanflow.Constants, directory: Path = PUBLISHED) -> scanflow.Constants:
    """Return the same with the times of RR and FFT over several nodes: those of native Volcano."""
    row = published("VOLCANO", directory)
    kinds = dict(constants.kinds)
    for kind in ("RR", "FFT"):
        kinds[kind] = _scattered(kinds[kind], row.runs[kind])
    return scanflow.Constants(kinds, constants.knee, constants.slope, constants.unpinned)


def _scattered(kind: KindOfJob, seconds: float) -> KindOfJob:
    return KindOfJob(kind.compute, kind.memory, kind.demand, kind.by_worker, kind.unpinned, seconds)
