"""Throughput of one-core `true` jobs: `flux submit --cc=1-N`, then wait until the queue is empty.

python benchmarks/throughput.py --real-flux
"""

from __future__ import annotations

import time

from engines import Engine, engines, instance, parser, report, summary


def measure(engine: Engine, size: int, jobs: int) -> float:
    """Return jobs per second, from the submit command's start until no job is left."""
    with instance(engine, size) as running:
        start = time.perf_counter()
        running.flux("submit", "--quiet", f"--cc=1-{jobs}", "-n1", "-c1", "true")
        running.flux("queue", "drain")
        seconds = time.perf_counter() - start
        done = running.flux("jobs", "-n", "-a", "-c0", "-f", "completed", "-o", "{id}").split()
        if len(done) != jobs:
            raise SystemExit(f"{engine.name}: {len(done)} of {jobs} jobs completed")
    return jobs / seconds


def main() -> None:
    """Measure the engines in turn, so that a drift of the machine's speed hits both."""
    arguments = parser(__doc__ or "", runs=3)
    arguments.add_argument("--jobs", type=int, default=1000)
    arguments.add_argument("--size", type=int, default=4, help="brokers")
    args = arguments.parse_args()
    with engines(args.real_flux) as found:
        rates: dict[str, list[float]] = {engine.name: [] for engine in found}
        for _ in range(args.runs):
            for engine in found:
                rates[engine.name].append(measure(engine, args.size, args.jobs))
    results: dict[str, object] = {name: summary(values, 1) for name, values in rates.items()}
    if len(rates) > 1:
        pairs = zip(rates["embedded"], rates["flux"], strict=True)
        results["ratio"] = summary([ours / theirs for ours, theirs in pairs], 2)
    report("throughput", "jobs/s", {"jobs": args.jobs, "brokers": args.size} | results)


if __name__ == "__main__":
    main()
