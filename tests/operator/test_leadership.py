"""Who leads, when, and what the Lease says then; in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.kube_client import leadership as module
from minicluster.kube_client.errors import ApiError, LeadershipLostError
from minicluster.kube_client.lease import Terms
from tests.operator.election import (
    Connection,
    Server,
    Trip,
    contender,
    doing,
    leading,
    takeover,
    timing,
)
from tests.operator.virtual_time import now, run

if TYPE_CHECKING:
    from minicluster.kube_client.leadership import Leadership

FORBIDDEN = ApiError(403, "Forbidden", 'leases.coordination.k8s.io "minicluster-operator" is forbidden')


async def _write(leadership: Leadership) -> None:
    leadership.may_write()


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
    def test_edited_by_a_user(self, changes: dict[str, Any], least: float) -> None:
        """A Lease that a person wrote into is left alone for the holder's time; a released one is free."""
        server = Server()

        async def main() -> float:
            await leading(server, "a").acquire()
            server.edit(**changes)
            return await takeover(leading(server, "b"))

        assert least <= run(main()) <= least + 2.2

    def test_deleted_by_a_user(self) -> None:
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
            leader = module.Leadership(way, "operators", "a", name="minicluster-operator", timing=timing())
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
