"""Leads that say much, or take long for it, are not in the others' way."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from minicluster.kube_client.objects import Name
from minicluster.lead_client import connection
from minicluster.lead_client.broker_pods import Lead
from minicluster.lead_client.connection import Address, LeadConnection
from minicluster.operator import lead_slots, lead_watch
from minicluster.operator.records import LeadReport
from minicluster.plan import LeadCommand
from tests.operator import objects, virtual_time
from tests.operator.lead_server import FakeLead, reporting, sending
from tests.operator.listening import BROKER_REPORT, NAME, UID, Listening, in_loop, listening, until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nothing wait for long that is not the test's subject."""
    monkeypatch.setattr(lead_watch, "MIN_RETRY_INTERVAL", 0.01)


def meet(here: Listening, name: str) -> None:
    """Take in that the lead of another MiniCluster runs."""
    here.cache.see_cluster(objects.minicluster(name, uid=UID))
    spec = {"parallelism": 1}
    here.cache.see("Job", objects.owned("Job", name, instance=name, owner=UID, spec=spec))
    pod = objects.broker(name=name, phase="Running", address="127.0.0.1", instance=name)
    pod["metadata"]["ownerReferences"][0]["uid"] = f"uid-Job-{name}"
    here.cache.see("Pod", pod)
    here.lead_watch.follow(Name(objects.NAMESPACE, name))


@in_loop
async def test_not_all_leads_are_connected_to_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand leads that do not answer must not cost a thousand connections."""
    monkeypatch.setattr(lead_slots, "MAX_CONNECTING", 3)
    async with AsyncExitStack() as stack:
        here, fake_lead = await stack.enter_async_context(listening(tmp_path, sending(b"", stays=True)))
        for number in range(10):
            meet(here, f"mc{number}")
        assert len(here.lead_watch._streams) == 10
        await until(lambda: fake_lead.open == 3)
        await asyncio.sleep(0)
        assert fake_lead.connections == 3


class TestSlowLeads:
    """Leads that keep the operator waiting are not in the others' way."""

    @pytest.fixture(autouse=True)
    def crowded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have one slow door take all the slots there are, for longer than the test waits."""
        monkeypatch.setattr(lead_slots, "MAX_CONNECTING", 1)
        monkeypatch.setattr(lead_slots, "MAX_SLOW_CONNECTING", 1)
        monkeypatch.setattr(connection, "ANSWER_TIMEOUT", 600.0)

    @in_loop
    async def test_orders_do_not_wait_for_those_that_are_listened_to(self, tmp_path: Path) -> None:
        async def script(
            fake_lead: FakeLead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            if fake_lead.requests[-1][0].startswith("POST"):
                await reporting(fake_lead, reader, writer)
            else:
                await reader.read()  # until the other side hangs up

        async with listening(tmp_path, script) as (here, fake_lead):
            meet(here, "slow")
            await until(lambda: fake_lead.open)
            here.pod()
            here.lead_watch.send(NAME, (LeadCommand("drain", "1", "minicluster: shrinking to 1"),))
            await until(lambda: not here.lead_watch._sending)
            assert [head.split()[0] for head, _, _ in fake_lead.requests] == ["GET", "POST"]

    @in_loop
    async def test_those_that_were_slow_wait_for_one_another(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lead_slots, "SLOW_AFTER", 0.0)

        async def script(
            fake_lead: FakeLead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            if fake_lead.connections == 2:
                await reader.read()  # until the other side hangs up
            elif fake_lead.connections > 2:
                await reporting(fake_lead, reader, writer)

        async with listening(tmp_path, script) as (here, fake_lead):
            meet(here, "slow")
            await until(lambda: fake_lead.connections == 2)
            here.pod()
            await until(lambda: here.lead_report)
            assert here.lead_report == LeadReport(BROKER_REPORT)
            assert fake_lead.open == 2

    @in_loop
    async def test_one_that_is_quick_again_is_as_others(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as (here, _):
            here.lead_watch._slots._slow.add((NAME, "stream"))
            here.pod()
            await until(lambda: here.lead_report)
            assert here.lead_watch._slots._slow == set()

    def test_only_a_quick_answer_of_its_kind_makes_up_for_a_slow_one(self) -> None:
        """Neither a quick report for a slow order, nor a try that was broken off by the next order."""

        async def work() -> None:
            here = Listening(1).lead_watch
            here._streams[NAME] = lead_watch._Stream(Lead(UID, "pod", "h"), asyncio.Future())
            async with here._slots.use(NAME, "command"):
                await asyncio.sleep(lead_slots.SLOW_AFTER)
            async with here._slots.use(NAME, "stream"):
                pass
            with pytest.raises(asyncio.CancelledError):
                async with here._slots.use(NAME, "command"):
                    raise asyncio.CancelledError
            assert here._slots._slow == {(NAME, "command")}

        virtual_time.run(work())

    @in_loop
    async def test_another_lead_begins_anew(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as (here, _):
            here.pod()
            here.lead_watch._slots._slow.add((NAME, "command"))
            here.cache.forget("Pod", objects.broker(version=2))
            here.lead_watch.follow(NAME)
            assert here.lead_watch._slots._slow == set()


@pytest.mark.parametrize(
    ("parts", "seconds"),
    [
        pytest.param([b"x"] * 10_000, 7.8, id="letter by letter"),
        pytest.param([b"x" * 16_383 + b"\n"] * 40, 2.0, id="long lines"),
        pytest.param([b"x" * 4000 + b"\n"], 0.0, id="a usual line"),
    ],
)
def test_whoever_sends_much_is_read_slowly(parts: list[bytes], seconds: float) -> None:
    """All leads share one loop: none gets more of it than MAX_READ_BYTES in READ_INTERVAL."""

    class Endless(LeadConnection):
        async def _body(self) -> AsyncIterator[bytes]:
            for piece in parts:
                self._received += len(piece)
                yield piece

    async def work() -> float:
        begin = virtual_time.now()
        reader: Any = None
        fake_lead = Endless(Address("h", 1, "h"), ssl.create_default_context(), reader, reader)
        async for _ in fake_lead.lines():
            pass
        return virtual_time.now() - begin

    assert virtual_time.run(work()) == pytest.approx(seconds)
