"""Who leads, when, and what the Lease says then; in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicluster.kubernetes import leadership as module
from minicluster.kubernetes.errors import ApiError, LeadershipLostError
from minicluster.kubernetes.lease import Terms
from tests.operator.election import Connection, Server, Trip, contender, timing, work
from tests.operator.virtual_time import now, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from minicluster.kubernetes.leadership import Leadership

FORBIDDEN = ApiError(403, "Forbidden", 'leases.coordination.k8s.io "minicluster-operator" is forbidden')


@contextlib.asynccontextmanager
async def doing(what: Coroutine[Any, Any, Any]) -> AsyncIterator[asyncio.Task[Any]]:
    """Have something go on meanwhile; cancelled at the end, as by kill -9."""
    task = asyncio.ensure_future(what)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def takeover(standby: Leadership) -> float:
    """Return how many seconds it takes until a standby leads."""
    begin = now()
    await asyncio.wait_for(standby.acquire(), 120)
    return now() - begin


def leading(server: Server, name: str = "a") -> Leadership:
    """Return a contender that is to lead: call `acquire`."""
    return contender(server, name)


class TestLease:
    """What the Lease says."""

    def test_first_holder(self) -> None:
        """The first holder creates it: no transition yet, both times the same, in MicroTime."""
        server = Server()
        run(leading(server).acquire())
        assert server.spec == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 12,
            "acquireTime": server.spec["renewTime"],
            "renewTime": "2026-03-14T15:26:06.020000Z",
            "leaseTransitions": 0,
        }

    def test_renewal(self) -> None:
        """A renewal changes renewTime only."""
        server = Server()

        async def main() -> tuple[dict[str, Any], dict[str, Any]]:
            leader = leading(server)
            await leader.acquire()
            before = server.spec
            async with doing(leader.keep()):
                await asyncio.sleep(3)
            return before, server.spec

        before, after = run(main())
        assert {key for key in before if before[key] != after[key]} == {"renewTime"}

    def test_next_holder(self) -> None:
        """Whoever takes it over counts a transition and sets acquireTime anew."""
        server = Server()

        async def main() -> dict[str, Any]:
            await leading(server, "a").acquire()
            before = server.spec
            await leading(server, "b").acquire()
            return before

        before = run(main())
        assert (server.spec["holderIdentity"], server.spec["leaseTransitions"]) == ("b", 1)
        assert server.spec["acquireTime"] == server.spec["renewTime"] > before["acquireTime"]

    def test_release(self) -> None:
        """A release leaves nobody as the holder, and the shortest duration."""
        server = Server()

        async def main() -> None:
            leader = leading(server)
            await leader.acquire()
            await leader.release()

        run(main())
        assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("", 1)

    def test_keeps_what_others_wrote(self) -> None:
        """Labels, and fields of the spec that this operator does not know, stay."""
        server = Server()
        metadata = {"namespace": "operators", "name": "minicluster-operator", "labels": {"team": "hpc"}}
        server.store({"metadata": metadata, "spec": {"strategy": "OldestEmulationVersion"}})
        run(leading(server).acquire())
        assert server.item is not None
        assert server.item["metadata"]["labels"] == {"team": "hpc"}
        assert server.spec["strategy"] == "OldestEmulationVersion"

    @pytest.mark.parametrize(
        "terms",
        [{"lease": 8.0}, {"renew": 1.5}, {"retry": 0.0}],
        ids=["lease not longer than renew", "renew not longer than retry", "no pause"],
    )
    def test_terms_in_the_wrong_order(self, terms: dict[str, float]) -> None:
        """Terms under which two could lead are refused."""
        with pytest.raises(ValueError, match="must be longer than renew"):
            Terms(**terms)


class TestTakeover:
    """When a standby takes over."""

    def test_nobody_holds_it(self) -> None:
        """It leads at once where there is no Lease."""
        assert run(takeover(leading(Server()))) < 0.1

    @pytest.mark.parametrize("since", [0.0, 0.7, 1.9])
    def test_crash(self, since: float) -> None:
        """It leads between 12 and 13.5 s after the last renewal of a leader that crashed."""
        server = Server()

        async def main() -> float:
            leader, standby = leading(server, "a"), leading(server, "b")
            await leader.acquire()
            async with doing(leader.keep()), doing(standby.acquire()) as waiting:
                await asyncio.sleep(60 + since)
                assert not waiting.done()
            last = max(at for verb, at in server.requests if verb == "update")
            await takeover(standby)
            return now() - last

        assert 12 <= run(main()) <= 13.7

    def test_clean_stop(self) -> None:
        """It leads at its next look after a clean stop."""
        server = Server()

        async def main() -> float:
            leader, standby = leading(server, "a"), leading(server, "b")
            await leader.acquire()
            async with doing(standby.acquire()) as waiting:
                await asyncio.sleep(5.3)
                await leader.release()
                begin = now()
                await waiting
                return now() - begin

        assert run(main()) < 2.2

    def test_never_while_it_is_renewed(self) -> None:
        """It does not lead as long as another renews, whatever its own clock says."""
        server = Server()

        async def main() -> bool:
            leader, standby = leading(server, "a"), contender(server, "b", timing(offset=1e6))
            await leader.acquire()
            async with doing(leader.keep()), doing(standby.acquire()) as waiting:
                await asyncio.sleep(3600)
                return waiting.done()

        assert not run(main())

    @pytest.mark.parametrize(
        ("changes", "least"),
        [
            ({"leaseDurationSeconds": 1}, 12),
            ({"leaseDurationSeconds": 60}, 60),
            ({"holderIdentity": None}, 12),
            ({"holderIdentity": "b"}, 12),
            ({"renewTime": "2001-01-01T00:00:00.000000Z"}, 12),
            ({"holderIdentity": "", "leaseDurationSeconds": 1}, 0),
        ],
        ids=["shortened", "lengthened", "nobody", "its own name", "an old time", "as if released"],
    )
    def test_edited_by_a_person(self, changes: dict[str, Any], least: float) -> None:
        """A Lease that a person wrote into is left alone for the holder's time; a released one is free."""
        server = Server()

        async def main() -> float:
            await leading(server, "a").acquire()
            server.edit(**changes)
            return await takeover(leading(server, "b"))

        assert least <= run(main()) <= least + 2.2

    def test_deleted_by_a_person(self) -> None:
        """Who saw a Lease held waits also when it is gone: its holder may not know."""
        server = Server()

        async def main() -> float:
            await leading(server, "a").acquire()
            standby = leading(server, "b")
            async with doing(standby.acquire()) as waiting:
                await asyncio.sleep(1)
                server.item = None
                begin = now()
                await waiting
                return now() - begin

        assert 12 <= run(main()) <= 15

    def test_answer_lost(self) -> None:
        """Who created it, but never heard so, need not wait for itself."""
        server = Server()
        trips = iter([Trip(), Trip(answer_lost=True)])
        assert run(takeover(contender(server, "a", trips=trips))) < 2.2


class TestLeading:
    """How long a leader leads."""

    def test_may_not_write_before(self) -> None:
        """Nothing may be written before the Lease is held."""
        with pytest.raises(LeadershipLostError, match="a does not hold the Lease operators/"):
            run(_write(leading(Server())))

    def test_may_not_write_after_release(self) -> None:
        """Nothing may be written after a clean stop, not even while the Lease is being given up."""

        async def main() -> None:
            leader = contender(Server(), "a", trips=iter([Trip(), Trip(), Trip(there=4)]))
            await leader.acquire()
            async with doing(leader.release()):
                await asyncio.sleep(1)
                leader.may_write()

        with pytest.raises(LeadershipLostError, match="nothing is written"):
            run(main())

    def test_deadline_counts_from_sending(self) -> None:
        """The eight seconds count from when the renewal was sent, not from when its answer came."""

        async def main() -> float:
            leader = contender(Server(), "a", trips=iter([Trip(), Trip(back=3)]))
            await leader.acquire()
            acquired = now()
            while leader.leads:
                await asyncio.sleep(0.1)
            return now() - acquired

        assert run(main()) == pytest.approx(5, abs=0.2)

    def test_cut_off(self) -> None:
        """A leader that cannot reach the server stops eight seconds after its last renewal, and says why."""
        server = Server()

        async def main() -> float:
            way = Connection(server)
            leader = module.Leadership(way, "operators", "a", timing=timing())
            await leader.acquire()
            way.cut = True
            with pytest.raises(
                LeadershipLostError, match=r"for 8 s \(cannot update .*: connection refused\)"
            ):
                await leader.keep()
            with pytest.raises(LeadershipLostError):
                leader.may_write()
            last = max(at for verb, at in server.requests if verb == "create")
            return now() - last

        assert run(main()) == pytest.approx(8, abs=0.1)

    def test_stalled(self) -> None:
        """A leader whose process stood still for too long knows it before it writes."""

        async def main() -> None:
            leader = leading(Server())
            await leader.acquire()
            asyncio.get_running_loop().waiting.now += 11  # type: ignore[attr-defined]
            leader.may_write()

        with pytest.raises(LeadershipLostError, match="could not renew the Lease operators/"):
            run(main())

    def test_silent_server(self) -> None:
        """Requests that are never answered are given up, and others sent, before the deadline."""

        async def main() -> bool:
            trips = iter([Trip(), Trip(), Trip(there=1e6), Trip(), Trip()])
            leader = contender(Server(), "a", trips=trips)
            await leader.acquire()
            async with doing(leader.keep()):
                await asyncio.sleep(30)
                return leader.leads

        assert run(main())

    def test_taken(self) -> None:
        """A leader stops at its next renewal when somebody else holds the Lease."""
        server = Server()

        async def main() -> float:
            leader = leading(server)
            await leader.acquire()
            server.edit(holderIdentity="mallory")
            begin = now()
            with pytest.raises(LeadershipLostError, match=r"lost the Lease .*: mallory holds it"):
                await leader.keep()
            return now() - begin

        assert run(main()) < 2.2

    @pytest.mark.parametrize("edit", ["deleted", "nobody", "shortened"])
    def test_survives_edits(self, edit: str) -> None:
        """A leader takes its Lease again where nobody else has taken it."""
        server = Server()

        async def main() -> bool:
            leader = leading(server)
            await leader.acquire()
            async with doing(leader.keep()) as keeping:
                if edit == "deleted":
                    server.item = None
                elif edit == "nobody":
                    server.edit(holderIdentity="")
                else:
                    server.edit(leaseDurationSeconds=1)
                await asyncio.sleep(60)
                return not keeping.done()

        assert run(main())
        assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("a", 12)

    def test_idle_requests(self) -> None:
        """A leader sends one request each retry period, and so does a standby."""
        server = Server()

        async def main() -> None:
            leader, standby = leading(server, "a"), leading(server, "b")
            await leader.acquire()
            server.requests.clear()
            async with doing(leader.keep()), doing(standby.acquire()):
                await asyncio.sleep(60)

        run(main())
        verbs = [verb for verb, _ in server.requests]
        assert verbs.count("update") == pytest.approx(40, abs=1)
        assert verbs.count("get") == pytest.approx(40, abs=1)
        assert set(verbs) == {"get", "update"}


class TestLog:
    """What the log says."""

    @pytest.fixture(autouse=True)
    def _everything(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, module.__name__)

    def test_a_change_of_leaders(self, caplog: pytest.LogCaptureFixture) -> None:
        """Each line names who leads, and the Lease."""
        server = Server()

        async def main() -> None:
            leader, standby = leading(server, "a"), leading(server, "b")
            await leader.acquire()
            async with doing(standby.acquire()) as waiting:
                await asyncio.sleep(7)
                await leader.release()
                await waiting

        run(main())
        assert [record.getMessage() for record in caplog.records] == [
            "a leads: it holds the Lease operators/minicluster-operator",
            "b stands by: a holds the Lease operators/minicluster-operator",
            "a does not lead any more: it gave up the Lease operators/minicluster-operator",
            "b leads: it holds the Lease operators/minicluster-operator",
        ]

    @pytest.mark.parametrize(
        ("trips", "verb"),
        [([Trip(error=FORBIDDEN)] * 5, "get"), ([Trip(), Trip(error=FORBIDDEN)] * 3, "create")],
        ids=["get", "create"],
    )
    def test_forbidden(self, caplog: pytest.LogCaptureFixture, trips: list[Trip], verb: str) -> None:
        """Missing rights are told once, with verb, Lease and what is needed, until they are there."""
        run(takeover(contender(Server(), "a", trips=iter(trips))))
        errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        told = (
            f"cannot {verb} the Lease operators/minicluster-operator: {FORBIDDEN} "
            "(the operator's Role in operators must allow get, create, update on "
            "leases.coordination.k8s.io); it is tried again"
        )
        assert errors == [told]
        assert "the Lease operators/minicluster-operator can be used again" in caplog.messages

    def test_release_that_fails(self, caplog: pytest.LogCaptureFixture) -> None:
        """A release that did not get through says when another takes over, and does not raise."""

        async def main() -> None:
            way = Connection(Server())
            leader = module.Leadership(way, "operators", "a", timing=timing())
            await leader.acquire()
            way.cut = True
            await leader.release()

        run(main())
        assert caplog.messages[-1].endswith("connection refused; another takes over after 12 s")

    def test_lost(self, caplog: pytest.LogCaptureFixture) -> None:
        """A leader that lost the Lease says to whom."""
        server = Server()

        async def main() -> None:
            leader = leading(server)
            await leader.acquire()
            server.edit(holderIdentity="mallory")
            with contextlib.suppress(LeadershipLostError):
                await leader.keep()

        run(main())
        assert caplog.messages[-1] == (
            "a does not lead any more: it lost the Lease operators/minicluster-operator: mallory holds it"
        )


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
@settings(max_examples=150, deadline=None)
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
@settings(max_examples=30, deadline=None)
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


async def _write(leadership: Leadership) -> None:
    leadership.may_write()
