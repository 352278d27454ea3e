"""Whole `minicluster run`: from the command line to its end, for several sizes.

    python benchmarks/bring_up.py --sizes 1 4 8 32 64 --real-flux

With `--sizes 4` this is the hello-world figure: documents read, brokers up and joined, one job run
with its output shown, everything torn down.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from engines import MINICLUSTER, Engine, engines, parser, report, summary

DOCUMENT = Path(__file__).parents[1] / "examples/hello-world/minicluster.yaml"


def measure(engine: Engine, size: int) -> float:
    """Return the wall-clock seconds of one whole run."""
    command = [MINICLUSTER, "run", DOCUMENT, "--size", str(size), "--engine", engine.name]
    start = time.perf_counter()
    done = subprocess.run(command, env=engine.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{engine.name}, {size} brokers: exit {done.returncode}\n{done.stderr}")
    return time.perf_counter() - start


def main() -> None:
    """Measure every size, the engines in turn."""
    arguments = parser(__doc__ or "", runs=5)
    arguments.add_argument("--sizes", type=int, nargs="+", default=[1, 4, 8, 32, 64])
    args = arguments.parse_args()
    results: dict[str, object] = {}
    with engines(args.real_flux) as found:
        for size in args.sizes:
            seconds: dict[str, list[float]] = {engine.name: [] for engine in found}
            for _ in range(args.runs):
                for engine in found:
                    seconds[engine.name].append(measure(engine, size))
            results[str(size)] = {name: summary(values) for name, values in seconds.items()}
    report("whole run by brokers", "s", results)


if __name__ == "__main__":
    main()
