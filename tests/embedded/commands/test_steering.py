"""Jobs, queues, nodes and instances are steered by commands on four real brokers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.embedded.commands.typed import submitted

if TYPE_CHECKING:
    from pathlib import Path


def test_steering_an_inactive_job_is_refused(cluster: Any) -> None:
    number = submitted(cluster, "--wait-event=clean", "true")
    texts = [
        cluster.flux("job", *words).stderr
        for words in (["raise", number], ["kill", number], ["urgency", number, "3"])
    ]
    assert texts == [
        f"flux-job: raise {number}: job is inactive\n",
        f"flux-job: kill {number}: job is inactive\n",
        f"flux-job: {number}: job is inactive\n",
    ]


def test_urgency_releases_a_job(cluster: Any) -> None:
    number = submitted(cluster, "--urgency=hold", "true")
    ran = cluster.flux("job", "urgency", "-v", number, "default")
    assert ran.stderr == "old urgency: job held\n"
    assert cluster.flux("job", "attach", number).returncode == 0


def test_cancelling_what_matches(cluster: Any) -> None:
    for _ in range(2):
        submitted(cluster, "--urgency=0", "true")
    assert cluster.flux("cancel", "--all", "-n").stderr == "flux-cancel: Would cancel 2 jobs\n"
    assert cluster.flux("cancel", "--all").stderr == "flux-cancel: Canceled 2 jobs (0 errors)\n"


def test_queue_waits_have_limits(cluster: Any) -> None:
    submitted(cluster, "--wait-event=start", "sleep", "60")
    for name in ("idle", "drain"):
        ran = cluster.flux("queue", name, "-t", "0.1s")
        assert (ran.returncode, ran.stderr) == (1, f"flux-queue: ERROR: {name}: timeout\n")


def test_a_stopped_queue_starts_nothing(cluster: Any) -> None:
    cluster.flux("queue", "stop")
    submitted(cluster, "true")
    assert cluster.flux("queue", "idle").stdout == "1 jobs\n"
    assert "  scheduler stopped" in cluster.flux("uptime").stdout


def test_drained_nodes(cluster: Any) -> None:
    assert cluster.flux("resource", "drain", "1,3", "two", "words").returncode == 0
    again = cluster.flux("resource", "drain", "1", "other")
    assert again.stderr == (
        "flux-resource: ERROR: [Errno 17] rank 1 already drained\n"
        "flux-resource: INFO: Use --force to overwrite existing drain reason\n"
    )
    listed = cluster.flux("resource", "drain").stdout.splitlines()
    assert listed[0] == "TIME         STATE    REASON                         NODELIST"
    assert listed[1][13:] == "drained  two words                      mc-[1,3]"
    form = "{state:>12}{up:>2} {nnodes:>6} +:{reason:<30.30} {nodelist}"
    long = cluster.flux("resource", "status", "-o", form).stdout.splitlines()
    assert long[-1] == "     drained ✔      2 two words                      mc-[1,3]"
    assert ",  2 drained\n" in cluster.flux("uptime").stdout
    assert "      down      2      4     0 mc-[1,3]\n" in cluster.flux("resource", "list").stdout


def test_a_batch_script_runs_in_its_own_instance(cluster: Any, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(
        "#!/bin/sh\n# flux: -N2\nflux getattr size\nflux run -N2 -l sh -c 'echo in $FLUX_JOB_NNODES'\n"
    )
    number = cluster.flux("batch", str(script), cwd=tmp_path).stdout.strip()
    assert cluster.flux("job", "attach", number).returncode == 0
    lines = (tmp_path / f"flux-{number}.out").read_text().splitlines()
    assert (lines[0], sorted(lines[1:])) == ("2", ["0: in 2", "1: in 2"])


def test_a_batch_job_ends_with_its_scripts_code(cluster: Any) -> None:
    number = cluster.flux("batch", "-n1", "--output=none", "--wrap", "sh", "-c", "exit 9").stdout.strip()
    assert cluster.flux("job", "attach", number).returncode == 9


def test_alloc_runs_a_command_in_a_sub_instance(cluster: Any) -> None:
    ran = cluster.flux("alloc", "-N1", "flux", "getattr", "instance-level")
    assert (ran.returncode, ran.stdout) == (0, "1\n")


def test_dump_writes_a_file(cluster: Any, tmp_path: Path) -> None:
    ran = cluster.flux("dump", "d.tar", cwd=tmp_path)
    assert (ran.returncode, (tmp_path / "d.tar").stat().st_size > 0) == (0, True)
    assert re.fullmatch(r"flux-dump: archived \d+ jobs\n", ran.stderr)


def test_shutdown_ends_the_instance_and_saves_its_jobs(make_instance: Any) -> None:
    instance = make_instance(2).up()
    submitted(instance, "--urgency=0", "true")
    ran = instance.flux("shutdown", "--dump=saved.tar")
    assert (ran.returncode, instance.code(0)) == (0, 0)
    assert "flux-shutdown: shutdown will dump KVS to saved.tar (this may take some time)\n" in ran.stderr
    assert (instance.directory / "saved.tar").stat().st_size > 0
