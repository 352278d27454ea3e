"""How `live_cosched.py` shows a run: who ran when, and response and wait, actual and simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from live_bench import Ran


def plot(
    ran: Mapping[str, Sequence[Sequence[Ran]]],
    figures: Mapping[str, Mapping[str, float]],
    expected: Mapping[str, Mapping[str, float]],
    path: Path,
) -> None:
    """Draw who ran when, a row a policy, and beside it response and wait, actual and simulated."""
    import matplotlib as mpl  # noqa: PLC0415 - the figures come without

    mpl.use("agg")
    from matplotlib import pyplot  # noqa: PLC0415

    kinds = sorted({job.kind for sets in ran.values() for jobs in sets for job in jobs})
    colors = {kind: f"C{index}" for index, kind in enumerate(kinds)}
    figure, rows = pyplot.subplots(
        len(ran), 2, squeeze=False, figsize=(13, 3 * len(ran)), width_ratios=(3, 1)
    )
    for (name, sets), (left, right) in zip(ran.items(), rows, strict=True):
        jobs = [job for each in sets for job in each]
        first = min(job.submitted for job in jobs)
        for row, job in enumerate(sorted(jobs, key=lambda job: job.started)):
            style = {
                "color": colors[job.kind],
                "hatch": "///" if job.guest else None,
                "alpha": 0.5 if job.guest else 1,
            }
            left.barh(row, job.ended - job.started, left=job.started - first, height=0.4 * job.size, **style)
        left.set_title(f"{name}: {len(jobs)} jobs, guests are hatched", fontsize="small")
        left.set_xlabel("seconds")
        names = ("response", "wait")
        right.bar([0, 2], [figures[name][each] for each in names], label="actual")
        right.bar([1, 3], [expected[name][each] for each in names], label="simulated")
        right.set_xticks([0.5, 2.5], names)
        right.set_ylabel("seconds")
        right.legend(fontsize="small")
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=color) for color in colors.values()]
    figure.legend(handles, colors, ncols=len(colors), loc="upper center", fontsize="small")
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.savefig(path, dpi=110)
