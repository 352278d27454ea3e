"""Resident memory of an idle lead broker and of an idle follower.

python benchmarks/memory.py --real-flux
"""

from __future__ import annotations

from engines import Engine, engines, instance, parser, report, resident, summary


def measure(engine: Engine, size: int) -> dict[str, object]:
    """Return MB of the lead and of the followers, once one job has run on every broker."""
    with instance(engine, size) as running:
        running.flux("run", f"-N{size}", "true")
        lead, *followers = [resident(pid) for pid in running.brokers]
    if len(followers) != size - 1:
        raise SystemExit(f"{engine.name}: found {len(followers) + 1} brokers of {size}")
    return {"lead": round(lead, 1), "follower": summary(followers, 1)}


def main() -> None:
    """Measure each engine once: memory does not depend on the machine's load."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--size", type=int, default=4, help="brokers")
    args = arguments.parse_args()
    with engines(args.real_flux) as found:
        report("memory", "MB", {engine.name: measure(engine, args.size) for engine in found})


if __name__ == "__main__":
    main()
