"""Hosts that are slower than their quotas explain: they are reported, and their programs are known for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from queue_policies import decision_log
from queue_policies.records import Change, Happened

if TYPE_CHECKING:
    from collections.abc import Callable


def running(bench: Any, job: int) -> Any:
    return bench.engine._manager.parts.scheduler.running[job]


def decided(file: Any) -> list[decision_log.Decision]:
    return [decision_log.decode(line) for line in file.read_text().splitlines()]


def test_a_host_that_does_less_than_its_quota_explains_is_reported_once(
    make: Callable[..., Any], tmp_path: Any
) -> None:
    """Alone it used 3 of 4 cores. Its quota lets it use 2: with 1 it is twice as slow as that."""
    file = tmp_path / "decisions"
    bench = make(config={"minicluster": {"queue-policy": "paired", "decisions": str(file)}})
    host = bench.submit("sim", slots=4)
    bench.engine.events.used(host, 0, 1.0, 3.0, 0.1)
    guest = bench.submit(slots=2)

    def reports(cores: float, seconds: int) -> int:
        for _ in range(seconds):
            bench.engine.events.used(host, 0, 1.0, cores, 0.1)
            bench.loop.turn()
        changes = [change for each in decided(file) for change in each.state.changes]
        return changes.count(Change(Happened.DEGRADED, host))

    assert (reports(1.6, 6), reports(1.0, 4), reports(1.0, 9), reports(1.0, 9)) == (0, 0, 1, 1)
    assert running(bench, host).usage.slowdown == 1.0
    bench.finish(guest)
    bench.engine.events.used(host, 0, 1.0, 3.0, 0.1)
    assert running(bench, host).usage.slowdown == 1.0, "it is known of the rest of its run"


def test_how_much_slower_guests_made_a_program_is_known_of_its_later_runs(make: Callable[..., Any]) -> None:
    """It takes 10 s alone. With a guest from 2 s on it takes 18 s, though its quota is what it uses."""
    bench = make()

    def run(seconds: int, guest_at: int = -1) -> None:
        job, guests = bench.submit("sim", slots=4), []
        for second in range(seconds):
            if second == guest_at:
                guests.append(bench.submit(slots=2))
            bench.loop.advance(1)
            bench.engine.events.used(job, 0, 1.0, 2.0, 0.1)
        for each in (job, *guests):
            bench.finish(each)

    def known() -> float:
        job = bench.submit("sim", slots=4)
        bench.loop.advance(1)
        bench.engine.events.used(job, 0, 1.0, 2.0, 0.1)
        found = running(bench, job).usage.slowdown
        bench.call("job-manager.raise", id=job, type="cancel", severity=0, note="")
        bench.engine.events.finished(job, 15)
        bench.engine.events.released(job)
        bench.loop.turn()
        return float(found)

    run(10)
    before = known()
    run(18, guest_at=2)
    after = known()
    bench.restart()
    assert (before, after, known()) == (0.0, 1.0, 1.0)
    run(10)
    assert known() == 0.97, "it is forgotten slowly"


@pytest.mark.parametrize("jump", [-3600.0, 86400.0], ids=["back", "forward"])
def test_the_clock_jumps_while_a_host_has_a_guest(make: Callable[..., Any], jump: float) -> None:
    """Nothing that was learned of them is no number, and quotas are lifted."""
    bench = make()
    for _ in range(2):
        host, guest = bench.submit("sim", slots=4), bench.submit(slots=2)
        bench.engine.events.used(host, 0, 1.0, 2.0, 0.1)
        bench.loop.advance(3)
        bench.loop.now += jump
        bench.engine.events.used(host, 0, 1.0, 2.0, 0.1)
        bench.finish(guest)
        assert (running(bench, host).quota, running(bench, host).guests) == (1.0, ())
        bench.finish(host)
    job = bench.submit("sim", slots=4)
    bench.engine.events.used(job, 0, 1.0, 2.0, 0.1)
    assert 0 <= running(bench, job).usage.slowdown < math.inf
