"""Jobs where bursts are managed: they are routed at submission, and wait without being in others' way."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.errors import ConfigurationError, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CONFIG = {
    "policy": {"jobspec": {"defaults": {"system": {"queue": "default"}}}},
    "queues": {
        "default": {"requires": ["local"]},
        "burst": {"requires": ["burst"]},
        "burst-0": {"requires": ["burst-0"]},
    },
    "minicluster": {"bursting": {"slots": ["burst-0"]}},
}
VALIDATED = {**CONFIG, "ingest": {"validator": {"plugins": ["jobspec", "feasibility"]}}}
CLOSED = (
    "queue burst-0 is for bursts: submit with --setattr=burstable, the job is moved there when its nodes"
    " are up"
)
LARGE = {"nodes": 3, "exclusive": True}
TIED = {"constraints": {"properties": ["local"]}}
SMALL = {"nodes": 1, "exclusive": True}


@pytest.fixture
def made(kit: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Ranks 0 and 1 are there; 2 to 5, of bursts, are not. `default` is started."""
    benches = []

    def make(config: Any = VALIDATED) -> Any:
        properties = {"local": "0-1", "burst": "2-5", "burst-0": "2-5"}
        bench = kit.Bench(tmp_path, R=kit.resources(6, 2, properties=properties), config=config)
        for rank in range(2, 6):
            bench.engine.membership.rank_down(rank, "it has not come yet")
        bench.call("job-manager.queue-start", start=True, name="default")
        benches.append(bench)
        return bench

    yield make
    for bench in benches:
        bench.engine.close()


def refused(bench: Any, **options: Any) -> tuple[int, str]:
    with pytest.raises(RpcError) as refusal:
        bench.submit(**options)
    return refusal.value.errnum, refusal.value.text


def system_of(bench: Any, job: int) -> Any:
    found = bench.call("job-info.lookup", id=job, keys=["jobspec"], flags=1)
    return found["jobspec"]["attributes"]["system"]


def test_a_job_for_the_waiting_room_waits_and_holds_up_no_other(made: Any) -> None:
    bench = made()
    waiting = bench.submit(**LARGE, burstable=1)
    system = system_of(bench, waiting)
    assert (system["queue"], system["constraints"]) == ("burst", {"properties": ["burst"]})
    local = bench.submit(**SMALL, burstable=1)
    assert bench.running() == [local]
    assert (bench.shown(local)["queue"], bench.shown(waiting)["state"]) == ("default", 8)


def test_a_job_runs_in_its_slot_once_it_is_moved_and_its_nodes_are_there(made: Any) -> None:
    bench = made()
    job = bench.submit(**LARGE, burstable="research")
    bench.call("job-manager.update", id=job, updates={"attributes.system.queue": "burst-0"})
    bench.call("job-manager.queue-start", start=True, name="burst-0")
    assert bench.running() == []
    for rank in range(2, 6):
        bench.engine.membership.rank_up(rank, f"burst-0-{rank - 2}")
    bench.loop.turn()
    assert (bench.running(), bench.shown(job)["ranks"]) == ([job], "[2-4]")


@pytest.mark.parametrize(
    ("options", "count"),
    [
        pytest.param({"nodes": 3}, (3, 2), id="not burstable"),
        pytest.param({"nodes": 7, "burstable": 1}, (7, 2), id="too large for bursts"),
        pytest.param(
            {"nodes": 3, "burstable": 1, "constraints": {"properties": ["local"]}}, (3, 2), id="tied"
        ),
    ],
)
def test_what_can_never_run_in_its_queue_is_refused(made: Any, options: Any, count: tuple[int, int]) -> None:
    """Ranks that are down are counted: they may come."""
    bench = made()
    reason = "unsatisfiable request: need {} exclusive node(s), only {} eligible".format(*count)
    assert refused(bench, exclusive=True, **options) == (errno.EOVERFLOW, reason)


def test_without_that_validator_it_fails_when_it_is_to_start(made: Any) -> None:
    """As with real Flux, whose scheduler is not asked before."""
    bench = made(CONFIG)
    job = bench.submit(**LARGE)
    assert bench.shown(job)["exception_type"] == "alloc"
    too_large = bench.submit(nodes=7, exclusive=True, burstable=1)
    assert bench.shown(too_large)["exception_type"] == "alloc"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"burstable": 2}, "burstable: 2: true, false or the name of a provider is right"),
        ({"burstable": []}, "burstable: []: true, false or the name of a provider is right"),
        ({"queue": "burst-0"}, CLOSED),
    ],
)
def test_what_routing_refuses_is_not_submitted(made: Any, options: Any, reason: str) -> None:
    bench = made()
    assert refused(bench, **options) == (errno.EPERM, reason)
    assert bench.call("job-list.job-stats")["job_states"]["total"] == 0


def test_a_job_that_tries_a_rank_is_admitted(made: Any) -> None:
    bench = made()
    job = bench.submit(queue="burst-0", constraints={"ranks": ["2"]}, minicluster={"probe": "aaaaaaaaaa"})
    assert bench.shown(job)["queue"] == "burst-0"


def test_a_job_can_be_moved_by_hand(made: Any) -> None:
    """On real Flux nobody could refuse it either: the job manager does it."""
    bench = made()
    job = bench.submit(urgency=0)
    bench.call("job-manager.update", id=job, updates={"attributes.system.queue": "burst-0"})
    assert bench.shown(job)["queue"] == "burst-0"


def test_nothing_is_routed_where_nobody_manages_bursts(made: Any) -> None:
    bench = made({**VALIDATED, "minicluster": {}})
    assert bench.shown(bench.submit(queue="burst-0", burstable=[]))["queue"] == "burst-0"


def test_a_wrong_table_is_named(made: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"broker.toml, \[minicluster.bursting\]: slots = "):
        made({"minicluster": {"bursting": {"slots": "burst-0"}}})
