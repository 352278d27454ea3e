"""What a cloud bills, beside what the ledger charges."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.burst.life.world import World


async def check_money(world: World) -> None:
    """What was charged is the bill, but for the time until a service could first see each end."""
    late = 0.0
    for each in world.cloud._made:
        assert each.gone is not None
        late += _late(world, each.gone) * each.fee / 3600
        ends = [min(end or each.gone, each.gone) for end in each.ends]
        late += sum(_late(world, end) * each.price / 3600 for end in ends)
    bill, charged = world.cloud.bill(), await world.spent()
    assert bill <= charged <= bill + late, (bill, charged, late)


def _late(world: World, end: float) -> float:
    return next(tick for tick in world.ticks if tick >= end + world.cloud.lag) - end
