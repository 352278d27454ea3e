"""A long queue: 100,000 pending jobs on a full instance.

python benchmarks/pending.py --jobs 100000
"""

from __future__ import annotations

import time

from engines import Engine, engines, instance, parser, report, resident


def measure(engine: Engine, jobs: int) -> dict[str, object]:
    """Fill the queue behind one long job; return the rate, the lead's memory and what stays quick."""
    with instance(engine, 1) as running:
        blocker = running.flux("submit", "--exclusive", "-N1", "sleep", "inf").strip()
        empty = resident(running.brokers[0])
        start = time.perf_counter()
        running.flux("submit", "--quiet", f"--cc=1-{jobs}", "-n1", "true")
        filled = time.perf_counter() - start
        full = resident(running.brokers[0])
        urgent = running.flux("submit", "--urgency=31", "-n1", "true").strip()
        start = time.perf_counter()
        listing = running.flux("jobs", "-n", "-c", "10", "-f", "pending", "-o", "{id}").split()
        listed = time.perf_counter() - start
        start = time.perf_counter()
        running.flux("cancel", blocker)
        running.flux("job", "wait-event", urgent, "clean")
        urgent_took = time.perf_counter() - start
        running.flux("queue", "stop")
    return {
        "submits_per_s": round(jobs / filled),
        "lead_mb_before": round(empty, 1),
        "lead_mb": round(full, 1),
        "kb_per_job": round((full - empty) * 1000 / jobs, 2),
        "list_ten_s": round(listed, 3) if len(listing) == 10 else f"listed {len(listing)}",
        "urgent_job_s": round(urgent_took, 3),
    }


def main() -> None:
    """Measure each engine once."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--jobs", type=int, default=100_000)
    args = arguments.parse_args()
    with engines(args.real_flux) as found:
        results: dict[str, object] = {engine.name: measure(engine, args.jobs) for engine in found}
    report("pending jobs", "mixed", {"jobs": args.jobs} | results)


if __name__ == "__main__":
    main()
