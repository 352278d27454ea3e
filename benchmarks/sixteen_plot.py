"""How `sixteen_jobs.py` shows a run: units in use, and the size of a large job, actual and simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from queue_policies.simulator.metrics import measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from queue_policies.simulator.outcome import JobOutcome, RunOutcome

INSTANT = 0.05  # seconds
STYLES = ({"color": "C0"}, {"color": "C1", "linestyle": "--"})


def plot(pairs: Mapping[str, tuple[RunOutcome, RunOutcome]], path: Path) -> None:
    """Draw a row a variant: left the units in use, right the size of the job that is resized most."""
    import matplotlib as mpl  # noqa: PLC0415 - the figures come without

    mpl.use("agg")
    from matplotlib import pyplot  # noqa: PLC0415

    job = large([real for real, _ in pairs.values()])
    figure, rows = pyplot.subplots(
        len(pairs), 2, sharex=True, sharey=True, squeeze=False, figsize=(12, 2.6 * len(pairs))
    )
    for (name, pair), (left, right) in zip(pairs.items(), rows, strict=True):
        for outcome, word, style in zip(pair, ("actual", "simulated"), STYLES, strict=True):
            fraction = measure(outcome).utilization
            draw(left, in_use(outcome.jobs), f"{word}: {outcome.last_end:.1f} s, {fraction:.0%} used", style)
            draw(right, in_use([each for each in outcome.jobs if each.id == job.id]), word, style)
        left.set_ylabel(f"{name}\n{outcome.unit}")
    rows[0][0].set_title(f"{outcome.unit} in use, of {outcome.total}")
    rows[0][1].set_title(f"size of job {job.id} (grid {job.kind}, priority {job.priority})")
    for axes in rows.flat:
        axes.set_ylim(0, outcome.total * 1.3)
        axes.legend(loc="upper right", fontsize="small", ncols=2)
        axes.grid(visible=True, alpha=0.3)
    for axes in rows[-1]:
        axes.set_xlabel("seconds")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def large(outcomes: Sequence[RunOutcome]) -> JobOutcome:
    """Return the job that was really resized most often; of several, the one that held most."""
    jobs = [job for outcome in outcomes for job in outcome.jobs]
    return max(jobs, key=lambda job: (job.grows + job.shrinks, job.unit_seconds()))


def in_use(jobs: Sequence[JobOutcome]) -> list[tuple[float, int]]:
    """Return from when on how many units were held; what was so for an instant is left out."""
    changes = []
    for job in jobs:
        before = 0
        for when, size in job.sizes:
            changes.append((when, size - before))
            before = size
    level, points = 0, [(0.0, 0)]
    for when, change in sorted(changes):
        level += change
        if when - points[-1][0] < INSTANT:
            points[-1] = (points[-1][0], level)
        else:
            points.append((when, level))
    return points


def draw(axes: Any, points: Sequence[tuple[float, int]], label: str, style: Mapping[str, str]) -> None:
    """Draw what keeps its value until the next point."""
    axes.step(*zip(*points, strict=True), where="post", label=label, linewidth=1.3, **style)
