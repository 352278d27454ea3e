"""A MiniCluster that follows its queue, under a real autoscaler on four real nodes: plotted, and in figures.

    python benchmarks/autoscaling.py --plot scaling.png
    python benchmarks/autoscaling.py --scenario burst --form External --plot burst.png
    python benchmarks/autoscaling.py --scenario reaction --submissions 20

`nodes`: 12 one-node jobs of 5 to 60 s. `burst`: two-node jobs, and as many again in the midst of the shrink.
The job that first runs on the highest rank is the longest, so the shrink has to wait for it. The autoscaler
looks every second; the MiniCluster may have 1 to 4 brokers of one core. `reaction`: from the start of `flux
submit` in the pod until the autoscaler has asked for another size, an autoscaler's period (1 s) included.

--real-flux uses the flux on PATH instead of the embedded instance. --plot needs matplotlib.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscaling_plot import Course, Run, plot
from engines import picture, report, summary
from pods import space

from minicluster import document
from minicluster.kube_client.resources import MINICLUSTERS
from tests.devcluster import Api, ApiError, Options, cluster, node_images, until
from tests.kubernetes import adapters, autoscalers, operators
from tests.kubernetes.autoscalers import EVERY_SECOND, HPAS, METRIC, Sizes
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import Live

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.devcluster import ControlPlane

MAX_SIZE = 4
"""Brokers."""
DOCUMENT = "document"
AT_ONCE = {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}
POLL_INTERVAL = 0.25
"""Seconds."""
TIMEOUT = 300.0
SECONDS = {"nodes": (5, 20, 12, 25, 8, 18, 15, 5, 22, 10, 12, 7), "burst": (12, 25, 8, 18, 10, 30)}
WIDTH = {"nodes": 1, "burst": 2}
MAX_JOB_SECONDS = 60
"""Seconds that the longest job takes."""
JOB = f"""\
case $(hostname) in *-{MAX_SIZE - 1}) mkdir /ledger/longest 2>/dev/null && echo $1 >/ledger/longest/job;; esac
test "$FLUX_TASK_RANK" = 0 && echo "begin $1 $(date +%s.%N) $(hostname)" >>/ledger/log
sleep $2
test "$(cat /ledger/longest/job)" = $1 && sleep $(({MAX_JOB_SECONDS} - $2))  # in all of its tasks
test "$FLUX_TASK_RANK" = 0 && echo "end $1 $(date +%s.%N) $(hostname)" >>/ledger/log
exit 0
"""
SUBMIT = """\
date +%s.%N
number=$1 nodes=$2; shift 2
for seconds; do
    flux submit --quiet -N$nodes -n$nodes sh /ledger/job $number $seconds
    number=$((number + 1))
done
"""


@dataclass
class Scene:
    """One MiniCluster with its autoscaler, and what is known of it."""

    live: Live
    shell: CommandLine
    folder: Path
    sizes: Sizes
    demands: list[tuple[float, int]] = field(default_factory=list)
    submitted: list[tuple[float, int]] = field(default_factory=list)

    def submit(self, nodes: int, *seconds: float) -> float:
        """Send jobs on so many nodes each; return when that began, by the one clock that all have."""
        number = sum(count for _, count in self.submitted)
        words = ("--", "sh", "/ledger/submit", number, nodes, *seconds)
        done = self.shell.process("shell", self.live.name, *words)
        if done.returncode:
            raise SystemExit(f"jobs cannot be submitted: {done.stderr}")
        began = float(done.stdout.split()[0])
        self.submitted.append((began, len(seconds)))
        return began

    def runs(self) -> list[Run]:
        """Return the jobs that began, with their ends as far as they have any."""
        file = self.folder / "log"
        found: dict[int, Run] = {}
        for line in file.read_text().splitlines() if file.exists() else ():
            what, number, when, host = line.split()
            if what == "begin":
                found[int(number)] = Run(int(number), int(host.rpartition("-")[2]), float(when))
            else:
                found[int(number)].ends.append(float(when))
        return list(found.values())

    def asked(self, size: int, since: float) -> float:
        """Wait until another size is asked for than before; return when it was."""

        def poll() -> float:
            found = [each for each in self.sizes.moments if each.time > since and each.asked == size]
            return found[0].time if found else 0.0

        return until(poll, f"size {size} to be asked for", TIMEOUT)

    def idle(self) -> float:
        """Wait until one broker is left and all jobs have ended; return when it was so."""

        def poll() -> bool:
            ended = sum(len(each.ends) for each in self.runs())
            last = self.sizes.moments[-1]
            return ended == sum(count for _, count in self.submitted) and (last.asked, last.pods) == (1, 1)

        try:
            until(poll, "one broker and nothing to do", TIMEOUT)
        except TimeoutError as error:
            autoscaler = self.live.api.get(f"{HPAS.format(self.live.namespace)}/mc")["status"]
            known = f"{self.runs()}\n{self.sizes.moments[-5:]}\n{autoscaler}\n{self.live.item}"
            raise SystemExit(f"{error}\n{known}\n{self.live.pods.logs()}") from error
        return self.sizes.moments[-1].time

    def follow(self, over: threading.Event) -> None:
        """Note what is demanded, where that is known."""
        api = Api(self.live.api.access)
        resource_path = (
            f"{adapters.V2}/namespaces/{self.live.namespace}/{MINICLUSTERS.plural}.flux-framework.org/mc"
        )
        while not over.wait(POLL_INTERVAL):
            with contextlib.suppress(ApiError):
                [item] = api.get(f"{resource_path}/{METRIC}")["items"]
                self.demands.append((time.time(), int(item["value"])))


@contextlib.contextmanager
def scene(plane: ControlPlane, image: str, form: str, *, plotted: bool = False) -> Iterator[Scene]:
    """Have a MiniCluster of one broker with an autoscaler; plotted: what is demanded is read meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        for file, text in (("job", JOB), ("submit", SUBMIT)):
            (folder / file).write_text(text)
        live = Live(plane.api, space(plane.api), image=image)
        volume = {"hostPath": name, "path": "/ledger"}
        container = {"volumes": {"ledger": volume}, "resources": {"requests": {"cpu": "1"}}}
        sizes = {"size": 1, "minSize": 1, "maxSize": MAX_SIZE, "drainTimeoutSeconds": 2 * MAX_JOB_SECONDS}
        live.create(container, interactive=True, **sizes).joined(1)
        shell = CommandLine(plane.kubeconfig, live.namespace)
        with autoscalers.watching(plane.api, live.namespace) as followed:
            found, over = Scene(live, shell, folder, followed), threading.Event()
            follower = threading.Thread(target=found.follow, args=[over], daemon=True)
            if plotted:
                follower.start()
            if form == DOCUMENT:
                live.change(autoscaling=AT_ONCE)
            else:
                plane.api.create(HPAS.format(live.namespace), autoscalers.hpa(form, most=MAX_SIZE))
            until(lambda: autoscalers.active(plane.api, live.namespace) == "True", "the autoscaler", TIMEOUT)
            until(lambda: found.demands or not plotted, "the nodes demanded", TIMEOUT)
            yield found
            over.set()
            if plotted:
                follower.join()
        plane.api.delete(f"{HPAS.format(live.namespace)}/mc")
        live.delete()
        until(lambda: not operators.owned(plane.api, live.namespace), "its end", TIMEOUT)


def jobs(scene: Scene, scenario: str) -> tuple[dict[str, Any], Course]:
    """Run one or two bursts of jobs; return the figures, and the course of it all."""
    seconds, nodes = SECONDS[scenario], WIDTH[scenario]
    began = scene.submit(nodes, *seconds)
    grown = scene.asked(MAX_SIZE, began)
    until(lambda: scene.sizes.moments[-1].brokers == MAX_SIZE, "all brokers", TIMEOUT)
    joined = scene.sizes.moments[-1].time
    if scenario == "burst":
        until(lambda: scene.sizes.moments[-1].asked < MAX_SIZE, "the shrink to begin", TIMEOUT)
        scene.submit(nodes, *seconds)
    end = scene.idle()
    runs = scene.runs()
    last = max(runs, key=lambda run: run.ends[-1])
    course = Course(began, end, scene.sizes.moments, scene.demands, scene.submitted, runs, nodes)
    listed = states(scene)
    figures = {
        "jobs": listed,
        "run_more_than_once": sum(len(run.ends) != 1 for run in runs),
        "sizes": scene.sizes.asked,
        "turns": scene.sizes.reversals,
        "asked_for_4_s": round(grown - began, 2),
        "joined_4_s": round(joined - began, 2),
        "last_job_s": round(last.ends[-1] - began, 2),
        "last_job_on_rank": last.rank,
        "back_to_1_s": round(end - last.ends[-1], 2),
    }
    return figures, course


def states(scene: Scene) -> dict[str, int]:
    """Count the instance's jobs by how they ended."""
    rows = scene.shell("jobs", scene.live.name, "--all", "--output", "json").stdout
    found = [str(row["state"]) for row in json.loads(rows)]
    if set(found) != {"COMPLETED"}:
        events = operators.events(scene.live.api, scene.live.namespace)
        print(rows, *events, scene.live.pods.logs(), sep="\n", file=sys.stderr)
    return {state: found.count(state) for state in sorted(set(found))}


def reaction(scene: Scene, submissions: int) -> dict[str, Any]:
    """Send a job on two nodes again and again, at any moment of the autoscaler's period."""
    times = []
    for _ in range(submissions):
        time.sleep(random.random())
        began = scene.submit(2, 0)
        times.append(scene.asked(2, began) - began)
        print(f"asked for after {times[-1]:.2f} s", file=sys.stderr, flush=True)
        scene.idle()
    return {"submissions": submissions, "seconds": summary(times, 2), "all": [round(t, 2) for t in times]}


def main() -> None:
    """Run a scenario."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scenario", choices=[*SECONDS, "reaction"], default="nodes")
    parser.add_argument(
        "--form",
        choices=[DOCUMENT, *autoscalers.FORMS],
        default=DOCUMENT,
        help="the autoscaler of spec.autoscaling, or one written by hand on metrics of this type",
    )
    parser.add_argument("--submissions", type=int, default=20)
    parser.add_argument("--real-flux", action="store_true")
    parser.add_argument("--plot", type=picture, metavar="FILE.png")
    args = parser.parse_args()
    image = node_images.REAL if args.real_flux else node_images.EMBEDDED
    options = Options(crds=[document.crd()], nodes=MAX_SIZE, controller_manager=EVERY_SECOND)
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster(options) as plane,
        operators.running(operators.account(plane), Path(folder, "log")) as operator,
        adapters.beside(plane, operator, Path(folder, "adapter")),
        scene(plane, image, args.form, plotted=args.plot is not None) as found,
    ):
        if args.scenario == "reaction":
            figures = reaction(found, args.submissions)
        else:
            figures, course = jobs(found, args.scenario)
            if args.plot:
                plot(course, args.plot)
                print(f"plotted to {args.plot}", file=sys.stderr)
    engine = "flux" if args.real_flux else "embedded"
    about: dict[str, object] = {"scenario": args.scenario, "form": args.form, "engine": engine}
    report("a MiniCluster that follows its queue", "s", about | figures)


if __name__ == "__main__":
    main()
