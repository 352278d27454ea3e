"""What a lead is to be told gets to it, and what it said before does not count any more."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from minicluster.operator import lead_watch
from minicluster.plan import BrokerReport, Disruption, LeadCommand, RestartReport, SaveProgress
from tests.operator.lead_server import sending
from tests.operator.listening import NAME, in_loop, listening, until

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)


class TestOrders:
    DRAIN = LeadCommand("drain", "2-3", "minicluster: shrinking to 2")
    UNDRAIN = LeadCommand("undrain", "1")

    @in_loop
    async def test_orders_reach_the_lead_in_order(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as (here, fake_lead):
            here.pod()
            await until(lambda: here.lead_report)
            here.lead_watch.send(NAME, (self.DRAIN, self.UNDRAIN))
            assert here.lead_report is None  # what was reported before is forgotten
            await until(lambda: here.lead_report)
            assert [(head, json.loads(body)) for head, _, body in fake_lead.requests[1:3]] == [
                ("POST /v1/drain HTTP/1.1", {"ranks": "2-3", "reason": "minicluster: shrinking to 2"}),
                ("POST /v1/undrain HTTP/1.1", {"ranks": "1"}),
            ]
            assert fake_lead.requests[3][0] == fake_lead.requests[0][0]  # and then it is listened to anew

    @in_loop
    async def test_what_is_refused_is_logged(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        refusal = b'{"error": "no such rank"}'
        sent = b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%s" % (len(refusal), refusal)
        async with listening(tmp_path, sending(sent)) as (here, fake_lead):
            here.pod()
            here.lead_watch.send(NAME, (self.DRAIN, self.UNDRAIN))
            await until(lambda: not here.lead_watch._sending)
        messages = [each for each in caplog.messages if "told" in each]
        expected = f'the lead API at 127.0.0.1:{fake_lead.port} answers 400: {{"error": "no such rank"}}'
        assert messages == [
            f"drain of ranks 2-3 was not told: {expected}",
            f"undrain of ranks 1 was not told: {expected}",
        ]

    @in_loop
    async def test_one_after_the_other(self, tmp_path: Path) -> None:
        """While a lead is being told something it is told nothing else: what fails is ordered again."""
        async with listening(tmp_path, sending(b"", stays=True)) as (here, _):
            here.pod()
            here.lead_watch.send(NAME, (self.DRAIN,))
            first = here.lead_watch._streams[NAME]
            here.lead_watch.send(NAME, (self.UNDRAIN,))
            assert here.lead_watch._streams[NAME] is first

    @in_loop
    async def test_without_a_lead_no_order_is_sent(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as (here, _):
            here.lead_watch.send(NAME, (self.DRAIN,))
            assert (here.lead_watch._sending, here.lead_watch._streams) == (set(), {})

    @in_loop
    async def test_a_save_is_accepted(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """It goes on after the answer (202)."""
        sent = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"
        async with listening(tmp_path, sending(sent)) as (here, fake_lead):
            here.pod()
            here.lead_watch.send(NAME, (LeadCommand("save", seconds=45, generation=3),))
            await until(lambda: not here.lead_watch._sending)
        (order,) = (
            (head, json.loads(body)) for head, _, body in fake_lead.requests if head.startswith("POST")
        )
        assert order == ("POST /v1/save HTTP/1.1", {"timeout": 45})
        assert [each for each in caplog.messages if "told" in each] == []

    @in_loop
    async def test_which_jobs_were_restarted_is_known(self, tmp_path: Path) -> None:
        answer = b'{"restarted": [["f2a", "f3b"]], "lost": []}'
        sent = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer)
        order = LeadCommand("restart", "2-3", generation=3)
        async with listening(tmp_path, sending(sent)) as (here, fake_lead):
            here.pod()
            here.lead_watch.send(NAME, (order,))
            await until(lambda: here.cache.answers)
            assert here.cache.answers == {NAME: {"restart": RestartReport(order, (("ƒ2a", "ƒ3b"),))}}
            (body,) = (json.loads(body) for head, _, body in fake_lead.requests if head.startswith("POST"))
            assert body == {"ranks": "2-3"}
            here.pod("mc-0-y", phase="Pending")
            assert here.cache.answers == {}  # that was another instance

    @in_loop
    async def test_which_lost_jobs_were_started_again_is_known(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO")
        answer = b'{"restarted": [["f2a", "f3b"]], "lost": [["f2c", "it does not fit"]]}'
        sent = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer)
        lost = Disruption(1, NOW, NOW), Disruption(3, NOW, NOW + timedelta(seconds=4))
        order = LeadCommand("recover", lost=lost)
        async with listening(tmp_path, sending(sent)) as (here, fake_lead):
            here.pod()
            here.lead_watch.send(NAME, (order,))
            await until(lambda: here.cache.answers)
            known = RestartReport(order, (("ƒ2a", "ƒ3b"),), (("ƒ2c", "it does not fit"),))
            assert here.cache.answers == {NAME: {"recover": known}}
            (sent_,) = (
                (head, json.loads(body)) for head, _, body in fake_lead.requests if head.startswith("POST")
            )
        then = NOW.timestamp()
        assert sent_ == ("POST /v1/recover HTTP/1.1", {"lost": {"1": [then, then], "3": [then, then + 4]}})
        assert "recover of ranks 1,3" in caplog.messages


def test_since_when_a_save_has_failed_is_by_the_operators_clock() -> None:
    """Nodes may have other times; the same failure told again is no other one."""
    progress = SaveProgress("failed", "1970-01-01T00:00:00Z", error="full")
    first = lead_watch._dated(BrokerReport("0", saving=progress), None, NOW)
    assert first == BrokerReport("0", saving=replace(progress, since=NOW))
    later = lead_watch._dated(BrokerReport("0-1", saving=progress), first, NOW + timedelta(minutes=1))
    assert later == BrokerReport("0-1", saving=replace(progress, since=NOW))
    another = replace(progress, reported_at="1970-01-01T00:01:00Z")
    again = lead_watch._dated(BrokerReport("0", saving=another), first, NOW + timedelta(minutes=1))
    assert again == BrokerReport("0", saving=replace(another, since=NOW + timedelta(minutes=1)))
