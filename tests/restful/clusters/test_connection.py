"""The connection to an instance that does not answer any more: whatever it does, nobody else waits for it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, cast

import pytest

from restful.clusters import connection
from restful.clusters.connection import ClusterConnection
from restful.clusters.spec import ClusterSpec
from restful.errors import HttpProblem
from restful.settings import ClusterLimits
from tests.restful.jobs.service import within
from tests.restful.output.driver import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.instance.port import Instance


class Hanging:
    """An instance that does not let go of its connection."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.go_on = threading.Event()
        self.ended = threading.Event()

    def close(self) -> None:
        self.began.set()
        self.go_on.wait(60)
        self.ended.set()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    found = Hanging()
    yield found
    found.go_on.set()


def made(hanging: Hanging, seconds: float = 30.0) -> ClusterConnection:
    spec = ClusterSpec("mc", lambda: cast("Instance", hanging))
    return ClusterConnection(spec, ClusterLimits(call_seconds=seconds))


def test_who_hangs_up_does_not_wait_for_a_broker_that_hangs(hanging: Hanging) -> None:
    async def work() -> tuple[bool, str]:
        one = made(hanging)
        await one.open()
        one.ready()
        one.lost("it hangs", 1.0)
        await until(hanging.began.is_set, "it is hung up")
        with pytest.raises(HttpProblem) as raised:
            one.start(lambda _: None)
        one.close()
        return hanging.ended.is_set(), raised.value.detail

    assert within(work()) == (False, "cluster mc: it hangs")


def test_what_answers_too_late_is_hung_up_beside(hanging: Hanging) -> None:
    late = threading.Event()

    def connect() -> Any:
        assert late.wait(60)
        return hanging

    async def work() -> bool:
        one = ClusterConnection(ClusterSpec("mc", connect), ClusterLimits(call_seconds=0.01))
        with pytest.raises(TimeoutError):
            await one.open()
        late.set()
        await until(hanging.began.is_set, "it is hung up")
        return hanging.ended.is_set()

    assert within(work()) is False


def test_at_the_end_it_waits_only_so_long(hanging: Hanging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HANG_UP_SECONDS", 0.05)

    async def work() -> bool:
        one = made(hanging)
        await one.open()
        one.close()
        await one.hung_up()
        waited = hanging.ended.is_set()
        hanging.go_on.set()
        await until(hanging.ended.is_set, "it has hung up")
        await asyncio.wait_for(one.hung_up(), 60)
        return waited

    assert within(work()) is False
