"""Clusters that stay: what each command does, and what survives which loss."""

from __future__ import annotations

import json
import os
import signal
import socket
import tarfile
from pathlib import Path

import pytest
from local_machine import PROGRAM, SHORT, Machine, document, eventually

SPEC = {"maxSize": 4, "interactive": True, "drainTimeoutSeconds": 2}


@pytest.fixture
def up(machine: Machine, tmp_path: Path) -> Machine:
    """A cluster of two brokers with one core each, called mc."""
    path = document(tmp_path, spec=SPEC, resources={"limits": {"cpu": "1"}})
    done = machine.up(path)
    assert done.returncode == 0, done.stderr
    return machine


def test_a_life(up: Machine) -> None:
    """Submit, list, attach, cancel, logs, shell, down: one after the other on one cluster, each as typed."""
    up.as_processes = SHORT
    job = up.good(
        "submit", "mc", "-n", "2", "--", "sh", "-c", 'echo "$0 from $FLUX_TASK_RANK"', "a  b"
    ).stdout.strip()
    attached = up.good("attach", "mc", job)
    assert sorted(attached.stdout.splitlines()) == ["0: a  b from 0", "1: a  b from 1"]
    failing = up.good("submit", "mc", "--", "sh", "-c", "exit 3").stdout.strip()
    assert up.call("attach", "mc", failing).returncode == 3
    sleeping = up.good("submit", "mc", "--", "sleep", "600").stdout.strip()
    up.good("cancel", "mc", sleeping)
    assert up.call("attach", "mc", sleeping).returncode != 0
    rows = {row["id"]: row["state"] for row in up.rows("jobs", "mc", "--all")}
    assert rows == {job: "COMPLETED", failing: "FAILED", sleeping: "CANCELED"}
    assert up.good("shell", "mc", "--", "flux", "getattr", "size").stdout == "4\n"
    assert "mc-0" in up.good("logs", "mc").stdout
    assert up.good("logs", "mc", "--rank", "1").stdout
    up.good("down", "mc")
    assert up.left() == ([], [])


def test_a_shell_knows_the_directory_and_outlives_it(up: Machine) -> None:
    """What is killed at a cluster's end is what it started, not who worked with it."""
    program, again = " ".join(PROGRAM), f"MINICLUSTER_RUNTIME_DIR={up.root}"
    words = f'test -S "$MINICLUSTER_DIRECTORY/control" && {again} {program} down mc && echo outlived'
    done = up.good("shell", "mc", "--", "sh", "-c", words)
    assert done.stdout == "cluster mc is down\noutlived\n"


def test_list_and_status_show_how_it_is(up: Machine) -> None:
    (row,) = up.rows("list")
    assert (row["name"], row["phase"], row["size"], row["max_size"], row["engine"]) == (
        "mc",
        "Running",
        2,
        4,
        up.engine,
    )
    (status,) = up.rows("status", "mc")
    assert (status["brokers_online"], status["cores"], status["jobs_running"]) == (2, 2, 0)
    assert [broker["rank"] for broker in status["brokers"]] == [0, 1, 2, 3]


def test_a_second_of_the_same_name_is_refused(up: Machine, tmp_path: Path) -> None:
    done = up.up(tmp_path / "mc.yaml")
    assert (done.returncode, done.stderr) == (
        125,
        "minicluster: cluster mc: is up already; `minicluster down mc` ends it\n",
    )


def test_growing_beyond_the_maximum_is_refused(up: Machine) -> None:
    done = up.call("scale", "mc", "5")
    assert done.returncode == 2
    assert "scale 5: cluster mc knows 4 hosts; set spec.maxSize in its document" in done.stderr


def test_a_job_that_cannot_finish_moves_and_its_dependents_with_it(up: Machine, tmp_path: Path) -> None:
    """It is started again under a new id that names the old one; dependents wait for that."""
    ledger = tmp_path / "ledger"
    blocker = up.good("submit", "mc", "--", "sleep", "600").stdout.strip()
    once = f"test -e {tmp_path}/again && echo moved >>{ledger} || sleep 600"
    stuck = up.good("submit", "mc", "--", "sh", "-c", once).stdout.strip()
    middle = up.good(
        "submit", "mc", f"--dependency=afterok:{stuck}", "--", "sh", "-c", f"echo middle >>{ledger}"
    )
    last = f"--dependency=afterok:{middle.stdout.strip()}"
    up.good("submit", "mc", last, "--", "sh", "-c", f"echo last >>{ledger}")
    eventually(lambda: _ranks(up) == {"0", "1"}, "both jobs to run")
    (tmp_path / "again").touch()
    scaled = up.good("scale", "mc", "1")
    assert "was restarted as" in scaled.stderr
    up.good("cancel", "mc", blocker)
    eventually(lambda: not up.rows("jobs", "mc"), "the end of all jobs")
    assert ledger.read_text().split() == ["moved", "middle", "last"]


def _ranks(machine: Machine) -> set[str]:
    return {job["ranks"] for job in machine.rows("jobs", "mc") if job["state"] == "RUN"}


def test_a_lost_follower_is_replaced(up: Machine) -> None:
    """The script around its broker starts it again in place."""
    first = up.broker(1)
    script = _parent(first)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: up.broker(1) != first, "another broker of rank 1")
    assert _parent(up.broker(1)) == script
    assert eventually(lambda: up.rows("status", "mc")[0]["brokers_online"] == 2, "it to join")


def test_a_lost_pod_is_replaced(up: Machine) -> None:
    """As the Job would: the supervisor starts it again, and what was left of it is gone."""
    first = up.broker(1)
    os.kill(_parent(first), signal.SIGKILL)
    eventually(lambda: up.broker(1) != first, "another broker of rank 1")
    eventually(lambda: up.rows("status", "mc")[0]["brokers_online"] == 2, "it to join")
    assert not Path(f"/proc/{first}/cwd").exists()


def test_a_lost_lead_comes_back_with_its_queue(up: Machine) -> None:
    """Followers end and return with it; what waited still waits."""
    pending = up.good("submit", "mc", "--urgency", "0", "--", "echo", "kept").stdout.strip()
    first = up.broker(0)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: up.broker(0) != first, "another lead")

    def whole() -> bool:
        done = up.call("status", "mc", "--output", "json")
        return done.returncode == 0 and json.loads(done.stdout)[0]["brokers_online"] == 2

    eventually(whole, "all brokers", deadline=60)
    if up.engine == "embedded":  # real Flux writes its state only when it ends in order
        assert [row["id"] for row in up.rows("jobs", "mc")] == [pending]


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_dead_supervisor_is_noticed_and_cleaned_up(up: Machine) -> None:
    (row,) = up.rows("list")
    os.kill(row["pid"], signal.SIGKILL)
    eventually(lambda: not Path(f"/proc/{row['pid']}").exists(), "its end")
    done = up.call("status", "mc")
    assert done.returncode == 1
    assert (
        f"cluster mc: its supervisor (process {row['pid']}) died; what it left has been removed"
        in done.stderr
    )
    assert up.left() == ([], [])


def test_a_mistyped_name_is_recognised(up: Machine) -> None:
    done = up.call("down", "mcc")
    assert (done.returncode, done.stderr) == (
        1,
        "minicluster: cluster mcc: is not up; did you mean mc?\n",
    )


@pytest.mark.parametrize("command", ["attach", "cancel"])
def test_an_unknown_job(up: Machine, command: str) -> None:
    done = up.call(command, "mc", "f123")
    assert (done.returncode, done.stderr) == (
        2,
        "minicluster: f123: cluster mc has no such job; `minicluster jobs mc --all` lists what it has\n",
    )


def test_a_job_that_ended_can_be_attached_to_but_not_cancelled(up: Machine) -> None:
    job = up.good("submit", "mc", "--", "echo", "done").stdout.strip()
    assert [up.good("attach", "mc", job).stdout for _ in range(2)] == ["done\n"] * 2
    done = up.call("cancel", "mc", job)
    assert (done.returncode, done.stderr) == (
        2,
        f"minicluster: {job}: has ended already, with COMPLETED; there is nothing to cancel\n",
    )


def test_two_scalings_at_once_are_done_one_by_one(up: Machine) -> None:
    both = [up.start("scale", "mc", size) for size in ("3", "4")]
    ends = [each.communicate(timeout=60) for each in both]
    assert [each.returncode for each in both] == [0, 0], ends
    assert up.rows("status", "mc")[0]["brokers_online"] in {3, 4}


def test_a_deadline_ends_a_cluster_that_stays(embedded: Machine, tmp_path: Path) -> None:
    """As on Kubernetes, where it ends the Job; `up` says so."""
    done = embedded.up(document(tmp_path, spec={**SPEC, "deadlineSeconds": 2}))
    assert done.returncode == 0
    assert "minicluster: spec.deadlineSeconds: the cluster ends by itself in 2 s" in done.stderr
    eventually(lambda: embedded.left() == ([], []), "its end")


def test_a_deadline_that_passes_while_it_comes_up(embedded: Machine, tmp_path: Path) -> None:
    path = document(tmp_path, spec={**SPEC, "deadlineSeconds": 1}, commands={"pre": "sleep 600"})
    done = embedded.up(path)
    assert done.returncode == 124
    assert "spec.deadlineSeconds 1: the time is over; the cluster was ended" in done.stderr
    assert embedded.left() == ([], [])


def test_down_without_such_a_cluster(machine: Machine) -> None:
    done = machine.call("down", "mc")
    assert (done.returncode, done.stderr) == (
        1,
        "minicluster: cluster mc: is not up; `minicluster list` shows the ones that are\n",
    )


def test_a_dump_that_cannot_be_written_ends_nothing(up: Machine, tmp_path: Path) -> None:
    """The cluster goes on, and starts jobs again."""
    done = up.call("down", "mc", "--dump", tmp_path / "absent" / "x.tar")
    assert done.returncode == 2
    assert "there is no directory" in done.stderr
    job = up.good("submit", "mc", "--", "echo", "alive").stdout.strip()
    assert up.good("attach", "mc", job).stdout == "alive\n"


def test_jobs_that_end_with_the_cluster_are_counted(up: Machine, tmp_path: Path) -> None:
    """`--dump` keeps them; the words are in the singular for one."""
    running = up.good("submit", "mc", "-N", "2", "-x", "--", "sleep", "600").stdout.strip()
    up.good("submit", "mc", "--cc", "1-2", "--", "true")
    eventually(lambda: up.rows("jobs", "mc", running)[0]["state"] == "RUN", "the job runs")
    done = up.good("down", "mc")
    note = "1 running and 2 waiting jobs were canceled; --dump FILE would have kept them"
    assert done.stdout == f"cluster mc is down\n{note}\n"


def test_a_running_job_begins_anew_from_a_dump(embedded: Machine, tmp_path: Path) -> None:
    """Its new id is reported, and that an older dump is replaced."""
    dump = tmp_path / "x.dump"
    dump.write_text("an older one")
    file = document(tmp_path, spec={**SPEC, "drainTimeoutSeconds": 1}, resources={"limits": {"cpu": "1"}})
    assert embedded.up(file).returncode == 0
    job = embedded.good("submit", "mc", "--", "sleep", "600").stdout.strip()
    eventually(lambda: embedded.rows("jobs", "mc", job)[0]["state"] == "RUN", "the job runs")
    done = embedded.good("down", "mc", "--dump", dump)
    assert done.stdout == "cluster mc is down\n"
    assert f"minicluster: {dump} is there already: it will be replaced\n" in done.stderr
    assert f"minicluster: job {job} still runs: it begins anew when the dump is restored, as ƒ" in done.stderr


def test_a_dump_is_its_owners_alone(up: Machine, tmp_path: Path) -> None:
    """It holds the environment of every job; what an interrupted save left beside it goes."""
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / ".x.dump.a1b2c3d4.partial.tar").touch()
    up.good("down", "mc", "--dump", folder / "x.dump")
    assert [(each.name, each.stat().st_mode & 0o777) for each in folder.iterdir()] == [("x.dump", 0o600)]


def test_brokers_that_left_before_a_dump_take_work_after_it(up: Machine, tmp_path: Path) -> None:
    dump = tmp_path / "x.dump"
    up.good("scale", "mc", "1")
    up.good("down", "mc", "--dump", dump)
    done = up.up(document(tmp_path, spec=SPEC, resources={"limits": {"cpu": "1"}}), "--restore", str(dump))
    assert done.returncode == 0, done.stderr
    free = up.good("shell", "mc", "--", "flux", "resource", "list", "-s", "free", "-no", "{nnodes}")
    assert free.stdout == "2\n"
    job = up.good("submit", "mc", "-N", "2", "-n", "2", "--", "true").stdout.strip()
    assert up.good("attach", "mc", job).stderr == ""


def test_the_queue_has_started_when_a_restored_cluster_is_up(up: Machine, tmp_path: Path) -> None:
    """It was stopped for the dump. A dependency on another job is still shown by the other's id."""
    first = up.good("submit", "mc", "--urgency", "hold", "--", "true").stdout.strip()
    up.good("submit", "mc", "--dependency", f"afterok:{first}", "--", "true")
    before = [row["info"] for row in up.rows("jobs", "mc")]
    up.good("down", "mc", "--dump", tmp_path / "x.dump")
    done = up.up(tmp_path / "mc.yaml", "--restore", str(tmp_path / "x.dump"))
    assert done.returncode == 0, done.stderr
    assert up.good("shell", "mc", "--", "flux", "queue", "status").stdout.endswith("Scheduling is started\n")
    after = [row["info"] for row in up.rows("jobs", "mc")]
    assert f"depends on after-success={first}" in before
    assert after == before


def test_what_is_to_go_does_not_wait_for_a_drain(embedded: Machine, tmp_path: Path) -> None:
    """The cluster ends while `scale` waits for a job."""
    path = document(tmp_path, spec={**SPEC, "drainTimeoutSeconds": 30}, resources={"limits": {"cpu": "1"}})
    assert embedded.up(path).returncode == 0
    embedded.good("submit", "mc", "-N", "2", "--", "sleep", "600")
    scaling = embedded.start("scale", "mc", "1")
    try:
        eventually(lambda: embedded.rows("list")[0]["phase"] == "Scaling", "the cluster to be scaled")
        embedded.good("down", "mc")
        assert embedded.left() == ([], [])
        assert scaling.wait(30) in {0, 125}  # 0: with the job it came to its end just before
    finally:
        scaling.kill()
        scaling.communicate()


def test_a_dump_of_the_other_engine_is_refused(embedded: Machine, tmp_path: Path) -> None:
    """The message names both engines."""
    dump = tmp_path / "x.tar"
    with tarfile.open(dump, "w") as archive:
        archive.add(tmp_path, "job", recursive=False)
    done = embedded.up(document(tmp_path, spec=SPEC), "--restore", str(dump))
    assert done.returncode != 0
    assert "embedded" in done.stderr
    assert "Flux" in done.stderr
    assert embedded.left() == ([], [])


@pytest.mark.parametrize("name", ["absent", "."], ids=["absent", "directory"])
def test_what_is_no_file_cannot_be_restored(embedded: Machine, tmp_path: Path, name: str) -> None:
    done = embedded.up(document(tmp_path, spec=SPEC), "--restore", str(tmp_path / name))
    assert done.returncode == 2
    assert "there is no such file, or it cannot be read" in done.stderr


def test_the_control_socket_is_the_owners(up: Machine) -> None:
    """Its directory lets nobody else in, and words that are no order are answered, not obeyed."""
    control = up.root / "mc" / "control"
    assert control.parent.stat().st_mode & 0o077 == 0
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(control))
        connection.sendall(b'{"order": "dance"}\n')
        assert json.loads(connection.recv(1000)) == {"error": "unknown order 'dance'"}


def test_ctrl_c_while_it_comes_up_leaves_nothing(machine: Machine, tmp_path: Path) -> None:
    path = document(tmp_path, spec=SPEC, commands={"pre": "sleep 600"})
    run = machine.start("up", path, "--engine", machine.engine)
    eventually(lambda: list(machine.root.glob("mc/log/mc-1.log")), "the pods")
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=30)
    assert run.returncode == 130, errors
    assert machine.left() == ([], [])


def test_a_lead_that_cannot_start_reports_why(machine: Machine, tmp_path: Path) -> None:
    path = document(tmp_path, spec={**SPEC, "logging": {"strict": True}}, commands={"brokerPre": "exit 9"})
    done = machine.up(path)
    assert done.returncode == 125
    assert "the cluster did not come up" in done.stderr
    assert machine.left() == ([], [])
