"""The rendered broker.toml, R, certificate and start script start real Flux unchanged."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from broker_config.scheduler_settings import SchedulerSettings
from broker_config.settings import (
    ArchiveSettings,
    BrokerSettings,
    Command,
    HookScripts,
    LoggingSettings,
    NodeResources,
    RunMode,
    Submit,
)

AWKWARD = ["", "a b", "-x", "--", "$HOME", "`id`", "'", '"', "\\", "line\nbreak", "é", "*", "~", "\udcff"]


def settings(line="", **more):
    return BrokerSettings("mc", **{"size": 2, "command": Command(line), **more})


def test_every_broker_joins_and_the_command_runs_on_all(cluster):
    """Three brokers, one task each."""
    mc = cluster(
        settings("sh -c 'echo task $FLUX_TASK_RANK of $FLUX_JOB_NNODES'", size=3, submit=Submit(3))
    ).start()
    assert mc.codes() == {0: 0, 1: 0, 2: 0}
    assert {f"task {rank} of 3" for rank in range(3)} <= set(mc.output().splitlines())


def test_resources_are_the_configured_ones(cluster):
    """R's cores and hosts, not this machine's."""
    mc = cluster(
        settings("flux resource list -s up -no '{nnodes} {ncores} {nodelist}'", mode=RunMode.LAUNCHER)
    ).start()
    mc.codes()
    assert "2 2 mc-[0-1]" in mc.output()


def test_cores_are_found_where_none_are_given(cluster):
    """As many as this process may use, on each of the two brokers."""
    query = "flux resource list -s up -no '{nnodes} {ncores}'"
    mc = cluster(settings(query, mode=RunMode.LAUNCHER, node=NodeResources(cores=None))).start()
    mc.codes()
    assert f"2 {2 * len(os.sched_getaffinity(0))}" in mc.output()


LAUNCHER, BATCH = {"mode": RunMode.LAUNCHER}, {"mode": RunMode.BATCH}
RAW = {"mode": RunMode.BATCH, "batch_raw": True}


def line(text, **more):
    return {"command": Command(text), **more}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        pytest.param(line("sh -c 'exit 7'"), 7, id="plain"),
        pytest.param(line("true; exit 7"), 7, id="line-of-two-commands"),
        pytest.param(line("flux run -N2 true; exit 5", **LAUNCHER), 5, id="launcher"),
        pytest.param(line("true\nsh -c 'exit 4'\n-N2 hostname", **BATCH), 4, id="batch"),
        pytest.param(line("flux run -N2 true\nexit 9", **RAW), 9, id="batch-raw"),
        pytest.param({"hooks": HookScripts(script="exit 3\n")}, 3, id="script"),
        pytest.param(line("/no/such/program"), 127, id="not-found"),
        pytest.param(line("sh -c 'kill -9 $$'"), 1, id="killed"),
        pytest.param(line("true", submit=Submit(99)), 1, id="too-large"),
        pytest.param(line("sh -c 'exit 6'", submit=Submit(1, command="flux run")), 6, id="flux-run"),
        pytest.param(line("true", submit=Submit(0)), 0, id="nodes-only"),
        pytest.param(line("true", scheduler=SchedulerSettings("easy", simple=True)), 0, id="simple"),
        pytest.param(line("true", topology="kary:1"), 0, id="topology"),
    ],
)
def test_exit_code(cluster, more, code):
    """Of the main command, in every mode."""
    mc = cluster(settings(**{"submit": Submit(2), **more})).start()
    assert mc.wait() == code, mc.output()


def test_true_exit_code_is_in_the_termination_log(cluster):
    """75 would ask for a new pod: the lead ends with 1."""
    mc = cluster(settings("sh -c 'exit 75'")).start()
    assert (mc.wait(), (mc.directory / "termination-0").read_text()) == (1, "75\n")


@pytest.mark.parametrize("mode", [RunMode.PLAIN, RunMode.LAUNCHER, RunMode.BATCH])
def test_arguments_reach_the_task_unchanged(cluster, tmp_path, mode):
    """Spaces, quotes, dollars, newlines, bytes that are no text, through flux submit and flux batch."""
    record = tmp_path / "record"
    record.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" >'{tmp_path}/recorded'\n")
    record.chmod(0o755)
    mc = cluster(settings(command=Command(args=(str(record), *AWKWARD)), mode=mode)).start()
    assert mc.wait() == 0, mc.output()
    assert [os.fsdecode(word) for word in (tmp_path / "recorded").read_bytes().split(b"\0")[:-1]] == AWKWARD


def test_batch_output_is_in_the_logs_directory(cluster):
    """One file a job and stream."""
    mc = cluster(settings("echo one\necho two >&2", mode=RunMode.BATCH)).start()
    assert mc.wait() == 0, mc.output()
    logs = mc.directory / "logs"
    assert ((logs / "job-0.out").read_text(), (logs / "job-1.err").read_text()) == ("one\n", "two\n")


def test_jobs_do_not_ignore_interrupts(cluster):
    """A shell's background processes ignore SIGINT; the broker's jobs must not."""
    mc = cluster(settings("grep SigIgn /proc/self/status")).start()
    mc.wait()
    ignored = next(line for line in mc.output().splitlines() if line.startswith("SigIgn"))
    assert not int(ignored.split()[1], 16) & (1 << (signal.SIGINT - 1))


def test_interactive_instance_stays_until_it_is_shut_down(cluster):
    """Followers then end with 0."""
    mc = cluster(settings()).start()
    mc.online(2)
    assert mc.flux("run", "-N2", "echo", "here").split() == ["here", "here"]
    mc.flux("shutdown", "--quiet")
    assert mc.codes() == {0: 0, 1: 0}


def test_absent_hosts_may_join_later(cluster):
    """max_size hosts are declared, size of them are waited for."""
    mc = cluster(settings(size=1, max_size=2)).start(0)
    mc.online(1)
    mc.start(1)
    mc.online(2)
    mc.flux("shutdown", "--quiet")
    assert mc.codes() == {0: 0, 1: 0}


def test_terminated_follower_ends_with_75(cluster):
    """Real Flux's broker ends with 0 then, which would leave its index done."""
    mc = cluster(settings()).start()
    mc.online(2)
    mc.processes[1].terminate()
    assert mc.wait(1) == 75


def test_killed_follower_rejoins(cluster):
    """The broker is started again in place."""
    mc = cluster(settings()).start()
    mc.online(2)
    os.kill(mc.broker(1), signal.SIGKILL)
    mc.until(lambda: "it is started again in 1 s" in mc.output(1), "a restart")
    both = ["here", "here"]
    assert mc.until(lambda: mc.flux("run", "-N2", "-t2s", "echo", "here").split() == both, "a job on both")


def test_followers_come_back_when_a_killed_lead_does(cluster):
    """The lead's end asks for a new pod; the followers' pods stay."""
    mc = cluster(settings()).start()
    mc.online(2)
    os.kill(mc.broker(0), signal.SIGKILL)
    assert mc.wait(0) == 137
    mc.start(0)
    mc.until(lambda: "it is started again in 1 s" in mc.output(1), "a restart")
    mc.online(2)


def test_followers_come_back_when_a_terminated_lead_does(cluster):
    """An orderly end would end them with 0, and their pods for good."""
    mc = cluster(settings("sleep 60", size=3)).start()
    mc.online(3)
    mc.processes[0].terminate()
    assert mc.wait(0) == 143
    assert [mc.processes[rank].poll() for rank in (1, 2)] == [None, None]
    mc.start(0)
    mc.online(3)


def test_sigterm_saves_every_job_and_another_size_takes_them_up(cluster, tmp_path):
    """Each of the jobs completes exactly once, over two lives of the instance."""
    ledger, archive = tmp_path / "ledger", tmp_path / "saved" / "state.tgz"
    first = cluster(settings(archive=ArchiveSettings(str(archive), 30)), "first").start()
    first.online(2)
    first.flux("submit", "--cc=1-6", "-n1", "sh", "-c", f"sleep 4; echo $FLUX_JOB_CC >>{ledger}")
    first.until(lambda: first.flux("jobs", "-n", "--filter=running"), "a running job")
    first.processes[0].terminate()
    assert first.wait(0) == 143, first.output()
    done = len(ledger.read_text().split())
    assert 0 < done < 6

    second = cluster(settings(size=3, archive=ArchiveSettings(str(archive), 30)), "second").start()
    second.until(lambda: len(ledger.read_text().split()) == 6, "the rest")
    assert sorted(ledger.read_text().split()) == list("123456")


def test_a_dump_into_a_file_that_is_there_leaves_its_mode(real_flux, tmp_path):
    """The start script makes it for its owner alone; what Flux makes itself anybody can read."""
    modes = {}
    for name in ("made", "new"):
        dump = tmp_path / f"{name}.tgz"
        if name == "made":
            dump.touch(0o600)
        subprocess.run(
            [real_flux, "start", f"-Scontent.dump={dump}", "true"], check=True, umask=0o022, timeout=60
        )
        assert dump.stat().st_size > 0
        modes[name] = oct(dump.stat().st_mode & 0o777)
    assert modes == {"made": "0o600", "new": "0o644"}


def test_job_that_outlasts_the_drain_is_started_again_after_the_restore(cluster, tmp_path):
    """Under a new id that names the old one; the quotes of its command survive."""
    ledger, archive = tmp_path / "ledger", tmp_path / "state.tgz"
    body = f"""echo '{{"user": {{}}}}' >>{ledger}; [ -e {tmp_path}/again ] || sleep 60"""
    first = cluster(settings(archive=ArchiveSettings(str(archive), 1)), "first").start()
    first.online(2)
    old = first.flux("submit", "sh", "-c", body).strip()
    first.until(ledger.exists, "the job's first start")
    first.processes[0].terminate()
    assert first.wait(0) == 143, first.output()
    message = f"job {old.replace('ƒ', 'f')} did not finish: it is started again after the restore"
    assert message in first.output()

    (tmp_path / "again").touch()
    second = cluster(settings(archive=ArchiveSettings(str(archive), 1)), "second").start()
    second.until(lambda: len(ledger.read_text().splitlines()) == 2, "the job's second start")
    assert ledger.read_text() == 2 * '{"user": {}}\n'
    new = second.flux("jobs", "-a", "-n", "-o", "{id.f58}", "-c1").split()[0]
    former = second.flux("job", "id", "--to=dec", old).strip()
    assert f'"restart_of": {former}' in second.flux("job", "info", new, "jobspec")


def test_restored_main_job_is_not_run_again(cluster, tmp_path):
    """Its output and exit code are shown once more."""
    ledger, archive = tmp_path / "ledger", tmp_path / "state.tgz"
    wanted = settings(
        f"sh -c 'echo once >>{ledger}; echo shown; exit 6'", archive=ArchiveSettings(str(archive), 30)
    )
    for name in ("first", "second"):
        mc = cluster(wanted, name).start()
        assert mc.wait() == 6, mc.output()
        assert "shown" in mc.output()
    assert ledger.read_text() == "once\n"


def test_certificate_that_differs_keeps_a_follower_out(cluster):
    """The lead's ZeroMQ refuses the handshake, and the lead goes on without it."""
    mc = cluster(settings(size=1, max_size=2, logging=LoggingSettings(zeromq=True))).start(0)
    mc.online(1)
    other = cluster(settings(), "other")
    certificate = mc.directory / "curve.cert"
    certificate.unlink()
    certificate.write_bytes((other.directory / "curve.cert").read_bytes())
    certificate.chmod(0o400)
    mc.start(1)
    mc.until(lambda: "handshake failed" in mc.output(0).lower().replace("_", " "), "a refused handshake")
    assert mc.flux("resource", "list", "-s", "up", "-no", "{nnodes}").strip() == "1"
