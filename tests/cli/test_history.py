"""What an instance has run, as a workload."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.cli import history, simulate
from minicluster.cli.history import Past
from minicluster.instance.records import Job, JobState
from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.speedup import Fixed

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS = (
    Job(
        20,
        JobState.INACTIVE,
        t_submit=105,
        t_run=110,
        t_cleanup=130,
        ncores=2,
        urgency=20,
        userid=7,
        name="a",
    ),
    Job(10, JobState.INACTIVE, t_submit=100, t_run=101, t_inactive=104, ncores=4, duration=60, name="b"),
    Job(30, JobState.SCHED, t_submit=106, ncores=4),
    Job(40, JobState.RUN, t_submit=107, t_run=108, ncores=4),
)


class _Instance:
    """Knows some jobs, of which a is elastic; 6 cores are online. It is all parts of the port."""

    @property
    def jobs(self) -> _Instance:
        return self

    nodes = jobs

    def find(self, limit: int) -> list[Job]:
        return list(JOBS)

    def get(self, jobid: int) -> Any:
        return SimpleNamespace(attributes={"elastic": {"min": 1, "max": 8}} if jobid == 20 else {})

    def resources(self) -> Any:
        return SimpleNamespace(all=SimpleNamespace(cores=16), offline=SimpleNamespace(cores=10))


def test_jobs_that_have_run_come_in_the_order_of_their_submission() -> None:
    past, running, cores = history.of_instance(_Instance())  # type: ignore[arg-type]
    first, second = history.workload(past, cores, "mc").jobs
    assert running == 1, "it has no run time"
    assert (first.kind, first.submitted, first.min, first.max, first.time) == ("b", 0, 4, 4, Fixed(3))
    assert (first.limit, first.priority, first.malleable) == (60, 16, False)
    assert (second.kind, second.submitted, second.priority, second.user) == ("a", 5, 20, 7)


def test_a_notice_has_how_many_jobs_still_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = SimpleNamespace(ask=lambda _name, question: question(_Instance()))
    monkeypatch.setattr(simulate, "chosen", lambda _ctx: backend)
    ctx: Any = None
    found, left_out = simulate._history(ctx, "mc", 0, "refuse")
    assert found is not None
    assert (len(found.jobs), left_out) == (2, {"left_out": 1})
    assert capsys.readouterr().err.splitlines() == [
        "minicluster: simulating mc on 6 cores, all that it has now; --size takes another number",
        "minicluster: 1 job that still runs is left out",
    ]


def test_an_elastic_job_takes_as_long_at_its_size_as_it_took_there() -> None:
    past, _, cores = history.of_instance(_Instance())  # type: ignore[arg-type]
    job = history.workload(past, cores, "mc").jobs[1]
    assert (job.min, job.max, job.malleable) == (1, 6, True), "at most the whole cluster"
    assert job.time.seconds(2) == pytest.approx(20)
    assert 20 < job.time.seconds(1) < 40


@pytest.mark.parametrize(
    ("past", "total", "message"),
    [
        ([], 8, "mc: none of its jobs has run yet"),
        (
            [Past(0, 1, 2, 4, 0, 16, 0, "a")],
            0,
            "mc: a dump does not tell how many cores there were; say so with --size",
        ),
        (
            [Past(0, 1, 2, 4, 0, 16, 0, "a")],
            2,
            "mc: job 1: needs 4 units, and the cluster has 2; --oversized skips or clips it",
        ),
    ],
)
def test_a_history_that_cannot_be_simulated_is_refused(past: list[Past], total: int, message: str) -> None:
    with pytest.raises(WorkloadError) as error:
        history.workload(past, total, "mc")
    assert str(error.value) == message


@pytest.mark.parametrize("content", [None, b"", b"text"])
def test_a_file_that_is_no_dump_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "x.dump").write_bytes(content)
    with pytest.raises(WorkloadError, match="needed is the name of a cluster that is up, or a file that"):
        history.of_dump(str(tmp_path / "x.dump"))


class _Cluster:
    """A cluster of this test's own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        document = {
            "apiVersion": "flux-framework.org/v1alpha2",
            "kind": "MiniCluster",
            "metadata": {"name": "hist"},
            "spec": {"size": 1, "interactive": True, "containers": [{"image": "none"}]},
        }
        (root / "mc.yaml").write_text(json.dumps(document))

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "minicluster.cli", *arguments],
            env={**os.environ, "MINICLUSTER_RUNTIME_DIR": str(self.root / "run")},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        return list(json.loads(self(*arguments, "--output", "json")))


@pytest.fixture
def cluster() -> Iterator[_Cluster]:
    root = Path(tempfile.mkdtemp(prefix="mct-", dir="/tmp"))
    made = _Cluster(root)
    made("up", str(root / "mc.yaml"), "--engine", "embedded")
    yield made
    for row in made.rows("list"):
        made("down", row["name"])
    shutil.rmtree(root, ignore_errors=True)


def test_a_cluster_and_its_dump_have_the_same_history(cluster: _Cluster) -> None:
    for seconds in ("0.1", "0.2"):
        cluster("submit", "hist", "--", "sleep", seconds)
    cluster("shell", "hist", "--", "flux", "queue", "drain")
    live = cluster.rows("simulate", "--from", "hist", "--policy", "fcfs")
    assert live[0]["left_out"] == 0
    dump = cluster.root / "hist.dump"
    cluster("down", "hist", "--dump", str(dump))
    dumped = cluster.rows("simulate", "--from", str(dump), "--size", "64", "--policy", "fcfs")
    assert live[0]["jobs"] == dumped[0]["jobs"] == 2
    assert live[0]["run_time"] == pytest.approx(dumped[0]["run_time"], abs=0.05)
    assert live[0]["run_time"] >= 0.15
