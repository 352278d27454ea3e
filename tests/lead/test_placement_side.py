"""What the scheduler's module for real Flux does about cores; no Flux is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from minicluster.flux_scheduler.job_allocations import running
from minicluster.flux_scheduler.placement_side import PlacementSide
from minicluster.flux_scheduler.reasons import Reasons
from queue_policies.errors import PolicyError
from queue_policies.placement.plugins import load
from tests.lead.hwloc_xml import topology_xml
from tests.lead.played_brokers import BrokersHandle
from tests.lead.scheduled import arrive, jobspec, scheduling, started

if TYPE_CHECKING:
    from minicluster.flux_scheduler.scheduling import Scheduling
    from queue_policies.nodes.records import Allocation

FOUR_CORES = topology_xml([[cpu] for cpu in range(4)], [[0, 1], [2, 3]])


class Log:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.debug = self.info = self.warning = self.error = self.lines.append


class Scene:
    """Four nodes of four cores, whose brokers answer at once with two domains each."""

    def __init__(self, *, answered: bool = True, **config: Any) -> None:
        self.handle, self.log = BrokersHandle(config=config), Log()
        self.decisions = 0
        self.side = PlacementSide(
            self.handle, self.log, lambda: self.made, lambda: self.known, self._schedule
        )
        self.made: Scheduling = scheduling(placement=self.side.placement, owner=0)
        self.known = self
        self.ranks, self.expiration = self.made.allocations.ranks, 0.0
        self.side.follow_ranks()
        while answered and self.handle.requests:
            self.handle.answer(self.handle.asked[0], FOUR_CORES)

    def _schedule(self) -> None:
        self.decisions += 1

    def tables(self, spec: Any) -> Any:
        """What R has for the shells of a job that starts; None: nothing."""
        arrive(self.made, 1, spec)
        [begun] = self.made.decide(100.0).starts
        resources = self.side.resources_of(begun, 100.0)
        return resources.get("attributes", {}).get("user", {}).get("placement")

    @property
    def domains(self) -> list[tuple[int, ...]]:
        return [node.domains for node in self.made.pool.nodes]


@pytest.mark.parametrize(
    ("config", "spec", "tables"),
    [
        pytest.param({}, jobspec(slots=2), None, id="nothing is asked"),
        pytest.param({"affinity": "none"}, jobspec(slots=2), {"0": {"floats": True}}, id="tasks float"),
        pytest.param(
            {},
            jobspec(slots=2, workers=2),
            {"0": {"first": 0, "tasks": [1, 1], "cpus": ["0", "1"]}},
            id="workers without a placement",
        ),
        pytest.param(
            {"placement": "spread"}, jobspec(slots=1), {"0": {"first": 0, "tasks": [1]}}, id="a placement"
        ),
        pytest.param(
            {"placement": "pack"},
            jobspec(slots=2, profile="io"),
            {"0": {"first": 0, "tasks": [2], "floats": True}},
            id="input and output",
        ),
        pytest.param(
            {"placement": "pack"},
            jobspec(slots=2, elastic={"min": 2, "max": 2, "malleable": True}),
            None,
            id="a malleable job",
        ),
    ],
)
def test_r_has_what_shells_are_to_do(config: dict[str, Any], spec: Any, tables: object) -> None:
    assert Scene(**config).tables(spec) == tables


def test_domains_are_those_of_the_nodes() -> None:
    """Once all have answered a decision is made."""
    scene = Scene()
    assert scene.domains == [(0b0011, 0b1100)] * 4
    assert scene.decisions == 1
    assert scene.side.stats() == {"placement": "", "domains": 8}


def test_jobs_start_before_nodes_have_answered() -> None:
    scene = Scene(answered=False, placement="pack", affinity="required")
    assert scene.tables(jobspec(slots=4)) == {"0": {"first": 0, "tasks": [4]}}
    assert scene.domains == [()] * 4


def test_domains_of_broker_toml_stand_over_those_of_the_nodes() -> None:
    scene = Scene(domains="0,2;1,3")
    assert scene.domains == [(0b0101, 0b1010)] * 4


def test_domains_that_do_not_fit_are_named() -> None:
    """The nodes then have one each."""
    scene = Scene(domains="0-1;1-3")
    assert scene.domains == [()] * 4
    overlap = "broker.toml, [minicluster] domains: the NUMA domains of n0 overlap: core 1 in two of them"
    assert overlap in scene.log.lines


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param({"placement": "balancd"}, "did you mean 'balanced'?", id="misspelt"),
        pytest.param({"placement-settings": {"affinty": "none"}}, "affinty", id="setting"),
    ],
)
def test_a_wrong_placement_is_not_loaded(config: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as raised:
        Scene(**config)
    assert message in str(raised.value)


def test_the_placement_is_shown_with_its_settings() -> None:
    shown = Scene(placement="minicluster/pack", affinity="required").side.stats()["placement"]
    assert shown == "pack:affinity=required"


class TestRequired:
    """Workers that must be within one domain."""

    @pytest.fixture
    def made(self) -> Scheduling:
        return Scene(placement="pack", affinity="required").made

    def test_a_worker_that_fits_into_no_domain_is_refused(self, made: Scheduling) -> None:
        """At submission, with the largest that there is."""
        wrong = made.infeasible(jobspec(slots=3, workers=1))
        assert wrong == (
            "unsatisfiable request: a worker of 3 core(s) does not fit into a domain; the largest has 2"
        )

    def test_a_job_waits_for_a_domain(self, made: Scheduling) -> None:
        """Its reason says so, as enough cores are free."""
        others = made.allocations.ranks.encode(dict.fromkeys(range(4), (0b0101, 0)))
        made.allocations.resume(*running(9, 16, 0, 0.0, others))
        arrive(made, 1, jobspec(slots=2, workers=1))
        assert started(made) == {}
        message = "waits for a domain with 2 free core(s) for a worker; the most is 1"
        assert Reasons(made).of(made.queue[1]) == message


@dataclass(frozen=True)
class Doubling:
    """A placement that gives the whole node."""

    name: ClassVar[str] = "doubling"

    def place(self, ask: object, nodes: Any) -> Allocation:
        return {nodes.ranks[0]: (nodes.nodes[nodes.ranks[0]].cores, 0)}


def test_a_defect_of_a_placement_keeps_the_queue() -> None:
    """It names placement, job and state; what comes later is asked again."""
    made = scheduling(placement=Doubling())
    assert made.infeasible(jobspec()) is None
    arrive(made, 1, jobspec())
    assert started(made) == {}
    assert made.defect.startswith("placement doubling returns 4 slots where 1 are requested; ")
    assert 1 in made.queue
    message = "placement doubling failed, and is asked again when something changes"
    assert Reasons(made).of(made.queue[1]) == message


def test_the_profile_of_a_job_that_ran_before_is_known() -> None:
    """When its jobspec is read."""
    made = scheduling(placement=load("pack", {}))
    arrive(made, 1, jobspec(profile="memory"))
    started(made)
    shape = made.queued(2, 16, 0, 0.0, jobspec(profile="network")).request.shape  # type: ignore[attr-defined]
    made.allocations.know_shape(1, shape)
    made.allocations.know_shape(7, shape)
    assert made.running[1].profile == shape.profile
    assert made.pool.occupancy is not None
    assert [each.profile for each in made.pool.occupancy.jobs_on(0)] == [shape.profile]
