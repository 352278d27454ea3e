"""How the scheduler's module learns about nodes: each rank is asked when it comes, a few at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

from minicluster.flux_scheduler import topologies
from minicluster.flux_scheduler.topologies import Topologies
from tests.lead.hwloc_xml import topology_xml
from tests.lead.played_brokers import BrokersHandle

ONE = topology_xml([[0], [1]])


@dataclass
class Scene:
    handle: BrokersHandle = field(default_factory=BrokersHandle)
    changes: int = 0
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.known = Topologies(self.handle, self._on_change, self.log.append)

    def _on_change(self) -> None:
        self.changes += 1

    @property
    def domains(self) -> dict[int, int]:
        """How many each rank has, as far as that is known."""
        return {rank: len(found.domains) for rank, found in self.known.by_rank.items()}


def test_all_are_known_before_anything_changes() -> None:
    scene = Scene()
    scene.known.follow({0, 1})
    scene.handle.answer(1)
    assert (scene.domains, scene.changes) == ({1: 2}, 0)
    scene.handle.answer(0, ONE)
    assert (scene.domains, scene.changes) == ({0: 1, 1: 2}, 1)


def test_a_few_are_asked_at_a_time() -> None:
    scene = Scene()
    scene.known.follow(range(20))
    assert scene.handle.asked == list(range(topologies.MAX_OPEN))
    for rank in range(20):
        scene.handle.answer(rank)
        assert len(scene.handle.asked) <= topologies.MAX_OPEN
    assert (len(scene.domains), scene.changes) == (20, 1)


def test_equal_nodes_are_kept_once() -> None:
    scene = Scene()
    scene.known.follow({0, 1})
    scene.handle.answer(0)
    scene.handle.answer(1)
    assert scene.known.by_rank[0] is scene.known.by_rank[1]


def test_a_rank_that_does_not_answer_has_none() -> None:
    """Nor one that answers something else; the log says why."""
    scene = Scene()
    scene.known.follow({0, 1, 2})
    scene.handle.answer(0, error=OSError(113, "No route to host"))
    scene.handle.answer(1, "no topology")
    scene.handle.answer(2)
    assert (scene.domains, scene.changes) == ({2: 2}, 1)
    unknown = "its NUMA domains are not known"
    assert scene.log == [
        f"rank 0: {unknown}: OSError: [Errno 113] No route to host",
        f"rank 1: {unknown}: TopologyInvalid: hwloc's topology is not XML: syntax error: line 1, column 0",
    ]


def test_a_rank_that_returns_may_be_another_node() -> None:
    scene = Scene()
    scene.known.follow({0, 1})
    scene.handle.answer(0)
    scene.handle.answer(1)
    scene.known.follow({0})
    assert scene.domains == {0: 2}
    scene.known.follow({0, 1})
    assert scene.handle.asked == [1]
    scene.handle.answer(1, ONE)
    assert scene.domains == {0: 2, 1: 1}


def test_who_has_left_before_its_turn_is_not_asked() -> None:
    scene = Scene()
    scene.known.follow(range(topologies.MAX_OPEN + 2))
    scene.known.follow(range(topologies.MAX_OPEN + 1))
    for rank in range(topologies.MAX_OPEN + 1):
        scene.handle.answer(rank)
    assert not scene.handle.asked
