"""The ledger, fed with the journal's messages as both engines send them."""

from __future__ import annotations

from typing import Any

import pytest

from metrics_api.lead.groups import group_of
from metrics_api.lead.ledger import Ledger
from metrics_api.numbers.records import AllocatedJob, Hold, PendingGroup, SlotRequest

ONE_CORE = SlotRequest(0, 1, 1)


def jobspec(
    nodes: int = 0, slots: int = 1, cores: int = 1, user: dict[str, Any] | None = None, **system: Any
) -> dict[str, Any]:
    slot = {"type": "slot", "count": slots, "label": "task", "with": [{"type": "core", "count": cores}]}
    resources = [{"type": "node", "count": nodes, "with": [slot]}] if nodes else [slot]
    return {
        "resources": resources,
        "tasks": [],
        "attributes": {"system": {"duration": 0, **system}, "user": user or {}},
        "version": 1,
    }


def allocated(ranks: str, cores: str = "0") -> dict[str, Any]:
    return {"version": 1, "execution": {"R_lite": [{"rank": ranks, "children": {"core": cores}}]}}


class Journal:
    """Sends messages to a ledger that is ready."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger or Ledger(lambda userid: f"group-{userid}")
        self.time = 0.0
        if ledger is None:
            self.over()

    def over(self) -> None:
        self.ledger.take({"id": -1, "events": []})

    def append(self, jobid: int, name: str, more: dict[str, Any] | None = None, **context: Any) -> None:
        self.time += 1
        event = {"timestamp": self.time, "name": name, "context": context}
        self.ledger.take({"id": jobid, "events": [event], **(more or {})})

    def submit(self, jobid: int, spec: dict[str, Any] | None = None, priority: int = 16) -> None:
        self.append(jobid, "submit", {"jobspec": spec or jobspec()}, userid=7)
        if priority >= 0:
            self.append(jobid, "priority", priority=priority)

    def run(self, jobid: int, ranks: str, cores: str = "0") -> None:
        self.append(jobid, "alloc", {"R": allocated(ranks, cores)})

    @property
    def pending(self) -> tuple[PendingGroup, ...]:
        return self.ledger.pending(())


def test_jobs_that_are_alike_are_counted_together() -> None:
    journal = Journal()
    for jobid in range(1000):
        journal.submit(jobid)
    assert journal.pending == (PendingGroup(ONE_CORE, "default", "group-7", 1000, Hold.NONE, since=2.0),)


def test_life_of_a_job() -> None:
    """Without a priority it waits for something else; then for resources; then it has them, until `free`."""
    journal = Journal()
    journal.submit(1, priority=-1)
    assert journal.pending[0].hold == Hold.DEPENDENCY
    journal.append(1, "priority", priority=16)
    assert journal.pending[0].hold == Hold.NONE
    journal.run(1, "1-2", "0-3")
    assert journal.pending == ()
    assert journal.ledger.running() == (AllocatedJob("default", "group-7", ((1, 4, 0), (2, 4, 0))),)
    journal.append(1, "free")
    assert (journal.ledger.running(), journal.ledger.running_jobs) == ((), 0)
    journal.append(1, "clean")
    assert journal.ledger.doubts == 0


def test_job_that_brings_resources_along_demands_nothing() -> None:
    """As one that stands in for a job elsewhere: it takes none of the nodes, waiting or running."""
    journal = Journal()
    journal.submit(1, priority=-1)
    journal.append(1, "set-flags", flags=["alloc-bypass"])
    journal.append(1, "priority", priority=16)
    assert (journal.pending, journal.ledger.pending_jobs) == ((), 0)
    journal.run(1, "0")
    assert journal.ledger.running() == ()
    journal.append(1, "free")
    journal.append(1, "clean")
    assert journal.ledger.doubts == 0
    journal.submit(1)
    assert len(journal.pending) == 1


def test_job_that_is_resized_has_what_the_journal_has_now() -> None:
    journal = Journal()
    journal.submit(1)
    journal.run(1, "1-2", "0-3")
    journal.append(1, "resource-update", {"R": allocated("1-3", "0-3")}, order=1, size=3)
    assert [rank for rank, *_ in journal.ledger.running()[0].allocation] == [1, 2, 3]
    journal.append(1, "resource-update", expiration=5.0)
    assert [rank for rank, *_ in journal.ledger.running()[0].allocation] == [1, 2, 3]
    assert journal.ledger.doubts == 0


@pytest.mark.parametrize("end", ["clean", "invalidate"])
def test_job_that_ends_while_it_waits(end: str) -> None:
    """Cancelled, or found to be wrong after it was submitted."""
    journal = Journal()
    journal.submit(1)
    journal.append(1, end)
    assert journal.pending == ()


def test_priority_0_holds_a_job() -> None:
    """And another one lets it go; it has waited since then."""
    journal = Journal()
    journal.submit(1, priority=0)
    assert journal.pending[0].hold == Hold.HELD
    journal.append(1, "priority", priority=16)
    assert (journal.pending[0].hold, journal.pending[0].since) == (Hold.NONE, 3.0)


def test_another_priority_changes_nothing_about_the_wait() -> None:
    journal = Journal()
    journal.submit(1)
    journal.append(1, "priority", priority=31)
    assert journal.pending[0].since == 2.0


def test_jobs_of_a_stopped_queue_do_not_count_as_demand() -> None:
    journal = Journal()
    journal.submit(1, jobspec(queue="batch"))
    journal.submit(2, jobspec(queue="debug"))
    holds = {each.queue: each.hold for each in journal.ledger.pending({"batch"})}
    assert holds == {"batch": Hold.HELD, "debug": Hold.NONE}


def test_oldest_wait_is_that_of_the_first_that_is_left() -> None:
    journal = Journal()
    for jobid in (1, 2, 3):
        journal.submit(jobid)
    journal.run(1, "0")
    journal.append(2, "clean")
    assert journal.pending[0].since == 6.0


def test_history_comes_in_any_order_of_jobs() -> None:
    """With all events of a job in one message."""
    ledger = Ledger(str)
    for jobid, when in ((5, 50.0), (1, 10.0), (3, 30.0)):
        events = [
            {"timestamp": when, "name": "submit", "context": {"userid": 0}},
            {"timestamp": when, "name": "validate"},
            {"timestamp": when + 1, "name": "priority", "context": {"priority": 16}},
        ]
        ledger.take({"id": jobid, "events": events, "jobspec": jobspec()})
    assert not ledger.ready
    Journal(ledger).over()
    assert ledger.ready
    assert ledger.pending(())[0].since == 11.0


def test_history_of_a_running_job() -> None:
    """Its R comes in the same message."""
    ledger = Ledger(str)
    names = ("submit", "priority", "alloc", "start")
    events = [{"timestamp": 1.0, "name": name, "context": {"userid": 0, "priority": 1}} for name in names]
    ledger.take({"id": 1, "events": events, "jobspec": jobspec(), "R": allocated("0")})
    assert [each.allocation for each in ledger.running()] == [((0, 1, 0),)]


def test_updates_of_a_pending_job() -> None:
    """Its time limit, its queue, its constraints."""
    journal = Journal()
    journal.submit(1, jobspec(slots=2, queue="batch"))
    journal.append(1, "jobspec-update", **{"attributes.system.duration": 10.5})
    journal.append(1, "jobspec-update", **{"attributes.system.queue": "debug"})
    journal.append(1, "jobspec-update", **{"attributes.system.constraints": {"ranks": ["3"]}})
    request = SlotRequest(0, 2, 1, constraint=("ranks", "3"))
    assert journal.pending == (PendingGroup(request, "debug", "group-7", 1, Hold.NONE, 2.0, 21.0),)


def test_core_seconds_add_up_exactly() -> None:
    """Also after very many jobs came and went."""
    journal = Journal()
    journal.submit(0, jobspec(nodes=2, slots=3, cores=4, duration=0.1))
    for jobid in range(1, 500):
        journal.submit(jobid, jobspec(nodes=2, slots=3, cores=4, duration=jobid / 7))
        journal.append(jobid, "clean")
    assert journal.pending[0].core_seconds == 2.4


def test_group_of_the_jobspec_goes_before_that_of_the_user() -> None:
    """A service submits for many."""
    journal = Journal()
    journal.submit(1, jobspec(user={"group": "physics"}))
    assert journal.pending[0].group == "physics"


@pytest.mark.parametrize("name", ["alloc", "priority", "jobspec-update"])
def test_job_that_no_event_announced_makes_doubts(name: str) -> None:
    """Something was missed: all is to be read anew."""
    journal = Journal()
    journal.append(1, name, {"R": allocated("0")})
    assert journal.ledger.doubts == 1


@pytest.mark.parametrize("name", ["annotations", "start", "finish", "release", "exception", "debug.x"])
def test_other_events_change_nothing(name: str) -> None:
    journal = Journal()
    journal.append(1, name)
    assert (journal.ledger.doubts, journal.ledger.changes) == (0, 1)


@pytest.mark.parametrize(
    ("spec", "least", "most", "wanted"),
    [
        pytest.param(jobspec(nodes=2, user={"elastic": {"min": 1, "max": 4}}), 1, 4, (1, 4), id="nodes"),
        pytest.param(jobspec(slots=4, user={"elastic": {"min": 2, "max": 8}}), 2, 8, (1, 4), id="slots"),
        pytest.param(
            jobspec(nodes=2, user={"elastic": {"min": 4, "max": 1}}), 0, 0, (0, 0), id="upside-down"
        ),
        pytest.param(jobspec(nodes=2, user={"elastic": "yes"}), 0, 0, (0, 0), id="no-range"),
    ],
)
def test_elastic_job(spec: dict[str, Any], least: int, most: int, wanted: tuple[int, int]) -> None:
    """Its range is in what it asks for; once it runs, in nodes."""
    journal = Journal()
    journal.submit(1, spec)
    request = journal.pending[0].request
    assert (request.least, request.most) == (least, most)
    journal.run(1, "0-1")
    (running,) = journal.ledger.running()
    assert (running.least, running.most) == wanted


ODD = [
    pytest.param(None, id="none"),
    pytest.param([], id="a-list"),
    pytest.param({}, id="empty"),
    pytest.param({"resources": "many", "attributes": {"system": None, "user": []}}, id="wrong-types"),
    pytest.param(jobspec(duration="long", constraints="x"), id="wrong-values"),
]


@pytest.mark.parametrize("spec", ODD)
def test_odd_jobspec_is_counted_nevertheless(spec: Any) -> None:
    """The instance took it, so it is a job."""
    journal = Journal()
    journal.append(1, "submit", {"jobspec": spec}, userid=7)
    assert (journal.ledger.pending_jobs, journal.pending[0].request.slots) == (1, 1)


def test_group_of_a_user() -> None:
    """By the names of this machine."""
    assert group_of(0) == "root"
    assert group_of(3_999_999_999) == "3999999999"
