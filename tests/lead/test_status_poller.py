"""The follower: from what a broker says to the status, whatever the broker says."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from minicluster import __version__
from minicluster.broker_link import link_loop
from minicluster.broker_link.errors import InstanceGone, Refused
from minicluster.lead_server import status_snapshot
from tests.lead.client import until
from tests.lead.scripted_link import FULL, STARTED, STOPPED, Following, resources

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAIN = {"attributes": {"user": {"minicluster": {"main": True}}}}


@pytest.fixture
def following(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Following]:
    """A poller; `indirect` with True: of an instance whose start script starts queues."""
    monkeypatch.setattr(link_loop, "MIN_RETRY_DELAY", 0.02)
    made = Following(tmp_path, starts_queues=getattr(request, "param", False))
    made.follower.start()
    yield made
    made.follower.close()
    made.follower.join(30)
    assert not made.follower.is_alive()


def test_status_of_a_broker_that_just_started(following: Following) -> None:
    """Nothing was pushed so far."""
    assert following.status() == {
        "engine": "script", "version": "0.88.0", "minicluster": __version__, "size": 4, "online": "",
        "drained": "", "drains": {}, "busy": "", "running": False, "jobid": "",
        "queue_policy": "minicluster/easy", "troubles": [], "halted": [], "saving": None, "kept": [],
    }  # fmt: skip


def test_notes_of_the_start_script_are_in_the_status(following: Following) -> None:
    """How saving stands, and which jobs are kept."""
    following.state_files.progress("waiting", 3)
    following.state_files.keep(["f1: too wide"])
    status = following.status()
    assert (status["saving"], status["kept"]) == (following.state_files.saving(), ["f1: too wide"])


def test_pushed_answers_are_in_the_status(following: Following) -> None:
    """Who is there, and that the initial program runs."""
    following.status()
    following.link.push("online", {"members": "0-1,3"})
    assert not following.until(online="0-1,3")["running"]
    following.link.push("state", {"state": 5})
    assert following.until(running=True)


def test_work_that_has_begun_has_begun(following: Following) -> None:
    """Also when the instance is ending."""
    following.status()
    following.link.push("state", {"state": 5})
    following.until(running=True)
    following.link.push("state", {"state": 7})
    following.link.push("online", {"members": "0"})
    following.link.policy = "fcfs"
    assert following.until(queue_policy="fcfs")["running"]


def test_brokers_that_leave_with_the_instance_are_not_missing(following: Following) -> None:
    """From cleanup on the lead lets them go; the status that is read last still counts them."""
    following.status()
    following.link.push("online", {"members": "0-3"})
    following.link.push("state", {"state": 5})
    following.until(online="0-3", running=True)
    following.link.push("state", {"state": 6})
    following.link.push("online", {"members": "0"})
    following.link.policy = "fcfs"
    assert following.until(queue_policy="fcfs")["online"] == "0-3"


def test_the_newest_main_job_is_meant(following: Following) -> None:
    """Once it is known, nobody listens for jobs any more."""
    following.works()
    for jobid, jobspec in [(7, MAIN), (9, {}), (8, MAIN), (-1, None)]:
        following.link.push("jobs", {"id": jobid, "events": [], "jobspec": jobspec})
    following.until(jobid="f9")
    until(lambda: following.link.cancelled, "the journal was cancelled")


def test_a_job_that_is_no_main_job(following: Following) -> None:
    """However its attributes look."""
    following.works()
    odd: list[Any] = [None, {}, {"attributes": None}, {"attributes": {"user": 1}}]
    odd += [
        {"attributes": {"user": {"minicluster": []}}},
        {"attributes": {"user": {"minicluster": {"main": 1}}}},
    ]
    for number, jobspec in enumerate(odd):
        following.link.push("jobs", {"id": number + 1, "events": [], "jobspec": jobspec})
    following.link.push("online", {"members": "2"})
    assert following.until(online="2")["jobid"] == ""


def test_a_policy_that_is_loaded_later(following: Following) -> None:
    """Real Flux's scheduler comes after the door."""
    following.status()
    following.link.policy = ""
    following.link.push("state", {"state": 3})
    following.until(queue_policy="")
    following.link.policy = "fcfs"
    following.until(queue_policy="fcfs")


def test_why_no_jobs_start_is_reported_while_the_instance_works(following: Following) -> None:
    """Before and after that its queues are stopped in any case."""
    following.status()
    following.link.answers |= {"job-manager.queue-list": {"queues": []}, "job-manager.queue-status": FULL}
    following.link.push("online", {"members": "0"})
    assert following.until(online="0")["halted"] == []
    following.link.push("state", {"state": 5})
    following.until(halted=["the disk is full"])
    following.link.answers["job-manager.queue-status"] = STARTED
    following.until(halted=[])
    following.link.answers["job-manager.queue-status"] = STOPPED
    following.until(halted=["stopped"])
    following.link.push("state", {"state": 6})
    following.until(halted=[])


@pytest.mark.parametrize("following", [True], indirect=True, ids=["starts-queues"])
def test_queues_that_the_start_script_is_about_to_start_are_not_reported(
    following: Following, tmp_path: Path
) -> None:
    """Nobody stopped them: they are new, or as the former instance left them. Later ones are reported."""
    following.status()
    following.link.answers |= {"job-manager.queue-list": {"queues": []}, "job-manager.queue-status": STOPPED}
    following.link.push("state", {"state": 5})
    assert following.until(running=True)["halted"] == []
    (tmp_path / "main-started").touch()
    following.until(halted=["stopped"])


REFUSALS = [Refused(errno.ENOSYS, "No service matching"), Refused(errno.ETIMEDOUT)]


@pytest.mark.parametrize("refusal", REFUSALS, ids=["no service", "slow"])
def test_what_is_refused_stays_as_it_was(following: Following, refusal: Refused) -> None:
    """The policy, and who was turned away: no reason to end the watches."""
    following.status()
    following.link.away = ["10.0.0.7: turned away: wrong certificate"]
    following.until(troubles=following.link.away)
    following.link.policy = following.link.away = refusal
    following.link.push("state", {"state": 5})
    status = following.until(running=True)
    assert status["queue_policy"] == "minicluster/easy"
    assert status["troubles"] == ["10.0.0.7: turned away: wrong certificate"]
    assert (following.broken, following.connections) == ([], 1)


@pytest.mark.parametrize("topic", ["resource.status", "sched.resource-status", "overlay.health"])
def test_a_service_that_is_slow(following: Following, monkeypatch: pytest.MonkeyPatch, topic: str) -> None:
    """It is there, so that nothing is known of it: what hung there before stays."""
    monkeypatch.setattr(status_snapshot, "READ_TIMEOUT", 0.05)
    following.link.answers["resource.status"] = DRAINED
    following.link.answers["sched.resource-status"] = resources(["1-3"], ["2"])
    before = following.until(drained="1-3")
    following.link.answers[topic] = Refused(errno.ETIMEDOUT)
    following.link.push("online", {"members": "0"})
    assert following.status() == before
    following.link.answers[topic] = {}
    following.until(online="0")
    assert (following.broken, following.connections) == ([], 1)


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        pytest.param({"id": 7, "jobspec": {}}, False, id="another job"),
        pytest.param({"id": 5, "jobspec": MAIN}, False, id="an older main job"),
        pytest.param({"id": 7, "jobspec": MAIN}, True, id="the main job"),
        pytest.param({"id": -1}, True, id="the end of the history"),
    ],
)
def test_only_the_main_job_is_a_reason_to_ask(event: dict[str, Any], wanted: bool, tmp_path: Path) -> None:
    """There may be thousands of others."""
    follower = Following(tmp_path).follower
    follower._take_jobs({"id": 6, "jobspec": MAIN}, None)
    follower._loop.wanted.clear()
    follower._take_jobs(event, None)
    assert follower._loop.wanted.is_set() is wanted


@pytest.mark.parametrize("topic", ["resource.status", "sched.resource-status", "overlay.health"])
def test_a_service_that_is_not_there(following: Following, topic: str) -> None:
    """In rc1 and rc3: its part of the status is empty."""
    following.status()
    following.link.answers[topic] = Refused(errno.ENOSYS, "No service matching")
    following.link.push("online", {"members": "0"})
    assert following.until(online="0", drained="", busy="", troubles=[])


DRAINED = {
    "drain": {"1-2": {"timestamp": 1.0, "reason": "shrinking"}, "3": {"timestamp": 2.0, "reason": None}}
}


@pytest.mark.parametrize(
    ("down", "drained", "drains"),
    [
        pytest.param(["1-3"], "1-3", {"1-2": "shrinking", "3": ""}, id="all"),
        pytest.param(["0", "2"], "2", {"2": "shrinking"}, id="one of a group"),
        pytest.param([], "", {}, id="none so far"),
    ],
)
def test_drained_is_what_the_scheduler_knows_of(
    following: Following, down: list[str], drained: str, drains: dict[str, str]
) -> None:
    """Before, it may still give jobs to such a rank."""
    following.link.answers["resource.status"] = DRAINED
    following.link.answers["sched.resource-status"] = resources(down, ["0-1"])
    assert following.until(drained=drained, busy="0-1")["drains"] == drains


def test_without_a_scheduler_the_job_manager_is_asked(following: Following) -> None:
    """It knows what its jobs hold."""
    following.link.answers["resource.status"] = DRAINED
    following.link.answers["resource.sched-status"] = resources(["1-3"], ["2"])
    following.link.answers["sched.resource-status"] = Refused(errno.ENOSYS, "No service matching")
    assert following.until(busy="2")["drained"] == "1-3"


def test_where_nobody_knows_what_is_busy_nothing_is_drained(following: Following) -> None:
    """A drained rank that is not busy might be taken away."""
    following.link.answers["resource.status"] = DRAINED
    following.link.answers["sched.resource-status"] = Refused(errno.ENOSYS, "No service matching")
    assert following.until(busy="")["drained"] == ""


@pytest.mark.parametrize(
    "error", [InstanceGone("away"), KeyError("members"), Refused(5, "odd")], ids=["gone", "defect", "refused"]
)
def test_a_link_that_breaks_is_made_anew(following: Following, error: Exception) -> None:
    """What was known before is forgotten with it."""
    following.status()
    following.link.push("online", {"members": "0-3"})
    following.until(online="0-3")
    broken = following.link
    broken.breaks(error)
    until(lambda: len(following.links) > 1, "another link")
    assert following.until(online="")
    assert broken.closed == 1
    assert following.broken == [error]
