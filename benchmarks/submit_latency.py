"""From submit to start: how long a job waits that could run at once.

python benchmarks/submit_latency.py --real-flux
"""

from __future__ import annotations

import json
import statistics

from engines import Engine, engines, instance, parser, report


def measure(engine: Engine, size: int, jobs: int) -> list[float]:
    """Return milliseconds from the submit event to the start event of `jobs` jobs, one at a time."""
    waits = []
    with instance(engine, size) as running:
        for _ in range(jobs):
            jobid = running.flux("submit", "--wait", "true").split()[-1]
            lines = running.flux("job", "eventlog", "--format=json", jobid).splitlines()
            at = {event["name"]: event["timestamp"] for event in map(json.loads, lines)}
            waits.append((at["start"] - at["submit"]) * 1000)
    return waits


def main() -> None:
    """Print the median and the 99th percentile of each engine."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--jobs", type=int, default=100)
    arguments.add_argument("--size", type=int, default=4, help="brokers")
    args = arguments.parse_args()
    results: dict[str, object] = {"jobs": args.jobs, "brokers": args.size}
    with engines(args.real_flux) as found:
        for engine in found:
            waits = measure(engine, args.size, args.jobs)
            p99 = statistics.quantiles(waits, n=100)[98]
            results[engine.name] = {"p50": round(statistics.median(waits), 2), "p99": round(p99, 2)}
    report("submit to start", "ms", results)


if __name__ == "__main__":
    main()
