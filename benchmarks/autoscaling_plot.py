"""How `autoscaling.py` shows a run: sizes and demand, jobs, and which broker each job was on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kubernetes.autoscalers import Moment

Steps = list[tuple[float, float]]


@dataclass(frozen=True)
class Run:
    """A job that began: on which rank (that of its first task), when, and its ends: one."""

    number: int
    rank: int
    begin: float
    ends: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Course:
    """What happened between two times."""

    begin: float
    end: float
    sizes: list[Moment]
    demands: list[tuple[float, int]]
    submitted: list[tuple[float, int]]
    runs: list[Run]
    nodes: int  # of each job

    def running(self) -> Steps:
        """Return how many jobs ran from when on."""
        changes = [(run.begin, 1) for run in self.runs] + [(run.ends[-1], -1) for run in self.runs]
        return added_up(changes)

    def waiting(self) -> Steps:
        """Return how many jobs waited from when on."""
        return added_up([*self.submitted, *((run.begin, -1) for run in self.runs)])


def added_up(changes: list[tuple[float, int]]) -> Steps:
    """Return the sum of all changes up to each time."""
    total, steps = 0, []
    for when, change in sorted(changes):
        total += change
        steps.append((when, float(total)))
    return steps


def plot(course: Course, path: Path) -> None:
    """Draw it."""
    import matplotlib as mpl  # noqa: PLC0415 - the figures come without

    mpl.use("agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, (upper, middle, lower) = pyplot.subplots(3, 1, sharex=True, figsize=(10, 8))
    moments = course.sizes
    steps(upper, course, list(course.demands), "nodes demanded", linewidth=5, alpha=0.3)
    steps(upper, course, [(each.time, each.asked) for each in moments], "size asked for (spec.size)")
    steps(upper, course, [(each.time, each.pods) for each in moments], "pods (status.size)", linestyle="--")
    steps(upper, course, [(each.time, each.brokers) for each in moments], "brokers joined", linestyle=":")
    upper.set_ylabel("nodes")
    steps(middle, course, course.waiting(), "jobs that wait")
    steps(middle, course, course.running(), "jobs that run")
    middle.set_ylabel("jobs")
    for run in course.runs:
        bar(lower, course, run)
    lower.set_ylabel("rank of the first task")
    lower.set_yticks(sorted({run.rank for run in course.runs}))
    lower.set_xlabel("seconds")
    for axes, where in ((upper, "lower center"), (middle, "upper right")):
        axes.set_ylim(bottom=0)
        axes.legend(loc=where)
        axes.grid(visible=True, alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def steps(axes: Any, course: Course, points: Steps, label: str, **style: Any) -> None:
    """Draw what keeps its value until the next point."""
    points = [each for each in points if each[0] <= course.end]
    seconds = [max(when - course.begin, -1.0) for when, _ in points]
    values = [value for _, value in points]
    end = course.end - course.begin + 2
    axes.step([*seconds, end], [*values, values[-1]], where="post", label=label, **style)


def bar(axes: Any, course: Course, run: Run) -> None:
    """Draw a job."""
    seconds = run.ends[-1] - run.begin
    axes.barh(run.rank, seconds, left=run.begin - course.begin, height=0.8, edgecolor="white")
    axes.text(run.begin - course.begin + seconds / 2, run.rank, str(run.number), ha="center", va="center")
