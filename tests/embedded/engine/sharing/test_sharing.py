"""Jobs that share cores in the engine: cores, quotas, events, usage, and the policy's memory."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.errors import RpcError, SchedulerError
from minicluster.embedded.ports import QuotaEnforcement
from queue_policies import builtin, decision_log
from queue_policies.sharing import SharingConsent
from tests.embedded.engine.sharing.enforced import CONFIG, GROUPS, WHOLE
from tests.embedded.engine.sharing.paired import Paired

if TYPE_CHECKING:
    from collections.abc import Callable


def running(bench: Any, job: int) -> Any:
    return bench.engine._manager.parts.scheduler.running[job]


def limit(bench: Any, job: int) -> Any:
    """The last limit of a job that was sent, to rank 0."""
    of_launches = [each.limits[0] for each in bench.executor.launches if each.id == job]
    return [*of_launches, *(limits[0] for each, limits in bench.executor.limits if each == job)][-1]


def allocated(bench: Any) -> tuple[str, str]:
    """The cores that are allocated, by resource.status and by sched.resource-status."""
    answer = bench.call("sched.resource-status")["allocated"]["execution"]["R_lite"]
    return bench.call("resource.status")["allocated"], answer[0]["children"]["core"] if answer else ""


def cores(bench: Any, job: int) -> str:
    text = bench.call("job-info.lookup", id=job, keys=["R"])["R"]
    return str(json.loads(text)["execution"]["R_lite"][0]["children"]["core"])


def test_a_guest_has_the_highest_cores_of_its_host_and_a_core_counts_once(make: Callable[..., Any]) -> None:
    bench = make()
    host, guest, waits = bench.submit(slots=4), bench.submit(slots=2), bench.submit(slots=1)
    assert bench.running() == [host, guest]
    assert (cores(bench, host), cores(bench, guest)) == ("0-3", "2-3")
    assert allocated(bench) == ("0", "0-3")
    assert bench.engine._manager.parts.scheduler.pool.free == 0
    bench.finish(guest)
    assert bench.running() == [host, guest, waits]
    assert allocated(bench) == ("0", "0-3")
    bench.finish(waits)
    bench.finish(host)
    assert (allocated(bench), bench.engine._manager.parts.scheduler.pool.free) == (("", ""), 4)


def test_quotas_and_events_of_a_host_and_its_guest(make: Callable[..., Any]) -> None:
    """The guest's is in its launch; the host's is lowered before, and lifted in the turn in which it ends."""
    bench = make()
    host, guest = bench.submit(slots=4), bench.submit(slots=2)
    assert limit(bench, guest) == {"cores": 2.0, "size": 2, "ids": [2, 3], "order": 0}
    assert limit(bench, host) == {"cores": 2.0, "size": 4, "ids": [0, 1], "order": 1}
    bench.engine.events.limited(host, 1, ["cgroup-v2"])
    bench.engine.events.limited(guest, 0, ["cgroup-v2"])
    shown = [bench.shown(job)["annotations"]["sharing"] for job in (host, guest)]
    assert shown == [
        {"host": None, "guests": [guest], "quota": 0.5},
        {"host": host, "guests": [], "quota": 0.5},
    ]
    bench.finish(guest)
    assert limit(bench, host) == {"cores": None, "size": 4, "ids": [0, 1, 2, 3], "order": 2}
    bench.engine.events.limited(host, 2, ["cgroup-v2"])
    names = {"co-allocated", "quota", "released"}
    assert [event for event in bench.log(host) if event[0] in names] == [
        ("co-allocated", {"guest": guest, "fraction": 0.5}),
        ("quota", {"fraction": 0.5, "enforcement": "cgroup-v2"}),
        ("released", {"job": guest}),
        ("quota", {"fraction": 1.0, "enforcement": "cgroup-v2"}),
    ]
    assert [event for event in bench.log(guest) if event[0] in names] == [
        ("co-allocated", {"host": host, "fraction": 0.5}),
        ("quota", {"fraction": 0.5, "enforcement": "cgroup-v2"}),
    ]
    assert bench.shown(host)["annotations"]["sharing"] == {"host": None, "guests": [], "quota": 1.0}


@pytest.mark.parametrize("how", ["ends", "is canceled", "in the same moment"])
def test_a_guest_that_outlives_its_host_keeps_as_many_cores_as_it_asked_for(
    make: Callable[..., Any], how: str
) -> None:
    bench = make()
    host = bench.submit(slots=4)
    if how == "in the same moment":
        bench.started(host)
        bench.engine.events.finished(host, 0)  # its processes have ended, its cores are not free yet
        guest = bench.submit(slots=2)
        assert bench.running() == [host], "a job that stops takes no guest"
        bench.engine.events.released(host)
        bench.loop.turn()
        assert bench.running() == [host, guest]
        assert limit(bench, guest)["cores"] is None
        return
    guest, waits = bench.submit(slots=2), bench.submit(slots=2)
    if how == "ends":
        bench.finish(host)
    else:
        bench.call("job-manager.raise", id=host, type="cancel", severity=0, note="")
        bench.engine.events.finished(host, 15)
        bench.engine.events.released(host)
        bench.loop.turn()
    assert running(bench, guest)._replace(usage=None)[-4:-1] == (1.0, None, ())
    assert limit(bench, guest) == {"cores": None, "size": 2, "ids": [2, 3], "order": 1}
    assert (cores(bench, waits), allocated(bench)[1]) == ("0-1", "0-3")
    bench.finish(guest)
    assert allocated(bench)[1] == "0-1"


def test_a_host_and_its_guest_end_in_one_turn(make: Callable[..., Any]) -> None:
    bench = make()
    host, guest = bench.submit(slots=4), bench.submit(slots=2)
    for job in (guest, host):
        bench.engine.events.finished(job, 0)
        bench.engine.events.released(job)
    bench.loop.turn()
    scheduler = bench.engine._manager.parts.scheduler
    assert (scheduler.pool.free, len(scheduler.running), bool(scheduler.pool.shared)) == (4, 0, False)


@pytest.mark.parametrize(
    ("enforcement", "ids"), [(GROUPS, [0, 1]), (WHOLE, [0, 1])], ids=["fractions", "whole cores"]
)
def test_usage_is_measured_on_each_rank(
    make: Callable[..., Any], enforcement: QuotaEnforcement, ids: list[int]
) -> None:
    bench = make(enforcement, nodes=2, cores=2)
    job = bench.submit(slots=4)
    bench.engine.events.used(job, 0, 1.0, 1.8, 0.2)
    assert running(bench, job).usage is None, "the other rank has reported nothing"
    bench.engine.events.used(job, 1, 1.0, 0.2, 0.2)
    bench.loop.turn()
    usage = running(bench, job).usage
    assert (usage.cpu, usage.memory, usage.busy) == (0.5, 0.2, 2)
    bench.engine.events.used(12345, 1, 1.0, 0.2, 0.2)  # a job that is gone
    bench.submit(slots=2)
    assert limit(bench, job)["ids"] == ids[:1]
    bench.engine.events.used(job, 0, 1.0, 1.0, 0.2)
    assert running(bench, job).usage == usage, "what it used before its quota changed does not count"


def test_what_a_program_used_alone_is_known_of_it_later(make: Callable[..., Any]) -> None:
    bench = make()
    first = bench.submit("sim", slots=2)
    for _ in range(4):
        bench.loop.advance(1)
        bench.engine.events.used(first, 0, 1.0, 1.0, 0.25)
    bench.finish(first)
    bench.restart()
    bench.submit(slots=4)
    again = bench.submit("sim", slots=2)
    record = running(bench, again)
    assert (record.estimate.seconds(2), record.remaining) == (4.0, 1.0)
    queued = bench.submit("sim", slots=2)
    usage = bench.engine._manager.parts.scheduler.queue[queued].usage
    assert (usage.cpu, usage.memory, usage.busy) == (0.5, 0.5, 1)
    bench.engine.events.used(again, 0, 1.0, 1.0, 0.25)
    assert running(bench, again).remaining == 0.75
    bench.engine.events.used(again, 0, 9.0, 9.0, 0.25)
    assert running(bench, again).remaining == 0.01, "only its end shows that nothing is left"


def test_the_clock_is_set_back(make: Callable[..., Any]) -> None:
    bench = make()
    host, guest = bench.submit(slots=4), bench.submit(slots=2)
    bench.loop.now -= 3600
    bench.engine.events.used(host, 0, 1.0, 1.0, 0.1)
    bench.finish(guest)
    bench.finish(host)
    assert bench.logged == ["CPU quotas are enforced by cgroup-v2", "rank 0 (mc-0) is up"]
    assert len(bench.engine._manager.parts.scheduler.running) == 0


@pytest.mark.parametrize(
    ("consent", "expected"),
    [("never", SharingConsent.NEVER), ("host", SharingConsent.HOST), ("guest", None), (None, None)],
)
def test_a_job_decides_whether_others_get_its_cores(
    make: Callable[..., Any], kit: Any, consent: str | None, expected: SharingConsent | None
) -> None:
    bench = make()
    host = bench.submit(slots=4)
    spec = kit.jobspec(slots=2)
    spec["attributes"]["user"] = {} if consent is None else {"share": consent}
    job = bench.call("job-ingest.submit", jobspec=spec, urgency=16, flags=0)["id"]
    if expected is None:
        assert bench.running() == [host, job]
    else:
        assert bench.running() == [host]
        assert bench.engine._manager.parts.scheduler.queue[job].consent is expected


def test_another_word_is_refused_at_submission(make: Callable[..., Any], kit: Any) -> None:
    spec = kit.jobspec()
    spec["attributes"]["user"] = {"share": "always"}
    with pytest.raises(RpcError) as error:
        make().call("job-ingest.submit", jobspec=spec, urgency=16, flags=0)
    assert str(error.value) == "attributes.user.share must be one of never, guest, host, not 'always'"


def test_a_job_whom_no_cores_of_another_suit_is_no_guest(make: Callable[..., Any]) -> None:
    """A policy knows numbers of cores alone, not that these are on one node."""
    bench = make(nodes=2, cores=3)
    host, guest = bench.submit(slots=4), bench.submit(nodes=2, slots=2)
    assert bench.running() == [host]
    assert bench.engine._manager.parts.scheduler.queue[guest].consent is SharingConsent.NEVER
    bench.finish(host)
    assert bench.running() == [host, guest]


def test_memory_survives_a_restart_of_the_lead_and_a_dump(
    make: Callable[..., Any], kit: Any, tmp_path: Any
) -> None:
    bench = make()
    for _ in range(2):
        bench.submit(slots=4)
    assert bench.engine._manager.parts.scheduler.co_scheduling.memory == ("guests", 1)
    bench.restart()
    assert bench.engine._manager.parts.scheduler.co_scheduling.memory == ("guests", 1)
    bench.engine.dump(str(tmp_path / "dump"))
    (tmp_path / "new").mkdir()
    restored = kit.Bench(
        tmp_path / "new",
        config=CONFIG,
        restore=str(tmp_path / "dump"),
        enforcement=lambda: GROUPS,
    )
    assert restored.engine._manager.parts.scheduler.co_scheduling.memory == ("guests", 1)
    restored.engine.close()


def test_a_memory_of_another_policy_is_not_used(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make()
    for _ in range(2):
        bench.submit(slots=4)
    monkeypatch.setattr(Paired, "name", "other")
    monkeypatch.setitem(builtin.CLASSES, "paired", f"{Paired.__module__}:Paired")
    bench.restart()
    assert bench.engine._manager.parts.scheduler.co_scheduling.memory is None


def test_decisions_are_on_record_and_taken_again(make: Callable[..., Any], tmp_path: Any) -> None:
    file = tmp_path / "decisions"
    bench = make(config={"minicluster": {"queue-policy": "paired", "decisions": str(file)}})
    host, guest = bench.submit(slots=4), bench.submit(slots=2)
    bench.engine.events.used(host, 0, 1.0, 1.0, 0.1)
    bench.finish(guest)
    bench.finish(host)
    lines = file.read_text().splitlines()
    decided = [decision_log.decode(line) for line in lines]
    assert {type(action).__name__ for each in decided for action in each.actions} == {
        "Start",
        "CpuQuota",
        "Remember",
    }
    assert [end.job for each in decided for end in each.state.ends] == [guest, host]
    assert list(decision_log.differences(Paired(), lines)) == []


def test_where_an_enforcement_is_lost_quotas_are_whole_cores_from_then_on(make: Callable[..., Any]) -> None:
    bench = make()
    host = bench.submit(slots=4)
    bench.submit(slots=2)
    bench.engine.events.limited(host, 1, ["affinity", "cgroup-v2"])
    assert bench.engine._manager.parts.scheduler.co_scheduling.sharing.whole_cores
    assert ("quota", {"fraction": 0.5, "enforcement": "affinity,cgroup-v2"}) in bench.log(host)
    assert "some ranks can give jobs whole cores alone: quotas are such from now on" in bench.logged


def test_without_an_enforcement_the_lead_does_not_start(make: Callable[..., Any]) -> None:
    others = "control groups of version 2 (a); control groups of version 1 (b); affinity (c)"
    with pytest.raises(SchedulerError) as error:
        make(QuotaEnforcement("", False, others))
    assert str(error.value) == (
        "queue policy paired has jobs share cores, and nothing enforces CPU quotas here; one of"
        f" these would: {others}"
    )


def test_where_no_policy_asks_nothing_is_limited_or_measured(bench: Any) -> None:
    job = bench.submit()
    (launch,) = bench.executor.launches
    assert (launch.limits, bench.executor.limits) == (None, [])
    bench.engine.events.used(job, 0, 1.0, math.nan, 0.1)
    assert running(bench, job).usage is None
