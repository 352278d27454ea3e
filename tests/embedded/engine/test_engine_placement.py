"""The placement of broker.toml, the domains of ranks, and what jobs tell of their tasks."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from minicluster.embedded.errors import ConfigurationError, RpcError, SchedulerError
from queue_policies.placement import plugins
from queue_policies.placement.workers import TaskWorker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

JSON = dict[str, Any]


@pytest.fixture
def make(kit: Any, tmp_path: Path) -> Callable[..., Any]:
    """Makes an engine of two nodes with four cores each; `keys` are those of [minicluster]."""

    def make(**keys: Any) -> Any:
        table = {name.replace("_", "-"): value for name, value in keys.items()}
        return kit.Bench(tmp_path, cores=4, config={"minicluster": table} | VALIDATES)

    return make


VALIDATES = {"ingest": {"validator": {"plugins": ["jobspec", "feasibility"]}}}


def submit(bench: Any, kit: Any, slots: int, *, cores: int = 1, per_slot: int = 1, **user: Any) -> int:
    """Submit a job with these attributes of the user's."""
    spec = kit.jobspec(slots=slots, cores=cores)
    spec["tasks"][0]["count"] = {"per_slot": per_slot}
    spec["attributes"]["user"] = user
    jobid: int = bench.call("job-ingest.submit", jobspec=spec, urgency=16, flags=0)["id"]
    return jobid


def cores_of(bench: Any, job: int) -> JSON:
    """Return the cores of a job's R by ranks."""
    (launch,) = (each for each in bench.executor.launches if each.id == job)
    lite = launch.R["execution"]["R_lite"]
    return {entry["rank"]: entry["children"]["core"] for entry in lite}


def test_without_a_placement_low_ranks_are_filled_first(make: Any, kit: Any) -> None:
    bench = make()
    assert cores_of(bench, submit(bench, kit, 2, profile="memory")) == {"0": "0-1"}
    assert bench.engine.policy == "fcfs"


def test_a_placement_with_settings(make: Any, kit: Any) -> None:
    bench = make(placement="spread", affinity="best-effort")
    assert cores_of(bench, submit(bench, kit, 2)) == {"0-1": "0"}
    assert bench.engine.policy == "fcfs, placement spread:affinity=best-effort"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param(
            {"placement": "sprad"},
            "broker.toml, [minicluster] placement = 'sprad': unknown placement 'sprad';"
            " did you mean 'spread'?",
            id="misspelt",
        ),
        pytest.param(
            {"placement": "random", "placement_settings": {"sed": 1}},
            "broker.toml, [minicluster] placement = 'random': placement random: unknown setting 'sed';"
            " did you mean 'seed'?",
            id="a setting that is misspelt",
        ),
        pytest.param(
            {"affinity": "requird"},
            "broker.toml, [minicluster] placement = 'low-rank': placement low-rank: setting affinity is"
            " 'requird'; it must be one of none, best-effort, required",
            id="an affinity that is misspelt",
        ),
    ],
)
def test_a_placement_that_is_none_keeps_the_lead_from_starting(make: Any, keys: JSON, message: str) -> None:
    with pytest.raises(SchedulerError) as caught:
        make(**keys)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        pytest.param("0-1;1-3", "the NUMA domains of mc-0 overlap: core 1 in two of them", id="overlap"),
        pytest.param(
            "0-1;3",
            "the NUMA domains of mc-0 miss core 2: each core is in one of them",
            id="a core is missing",
        ),
        pytest.param("0-1;x", "x: position 1: no id", id="no cores"),
        pytest.param(3, 'the cores of each domain are right, such as "0-1;2-3"', id="no text"),
    ],
)
def test_domains_that_are_none_keep_the_lead_from_starting(make: Any, domains: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make(domains=domains)
    assert str(caught.value).startswith(f"broker.toml, [minicluster] domains = {domains!r}: ")
    assert message in str(caught.value) or domains == "0-1;x"


def test_domains_of_broker_toml_are_used_and_stay(make: Any, kit: Any) -> None:
    """Whatever brokers find."""
    bench = make(domains="0,2;1,3", affinity="best-effort")
    bench.engine.membership.set_domains(0, ())
    assert cores_of(bench, submit(bench, kit, 1, cores=2)) == {"0": "0,2"}


def test_domains_that_brokers_find(make: Any, kit: Any) -> None:
    bench = make(affinity="best-effort")
    bench.engine.membership.set_domains(0, (0b1001, 0b0110))
    assert cores_of(bench, submit(bench, kit, 2)) == {"0": "0,3"}


def test_another_topology_of_a_rank_is_taken_over(make: Any, kit: Any) -> None:
    """A broker may come back on another machine: what could never start then starts."""
    bench = make(affinity="required")
    halves = (0b0011, 0b1100)
    for rank in (0, 1):
        bench.engine.membership.set_domains(rank, halves)
    with pytest.raises(RpcError) as refused:
        submit(bench, kit, 3, workers=1)
    bench.engine.membership.rank_down(1, "lost")
    bench.engine.membership.set_domains(1, (0b0111, 0b1000))
    bench.engine.membership.rank_up(1, "mc-1")
    bench.loop.turn()
    assert refused.value.errnum == errno.EOVERFLOW
    assert cores_of(bench, submit(bench, kit, 3, workers=1)) == {"1": "0-2"}


def test_a_worker_larger_than_a_domain_is_refused_with_the_largest(make: Any, kit: Any) -> None:
    bench = make(affinity="required", domains="0-1;2-3")
    with pytest.raises(RpcError) as caught:
        submit(bench, kit, 3, workers=1)
    why = "a worker of 3 core(s) does not fit into a domain; the largest has 2"
    assert caught.value.text == f"unsatisfiable request: {why}"


def test_the_launch_has_the_workers(make: Any, kit: Any) -> None:
    bench = make(placement="pack", domains="0-1;2-3")
    submit(bench, kit, 4, workers=2, profile="memory")
    (launch,) = bench.executor.launches
    assert launch.workers == {0: (TaskWorker(0b0011, 2), TaskWorker(0b1100, 2))}
    assert not launch.floats


@pytest.mark.parametrize(
    ("keys", "user", "floats"),
    [
        pytest.param({}, {}, False, id="by default tasks are bound"),
        pytest.param({"affinity": "none"}, {}, True, id="the affinity none"),
        pytest.param({"affinity": "none"}, {"profile": "cpu"}, True, id="whatever the profile"),
        pytest.param({"affinity": "best-effort"}, {"profile": "memory"}, False, id="another affinity"),
        pytest.param({}, {"profile": "io"}, True, id="input and output"),
    ],
)
def test_whether_tasks_float(make: Any, kit: Any, keys: JSON, user: JSON, floats: bool) -> None:
    bench = make(**keys)
    submit(bench, kit, 1, **user)
    assert bench.executor.launches[0].floats == floats


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"profile": "memroy"}, "attributes.user.profile: 'memroy' is no profile; did you mean 'memory'?"),
        ({"workers": 0}, "attributes.user.workers must be an integer > 0, not 0"),
    ],
)
def test_what_is_refused_at_submission(make: Any, kit: Any, user: JSON, message: str) -> None:
    with pytest.raises(RpcError) as caught:
        submit(make(), kit, 2, **user)
    assert (caught.value.errnum, caught.value.text) == (errno.EPERM, message)


def test_more_workers_than_tasks_are_one_for_each(make: Any, kit: Any) -> None:
    bench = make(placement="pack")
    submit(bench, kit, 2, workers=40)
    assert bench.executor.launches[0].workers == {0: (TaskWorker(0b01, 1), TaskWorker(0b10, 1))}


def test_a_job_that_was_admitted_before_profiles_were_known_goes_on(make: Any, kit: Any) -> None:
    """What its attributes say is nothing then."""
    bench = make()
    blocker = submit(bench, kit, 8)
    waiting = submit(bench, kit, 8, profile="memory")
    bench.engine._manager.commits.write()
    database = bench.engine._manager.parts.store.database._connection
    database.execute("UPDATE jobs SET jobspec = replace(jobspec, 'memory', 'my own word')")
    bench.restart()
    assert bench.shown(blocker)["exception_note"].startswith("lead broker restarted")
    assert bench.running() == [waiting]


@dataclass(frozen=True)
class Greedy:
    """Gives every job the first core of rank 0."""

    name: ClassVar[str] = "greedy"
    affinity: str = "none"

    def place(self, ask: Any, _nodes: Any) -> dict[int, tuple[int, int]]:
        return {0: (1, 0)} if ask.request.slots == 1 else {7: (1, 0)}


def test_a_job_that_waits_for_a_domain_has_that_reason(make: Any, kit: Any) -> None:
    """Enough cores are free, but not of one domain."""
    bench = make(affinity="required", domains="0-1;2-3")
    single = [submit(bench, kit, 1, workers=1) for _ in range(8)]
    for number in (0, 2):
        bench.finish(single[number])
    waiting, other = submit(bench, kit, 2, workers=1), submit(bench, kit, 3)
    assert bench.shown(waiting)["annotations"]["sched"] == {
        "reason_pending": "waits for a domain with 2 free core(s) for a worker; the most is 1"
    }
    assert "annotations" not in bench.shown(other)  # there are too few cores
    bench.finish(single[1])
    assert bench.running()[-1] == waiting
    assert bench.shown(waiting)["annotations"]["sched"] == {"resource_summary": "rank0/core[0-1]"}


class FailingError(Exception):
    """What a placement of this file raises."""


@dataclass(frozen=True)
class Broken:
    """Raises."""

    name: ClassVar[str] = "broken"
    affinity: str = "none"

    def place(self, _ask: Any, _nodes: Any) -> dict[int, tuple[int, int]]:
        raise FailingError("no idea")


def test_a_placement_that_raises_refuses_no_job(make: Any, kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is logged, and the job waits for a lead with a better one."""
    monkeypatch.setattr(plugins, "load", lambda *_: Broken())
    bench = make(placement="broken")
    job = submit(bench, kit, 1)
    assert (bench.running(), bench.shown(job)["state"]) == ([], 8)
    (line,) = (line for line in bench.logged if "broken" in line)
    assert line.startswith("placement broken failed: FailingError: no idea")


def test_a_placement_that_returns_what_is_not_free_is_logged_and_the_queue_kept(
    make: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "load", lambda *_: Greedy())
    bench = make(placement="greedy")
    first = submit(bench, kit, 1)
    second = submit(bench, kit, 1)
    bench.loop.turn()
    assert bench.running() == [first]
    assert bench.shown(second)["state"] == 8
    (line,) = (line for line in bench.logged if "greedy" in line)
    assert line.startswith("placement greedy returns core 0 of rank 0, which is not free; ")
    bench.finish(first)
    assert bench.running() == [first, second]
