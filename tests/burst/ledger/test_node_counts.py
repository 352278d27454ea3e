"""How many nodes of bursts were there, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio

from burst.ledger import bursts, node_counts, resources
from burst.ledger.schema import SCHEMA
from burst.lifecycle.metering import NodeCount
from burst.lifecycle.records import ResourceKey
from minicluster.database import Database, downgrade
from tests.burst.ledger.test_ledger import NOW, burst, opened, run

COUNTS = [NodeCount(NOW, 4), NodeCount(NOW, 3), NodeCount(NOW + 7.5, 0)]


def test_counts_are_read_in_the_order_in_which_they_were_written(url: str) -> None:
    async def scenario(database: Database) -> None:
        one, other = burst(0), burst(1)
        async with database.write() as connection:
            for each in (one, other):
                await bursts.add(connection, each)
            for count in COUNTS:
                await node_counts.add(connection, one.id, count)
            assert await node_counts.running(connection) == set()
            await node_counts.add(connection, other.id, COUNTS[0])
        async with database.read() as connection:
            assert await node_counts.of_burst(connection, one.id) == COUNTS
            assert await node_counts.by_burst(connection) == {one.id: COUNTS, other.id: COUNTS[:1]}
            assert await node_counts.running(connection) == {other.id}

    run(url, scenario)


def test_resources_of_older_ledgers_had_all_of_their_nodes(url: str) -> None:
    """Up to revision 0001 a resource cost its nodes from when it was made until it was gone."""
    gone, there, never = burst(0), burst(1), burst(2)

    async def work() -> dict[str, list[NodeCount]]:
        async with opened(url) as database, database.write() as connection:
            for each in (gone, there, never):
                await bursts.add(connection, each)
                keys = [ResourceKey("nodes", "mcb-a", 2), ResourceKey("pods", "mcb-a-pods")]
                await resources.add(connection, each.id, keys)
            for each in (gone, there):
                for made in await resources.of_burst(connection, each.id):
                    await resources.change(connection, made, made_at=NOW)
            for made in await resources.of_burst(connection, gone.id):
                await resources.change(connection, made, gone_at=NOW + 9)
        await downgrade(url, SCHEMA, "0001")
        async with opened(url) as database, database.read() as connection:
            return await node_counts.by_burst(connection)

    found = asyncio.run(work())
    assert found == {gone.id: [NodeCount(NOW, 2), NodeCount(NOW + 9, 0)], there.id: [NodeCount(NOW, 2)]}
