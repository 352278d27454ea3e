"""What a contender logs of its election, once each; in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from minicluster.kube_client import leadership as module
from minicluster.kube_client.errors import ApiError, LeadershipLostError
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
from tests.operator.virtual_time import run

FORBIDDEN = ApiError(403, "Forbidden", 'leases.coordination.k8s.io "minicluster-operator" is forbidden')


class TestLog:
    """What the log says."""

    @pytest.fixture(autouse=True)
    def _everything(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "minicluster.kube_client")

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
        message = (
            f"cannot {verb} the Lease operators/minicluster-operator: {FORBIDDEN} "
            "(the service's Role in operators must allow get, create, update on "
            "leases.coordination.k8s.io); it is tried again"
        )
        assert errors == [message]
        assert "the Lease operators/minicluster-operator can be used again" in caplog.messages

    def test_release_that_fails(self, caplog: pytest.LogCaptureFixture) -> None:
        """A release that did not get through says when another takes over, and does not raise."""

        async def main() -> None:
            way = Connection(Server())
            leader = module.Leadership(way, "operators", "a", name="minicluster-operator", timing=timing())
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
