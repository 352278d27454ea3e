"""Whole `minicluster run`: from the command line to its end, for several sizes.

    python benchmarks/bring_up.py --sizes 1 4 8 32 64 --real-flux

With `--sizes 4` this is the hello-world figure: document read, brokers up and joined, a job with one task a
broker run and its output shown, everything torn down.
"""

from __future__ import annotations

import subprocess
import time

from engines import MINICLUSTER, Engine, engines, parser, report, summary

DOCUMENT = """
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {{name: hello}}
spec:
  size: {size}
  tasks: {size}
  containers: [{{command: echo hello}}]
"""


def measure(engine: Engine, size: int) -> float:
    """Return the wall-clock seconds of one whole run."""
    command = [str(MINICLUSTER), "run", "-", "--engine", engine.name]
    start = time.perf_counter()
    done = subprocess.run(
        command,
        input=DOCUMENT.format(size=size),
        env=engine.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    if done.returncode or done.stdout.count("hello") != size:
        raise SystemExit(f"{engine.name}, {size} brokers: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return seconds


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
