"""The sampler on links of the tests' own: one sample for all, never an old one, and a ledger made anew."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from metrics_api import names
from metrics_api.lead import sampler as module
from metrics_api.lead.routes import QueueRoutes
from metrics_api.lead.sampler import Sampler
from minicluster.broker_link import link_loop
from minicluster.broker_link.errors import InstanceGone, Refused
from minicluster.lead_server.routes import BadRequest
from tests.devcluster import until as patiently
from tests.lead.client import until
from tests.metrics_api.lead.scripted_broker import Broker, Clock
from tests.metrics_api.lead.test_ledger import allocated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def broken() -> list[str]:
    return []


@pytest.fixture
def made(
    broker: Broker, clock: Clock, broken: list[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Sampler]]:
    """Make samplers that have no need for pauses."""
    for name, seconds in {"PERIOD": 0.05, "CHANGED": 0.02, "SPACING": 0.01}.items():
        monkeypatch.setattr(module, name, seconds)
    monkeypatch.setattr(link_loop, "MIN_RETRY_DELAY", 0.01)
    samplers = []

    def make(minimum: int = 1) -> Sampler:
        sampler = Sampler(broker.connect, lambda error: broken.append(str(error)), minimum, clock)
        sampler.start()
        samplers.append(sampler)
        return sampler

    yield make
    for each in samplers:
        broker.answers.set()
        each.close()
        each.join(30)
        assert not each.is_alive()


def demanded(sampler: Sampler) -> float | None:
    try:
        samples = sampler.read().samples
    except InstanceGone:
        return None
    return next(each.value for each in samples if each.name == names.NODES_DEMANDED)


def test_nothing_is_done_before_somebody_reads(made: Callable[..., Sampler], broker: Broker) -> None:
    """The first reader gets a sample nevertheless, history and all."""
    broker.jobs[1] = 3
    sampler = made()
    assert broker.links == []
    assert demanded(sampler) == 3
    assert broker.links[0].request["full"] is False


def test_journal_changes_the_next_sample(made: Callable[..., Sampler], broker: Broker) -> None:
    sampler = made()
    assert demanded(sampler) == 1
    broker.submit(1, 2)
    until(lambda: demanded(sampler) == 2, "two nodes demanded")


def test_change_is_not_waited_for_as_long_as_none(
    made: Callable[..., Sampler], broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where somebody reads now and then."""
    sampler = made()
    monkeypatch.setattr(module, "PERIOD", 1000.0)
    assert demanded(sampler) == 1
    broker.submit(1, 2)
    until(lambda: demanded(sampler) == 2, "two nodes demanded")


def test_events_gather_before_they_are_read(
    made: Callable[..., Sampler], broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy instance is not slowed by a reader that wakes for each."""
    sampler = made()
    monkeypatch.setattr(module, "PERIOD", 1000.0)
    monkeypatch.setattr(module, "CHANGED", 1000.0)
    assert demanded(sampler) == 1
    link = broker.links[-1]
    began, before = time.monotonic(), link.dispatched
    for jobid in range(100):
        broker.submit(jobid, 1)
        time.sleep(0.005)
    most = (time.monotonic() - began) / module.GATHER + 3  # the first, the last, and what was under way
    assert link.dispatched - before <= most


def test_least_size(made: Callable[..., Sampler]) -> None:
    """Never more than there are hosts."""
    assert demanded(made(minimum=2)) == 2
    assert demanded(made(minimum=9)) == 4


def test_readers_get_one_sample(made: Callable[..., Sampler], monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = made()
    monkeypatch.setattr(module, "PERIOD", 1000.0)
    sampler.read()
    kept = until(lambda: (found := sampler.read()) is sampler.read() and found, "a sample that stays")
    assert all(sampler.read() is kept for _ in range(100))


def test_old_sample_is_given_to_nobody(
    made: Callable[..., Sampler], broker: Broker, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that does not answer: 503 with the reason, until it answers again."""
    monkeypatch.setattr(module, "READ_TIMEOUT", 0.05)
    sampler = made()
    routes = QueueRoutes(sampler, clock).routes
    sampler.read()
    broker.answers.clear()
    clock.now += 6
    until(lambda: demanded(sampler) is None, "no sample")
    with pytest.raises(InstanceGone, match=r"the newest sample is 6\.0 s old, more than 5 s"):
        sampler.read()
    health = routes["/healthz"]["GET"]({}, {})
    assert (health.code, health.body[:10]) == (503, "the newest")  # type: ignore[union-attr]
    broker.answers.set()
    until(lambda: demanded(sampler) == 1, "a sample again")


def test_clock_that_is_set_makes_no_sample_older_or_newer(
    made: Callable[..., Sampler], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ages are told by a clock that nobody sets; what was the time is the lead's own word."""
    sampler = made()
    routes = QueueRoutes(sampler, clock).routes
    sampler.read()
    monkeypatch.setattr(module.time, "time", lambda: 4102444800.0)  # the year 2100

    def exposed() -> dict[str, Any]:
        answer = routes["/v1/queue"]["GET"]({}, {})
        return json.loads(answer.body)  # type: ignore[no-any-return,union-attr]

    found = until(lambda: (now := exposed())["sampled"].startswith("2100-") and now, "a sample of that time")
    assert found["age"] == 0.0
    monkeypatch.setattr(module.time, "time", lambda: 0.0)
    found = until(lambda: (now := exposed())["sampled"].startswith("1970-") and now, "a sample of that time")
    assert found["age"] == 0.0


@pytest.mark.timeout(300)
def test_a_hundred_thousand_pending_jobs(made: Callable[..., Sampler], broker: Broker) -> None:
    """They are read once, and counted together; until then there is no number rather than a part of it."""
    broker.jobs = dict.fromkeys(range(100_000), 2)
    sampler = made()
    seen = set()

    def counted() -> bool:
        try:
            found = {each.name: each.value for each in sampler.read().samples if not each.labels}
        except InstanceGone:
            return False
        seen.add((found[names.JOBS_PENDING], found[names.NODES_DEMANDED]))
        return True

    patiently(counted, "the history to be read", 240.0)  # it takes seconds; on a busy machine more
    assert seen == {(100_000, 4)}
    assert len(broker.links) == 1


def test_no_sample_at_all_reports_why(
    made: Callable[..., Sampler], broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READ_TIMEOUT", 0.05)
    broker.fails = InstanceGone("broker socket was not found")
    sampler = made()
    with pytest.raises(InstanceGone):
        sampler.read()
    until(lambda: "broker socket was not found" in _why(sampler), "the reason")


def _why(sampler: Sampler) -> str:
    try:
        sampler.read()
    except InstanceGone as error:
        return str(error)
    return ""


def test_journal_that_ends_is_read_anew(
    made: Callable[..., Sampler], broker: Broker, broken: list[str]
) -> None:
    """What happened meanwhile is in its history; what was sampled last stays good that long."""
    sampler = made()
    assert demanded(sampler) == 1
    broker.submit(1, 3, announce=False)
    broker.links[-1].push(Refused(61, "No data available"))
    until(lambda: demanded(sampler) == 3, "three nodes demanded")
    assert broken == ["the job journal ended: No data available"]


def test_instance_that_ends_is_no_trouble(
    made: Callable[..., Sampler],
    broker: Broker,
    clock: Clock,
    broken: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is read anew, and what was sampled last grows old."""
    monkeypatch.setattr(module, "READ_TIMEOUT", 0.05)
    sampler = made()
    sampler.read()
    broker.links[-1].push({"state": 5})
    broker.links[-1].push({"state": 6})
    broker.links[-1].push(Refused(61, "No data available"))
    clock.now += 6
    until(lambda: "the instance ends" in _why(sampler), "the reason")
    assert (len(broker.links), broken) == (1, [])


def test_event_of_an_unknown_job_has_all_read_anew(
    made: Callable[..., Sampler], broker: Broker, broken: list[str]
) -> None:
    sampler = made()
    sampler.read()
    broker.submit(1, 2, announce=False)
    alloc = {"timestamp": 2.0, "name": "alloc"}
    broker.links[-1].push({"id": 1, "events": [alloc], "R": allocated("0-1")})
    until(lambda: len(broker.links) == 2, "another link")
    until(lambda: demanded(sampler) == 2, "two nodes demanded")
    assert broken == ["the job journal told of a job that it had not told of before"]


def test_ledger_that_disagrees_with_the_counts_is_made_anew(
    made: Callable[..., Sampler], broker: Broker, broken: list[str]
) -> None:
    """An event was lost: only the counts tell."""
    sampler = made()
    sampler.read()
    broker.submit(1, 3, announce=False)
    until(lambda: demanded(sampler) == 3, "three nodes demanded")
    assert broken[0] == "the job journal and the counts of jobs differ by 1 pending jobs"


def test_counts_that_differ_from_the_beginning_are_no_reason(
    made: Callable[..., Sampler], broker: Broker, broken: list[str]
) -> None:
    """Reading all anew would not help, and cost much; but what changes after that counts."""
    broker.counted = 2
    sampler = made()
    for _ in range(12):
        seen = sampler.read()
        until(lambda: sampler.read() is not seen, "another sample")  # noqa: B023 - called at once
    assert broken == []
    broker.counted = 3
    until(lambda: broken, "all is read anew")


def test_counts_that_lag_are_no_reason(
    made: Callable[..., Sampler], broker: Broker, broken: list[str]
) -> None:
    """They differ now and then, each time otherwise."""
    sampler = made()
    for jobid in range(1, 30):
        broker.counted = jobid % 3
        seen = sampler.read()
        until(lambda: sampler.read() is not seen, "another sample")  # noqa: B023 - called at once
    assert broken == []


def test_changes_come_one_by_one(made: Callable[..., Sampler], broker: Broker) -> None:
    """A watch tells of what changed, and not of the time that passes."""
    sampler = made()
    watch = sampler.watch()
    seen = [_demanded(next(watch))]
    for jobid, nodes in ((1, 2), (2, 1)):
        broker.submit(jobid, nodes)
        while seen[-1] != seen[0] + sum(list(broker.jobs.values())) - 1:
            seen.append(_demanded(next(watch)))
    assert seen[-1] == 3
    watch.close()  # type: ignore[attr-defined]


def _demanded(sampled: Any) -> float:
    return next(float(each.value) for each in sampled.samples if each.name == names.NODES_DEMANDED)


def test_watch_ends_with_the_lead_server(made: Callable[..., Sampler]) -> None:
    sampler = made()
    watch = sampler.watch()
    next(watch)
    sampler.close()
    assert list(watch) == []


def test_watch_takes_true_or_false(made: Callable[..., Sampler]) -> None:
    routes = QueueRoutes(made()).routes
    with pytest.raises(BadRequest, match="watch=yes: true or false is right"):
        routes["/v1/queue"]["GET"]({"watch": "yes"}, {})


def test_operators_own_drains_do_not_count(made: Callable[..., Sampler], broker: Broker) -> None:
    """It takes them back to grow; others' stay."""
    broker.jobs[1] = 1
    broker.drains = {"0": {"timestamp": 1.0, "reason": "minicluster: shrinking to 1"}}
    assert demanded(made()) == 1
    broker.drains = {"0": {"timestamp": 1.0, "reason": "bad disk"}}
    assert demanded(made()) == 2


def test_journal_is_asked_for_what_the_ledger_reads(made: Callable[..., Sampler], broker: Broker) -> None:
    """The other half of the events costs nothing."""
    made().read()
    assert set(broker.links[0].request["allow"]) == set(module.EVENTS)
