"""Node pools of a rehearsed cloud that has no interface of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from burst.providers.provider import WantedBurst
from burst.rehearsal.cloud import RehearsedCloud
from burst.rehearsal.plain_pools import PlainPools

WANTED = WantedBurst("b1", "here", 4, "m4", spot=False, until=9e9)


@dataclass
class Clock:
    now: float = 0.0
    cloud: RehearsedCloud = field(init=False)

    def __post_init__(self) -> None:
        self.cloud = RehearsedCloud(lambda: self.now, {"m4": 3_600_000}, coming=0.0, going=5.0, lag=60.0)


def test_a_listing_that_lags_has_the_machines_of_then_as_well() -> None:
    """Else those that ended early would never be seen by who has nothing but listings."""
    clock = Clock()
    pools = PlainPools(clock.cloud, (), "memory")
    pools.create(WANTED, "token")
    clock.now = 25.0
    clock.cloud.end(clock.cloud.machines[-1:])
    assert pools.get(WANTED).nodes == 3
    pools.delete(WANTED)
    seen = {}
    for clock.now in (24.0, 61.0, 86.0, 91.0):
        seen[clock.now] = [each.nodes for each in pools.owned("here")]
    assert seen == {24.0: [], 61.0: [4], 86.0: [3], 91.0: []}
