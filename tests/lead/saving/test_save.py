"""A save, ordered over the lead's API or at the lead's end: no job is lost, none runs twice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.lead.client import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lead.pods import Pods
    from tests.lead.saving.saved import Saved


def test_no_job_is_lost_or_runs_twice(saved: Callable[..., Saved]) -> None:
    """What runs may end, what does not end is started again, pending jobs keep their ids."""
    cluster = saved().up(0, 1, 2)
    long = cluster.submit("long", gate=True)
    for number in range(5):
        cluster.submit(f"wide-{number}", "-N3", "--exclusive")
    cluster.submit("after", f"--dependency=afterok:{long}")
    cluster.submit("any", f"--dependency=afterany:{long}")
    cluster.submit("held", "--urgency=0")
    cluster.running("long")
    before = dict(cluster.names)
    cluster.save(timeout=1)
    message = cluster.saved()
    assert (message["saved"], message["bytes"]) == (str(cluster.archive), cluster.archive.stat().st_size)
    assert (message["jobs"], message["restarted_total"], message["lost"]) == (9, 3, [])
    plain = {name: jobid.replace("ƒ", "f") for name, jobid in before.items()}
    assert {old for old, _ in message["restarted"]} == {plain["long"], plain["after"], plain["any"]}
    assert not cluster.lines()
    cluster.gate.touch()
    cluster.lose_state()
    cluster.up(0)
    for name in ("wide-0", "wide-4", "held"):
        assert cluster.pods.run("jobs", "-n", "-o", "{id}", before[name])
    once = Counter(name for name in before if name != "held")
    until(lambda: cluster.lines() == once, "every job's work")
    assert cluster.state(before["held"]) == "SCHED"


def test_a_job_that_may_run_once_only_is_reported_as_lost(saved: Callable[..., Saved]) -> None:
    """It may have done what must not be done twice."""
    cluster = saved(1).up(0)
    once = cluster.submit("once", "--setattr=user.minicluster.restart=false", gate=True)
    cluster.running("once")
    cluster.save()
    message = cluster.saved()
    assert message["restarted"] == []
    assert message["lost"] == [[once.replace("ƒ", "f"), "it is not to be started again"]]
    cluster.gate.touch()
    cluster.up(0).done()
    assert cluster.lines() == {}


def test_a_saved_state_is_its_owners_alone(saved: Callable[..., Saved]) -> None:
    """It holds the environment of every job."""
    cluster = saved(1).up(0)
    cluster.save()
    cluster.saved()
    [file] = cluster.archive.parent.iterdir()
    assert (file, file.stat().st_mode & 0o777) == (cluster.archive, 0o600)


def test_jobs_that_end_in_time_are_not_restarted(saved: Callable[..., Saved]) -> None:
    """They are waited for."""
    cluster = saved(1).up(0)
    cluster.submit("runs", gate=True)
    cluster.running("runs")
    cluster.save(timeout=600)
    cluster.phase("waiting")
    cluster.gate.touch()
    assert (cluster.saved()["restarted"], cluster.lines()) == ([], {"runs": 1})


def test_followers_stay_and_come_back(saved: Callable[..., Saved]) -> None:
    """Their pods do not end."""
    cluster = saved().up(0, 1, 2)
    cluster.save()
    cluster.saved()
    cluster.up(0)
    with cluster.lead_api.watch() as watch:
        watch.until(online="0-2")
    assert [cluster.pods.processes[rank].poll() for rank in (1, 2)] == [None, None]


def test_order_that_is_repeated_begins_nothing_anew(saved: Callable[..., Saved]) -> None:
    """The first one's time counts."""
    cluster = saved(1).up(0)
    cluster.submit("a", gate=True)
    cluster.running("a")
    cluster.save(timeout=600)
    since = cluster.phase("waiting")["since"]
    cluster.save(timeout=0)
    assert cluster.phase("waiting") == {"phase": "waiting", "since": since, "waiting_for": 1, "error": ""}
    cluster.gate.touch()
    assert cluster.saved()["restarted"] == []


@pytest.mark.parametrize("timeout", [-1, "5", True, 1e6, None])
def test_seconds_that_are_none(saved: Callable[..., Saved], timeout: object) -> None:
    """And nothing is ordered."""
    cluster = saved(1).up(0)
    code, answer = cluster.lead_api.ask("POST", "/v1/save", {"timeout": timeout})
    assert (code, answer["error"]) == (400, "timeout: seconds from 0 to 86400 are right")


def test_instance_without_an_archive_saves_nowhere(three: Pods) -> None:
    """It says what is missing."""
    code, answer = three.lead_api.ask("POST", "/v1/save", {})
    assert (code, answer) == (400, {"error": "archive.path is not set: there is no place to save to"})


def test_start_script_that_is_gone(saved: Callable[..., Saved]) -> None:
    """Nobody would save."""
    cluster = saved(1).up(0)
    (cluster.pods.directory / "0" / "pid").unlink()
    code, answer = cluster.lead_api.ask("POST", "/v1/save", {})
    assert (code, answer) == (503, {"error": "the start script, which would save, is gone"})
    assert not (cluster.pods.directory / "0" / "save").exists()


def test_save_and_restore_at_another_size(saved: Callable[..., Saved], pods: Callable[..., Pods]) -> None:
    """Three brokers save, two go on."""
    cluster = saved(3).up(0, 1, 2)
    for number in range(12):
        cluster.submit(f"job-{number}", gate=True)
    until(lambda: len(cluster.pods.run("jobs", "-n", "--filter=running").splitlines()) == 3, "three run")
    cluster.save(timeout=0)
    message = cluster.saved()
    assert (message["jobs"], message["restarted_total"]) == (12, 3)
    cluster.gate.touch()
    saved(2).up(0, 1).done()
    assert cluster.lines() == Counter(f"job-{number}" for number in range(12))


def test_lead_that_is_terminated_reports_what_it_saved(saved: Callable[..., Saved]) -> None:
    """As by order, but for its code: nobody ordered it."""
    cluster = saved(1).up(0)
    cluster.submit("a", "--urgency=0")
    assert (cluster.pods.end(0), cluster.words()["jobs"]) == (143, 1)


def test_followers_that_are_deleted_as_well_wait_for_their_jobs(saved: Callable[..., Saved]) -> None:
    """The lead waits for these jobs; so does the broker on which they run."""
    cluster = saved(2).up(0, 1)
    with cluster.lead_api.watch() as watch:
        watch.until(online="0-1")
    for name in "ab":
        cluster.submit(name, gate=True)
    cluster.running("a", "b")
    for process in cluster.pods.processes.values():
        process.terminate()
    cluster.phase("waiting")
    cluster.gate.touch()
    assert (cluster.pods.wait(0), cluster.words()["restarted"]) == (143, [])
    assert (cluster.pods.wait(1), cluster.lines()) == (75, {"a": 1, "b": 1})


def test_follower_without_jobs_goes_at_once(saved: Callable[..., Saved]) -> None:
    """Nothing runs on it: the rest of the cluster does not matter to it."""
    cluster = saved(2).up(0, 1)
    with cluster.lead_api.watch() as watch:
        watch.until(online="0-1")
    cluster.submit("a", gate=True)
    cluster.running("a")
    cluster.lead_api.ask("POST", "/v1/drain", {"ranks": "1"})
    cluster.pods.processes[1].terminate()
    assert cluster.pods.wait(1) == 75
    cluster.gate.touch()
    cluster.done()
