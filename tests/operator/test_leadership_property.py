"""Two that contend, whatever the network, the clocks, a person or a crash does; in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from minicluster.kube_client import leadership as module
from tests.budgets import examples
from tests.operator.election import Server, Trip, contender, doing, timing, work
from tests.operator.virtual_time import now, run

if TYPE_CHECKING:
    from minicluster.kube_client.leadership import Leadership

SECONDS = st.floats(0, 12, allow_nan=False)
TRIPS = st.lists(
    st.builds(
        Trip, there=SECONDS, back=SECONDS, request_lost=st.sampled_from([False] * 3 + [True]),
        answer_lost=st.sampled_from([False] * 3 + [True]),
    ),
    max_size=25,
)  # fmt: skip
CLOCKS = st.tuples(st.floats(0.85, 1.2), st.floats(-1e6, 1e6))
STALLS = st.lists(st.floats(0, 20), max_size=10)
EDITS = st.lists(
    st.tuples(
        st.floats(0, 100),
        st.sampled_from(
            [
                {"leaseDurationSeconds": 1},
                {"holderIdentity": ""},
                {"holderIdentity": "a"},
                {"holderIdentity": "b"},
                {"holderIdentity": "mallory"},
                {"holderIdentity": None, "renewTime": None, "acquireTime": None},
                None,
            ]
        ),
    ),
    max_size=4,
)
STOPS = st.one_of(st.none(), st.tuples(st.floats(0, 100), st.booleans()))


async def disturb(server: Server, edits: list[tuple[float, dict[str, Any] | None]]) -> None:
    """Edit the Lease, or (None) delete it once both have seen it."""
    begin = now()
    for at, changes in sorted(edits, key=lambda edit: edit[0]):
        await asyncio.sleep(max(begin + at - now(), 0))
        if server.item is None:
            continue
        if changes is not None:
            server.edit(**changes)
        elif server.readers == {"a", "b"}:
            server.item = None


async def live(leadership: Leadership, stop: tuple[float, bool] | None) -> None:
    """Contend until stopped: cleanly, or by a crash."""
    async with doing(work(leadership)):
        if stop is None:
            await asyncio.sleep(1e4)
        else:
            await asyncio.sleep(stop[0])
    if stop is not None and stop[1]:
        await leadership.release()
    leadership._until = module.NEVER  # a process that is gone writes nothing


async def overlap(first: Leadership, second: Leadership, seconds: float) -> float | None:
    """Return when both may write at once; None: never."""
    end = now() + seconds
    while now() < end:
        if first.leads and second.leads:
            return now()
        await asyncio.sleep(0.2)
    return None


@given(trips=st.tuples(TRIPS, TRIPS), clocks=st.tuples(CLOCKS, CLOCKS), stalls=st.tuples(STALLS, STALLS),
       edits=EDITS, stops=st.tuples(STOPS, STOPS))  # fmt: skip
@settings(max_examples=examples(100))
def test_never_two_writers(trips: Any, clocks: Any, stalls: Any, edits: Any, stops: Any) -> None:
    """Two never may write at once, whatever the network, the clocks, a person or a crash does."""
    server = Server()

    async def main() -> float | None:
        a, b = (
            contender(server, name, timing(*clock, stalls=iter(stall)), trips=iter(trip))
            for name, clock, stall, trip in zip("ab", clocks, stalls, trips, strict=True)
        )
        async with doing(live(a, stops[0])), doing(live(b, stops[1])), doing(disturb(server, edits)):
            return await overlap(a, b, 150)

    assert run(main()) is None


@given(trips=st.tuples(TRIPS, TRIPS), clocks=st.tuples(CLOCKS, CLOCKS))
@settings(max_examples=examples(30))
def test_somebody_leads_in_the_end(trips: Any, clocks: Any) -> None:
    """Once the network is quiet, one of the two leads and stays the leader."""
    server = Server()

    async def main() -> tuple[bool, bool]:
        a, b = (
            contender(server, name, timing(*clock), trips=iter(trip))
            for name, clock, trip in zip("ab", clocks, trips, strict=True)
        )
        async with doing(work(a)), doing(work(b)):
            await asyncio.sleep(400)
            return a.leads, b.leads

    assert sorted(run(main())) == [False, True]
