"""Leads are asked by kept connections, seldom, and only those that prove who they are."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from metrics_api.adapter import leads as asking
from metrics_api.adapter.leads import Leads
from metrics_api.answers.errors import UnavailableError
from minicluster.kube_client import objects
from minicluster.lead_client import broker_pods
from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import METRICS
from tests.metrics_api.adapter import played
from tests.metrics_api.adapter.played import Lead

NAME = objects.Name("team", "mc")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEMAND = [("flux_nodes_demanded", {}, 3.0)]


@pytest.fixture
def playing(tmp_path: Path) -> Iterator[played.Leads]:
    with played.playing(tmp_path) as found:
        yield found


@pytest.fixture
def lead(playing: played.Leads) -> Lead:
    return playing.add("uid-1").serve_samples(DEMAND)


def lead_pod(lead: Lead) -> broker_pods.Lead:
    """Return a lead as the watches report it."""
    return broker_pods.Lead(lead.uid, "pod", lead.address)


def using(
    playing: played.Leads,
    work: Callable[[Leads], Coroutine[Any, Any, None]],
    refused: Callable[[], None] = lambda: None,
) -> None:
    """Do something with leads that can be asked."""

    async def whole() -> None:
        found = Leads(playing.port, refused, lambda: NOW)
        await found.use(playing.authority.purpose(METRICS))
        try:
            await work(found)
        finally:
            await found.close()

    asyncio.run(whole())


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no answer shared with those who ask later."""
    monkeypatch.setattr(asking, "FRESH", 0.0)


def test_one_connection_serves_many_requests(playing: played.Leads, lead: Lead, at_once: None) -> None:
    async def work(leads: Leads) -> None:
        for _ in range(5):
            answer = await leads.ask(NAME, lead_pod(lead))
            assert answer.reading.samples[0].thousandths == 3000
            assert (NOW - answer.time).total_seconds() == 0.25

    using(playing, work)
    assert (lead.connections, lead.requests) == (1, 5)


@pytest.mark.parametrize("year", [b"1970", b"2100"], ids=["behind", "ahead"])
def test_a_leads_clock_may_be_wrong(playing: played.Leads, lead: Lead, year: bytes) -> None:
    """The time of a value is that of this machine, less the age, which is told by no clock that is set."""
    lead.answer = lead.answer.replace(b"2026", year, 1)

    async def work(leads: Leads) -> None:
        answer = await leads.ask(NAME, lead_pod(lead))
        assert (NOW - answer.time).total_seconds() == 0.25

    using(playing, work)


def test_who_asks_at_the_same_time_or_just_after_gets_one_answer(playing: played.Leads, lead: Lead) -> None:
    async def work(leads: Leads) -> None:
        await asyncio.gather(*[leads.ask(NAME, lead_pod(lead)) for _ in range(50)])
        await leads.ask(NAME, lead_pod(lead))

    using(playing, work)
    assert lead.requests == 1


def test_who_gives_up_does_not_take_the_answer_from_others(playing: played.Leads, lead: Lead) -> None:
    lead.pause = 0.2

    async def work(leads: Leads) -> None:
        first = asyncio.create_task(leads.ask(NAME, lead_pod(lead)))
        second = asyncio.create_task(leads.ask(NAME, lead_pod(lead)))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).reading.samples

    using(playing, work)
    assert lead.requests == 1


def test_a_connection_that_broke_off_is_made_again(playing: played.Leads, lead: Lead, at_once: None) -> None:
    lead.hangs_up = True

    async def work(leads: Leads) -> None:
        for _ in range(3):
            assert (await leads.ask(NAME, lead_pod(lead))).reading.samples

    using(playing, work)
    assert lead.connections == 3


def test_a_lead_that_is_away_is_unavailable_until_it_is_back(
    playing: played.Leads, lead: Lead, at_once: None
) -> None:
    async def work(leads: Leads) -> None:
        await leads.ask(NAME, lead_pod(lead))
        await asyncio.to_thread(playing.close, lead)
        with pytest.raises(UnavailableError, match=r"^MiniCluster team/mc: the lead API at .* does not"):
            await leads.ask(NAME, lead_pod(lead))
        await asyncio.to_thread(playing.open, lead)
        assert (await leads.ask(NAME, lead_pod(lead))).reading.samples

    using(playing, work)


ANSWERS = {
    "stale": (503, "the numbers are 9 s old", "answers 503: the numbers are 9 s old"),
    "old release": (404, "there is nothing at this path", "answers 404: there is nothing"),
    "control characters": (500, "\x1b[2Jno", r"answers 500: \[2Jno"),
}


@pytest.mark.parametrize(("code", "why", "message"), ANSWERS.values(), ids=ANSWERS)
def test_what_a_lead_refuses_is_passed_on_in_its_words(
    playing: played.Leads, lead: Lead, code: int, why: str, message: str
) -> None:
    lead.fails(code, why)

    async def work(leads: Leads) -> None:
        with pytest.raises(UnavailableError, match=message):
            await leads.ask(NAME, lead_pod(lead))

    using(playing, work)


@pytest.mark.parametrize(
    "answer", [b"", b"<html>", b"[" * 100_000, b"x" * (5 << 20)], ids=["no", "html", "deep", "big"]
)
def test_nonsense_is_an_error(playing: played.Leads, lead: Lead, answer: bytes) -> None:
    lead.answer = answer

    async def work(leads: Leads) -> None:
        with pytest.raises(UnavailableError, match=r"no JSON|more than 4096 KiB"):
            await leads.ask(NAME, lead_pod(lead))

    using(playing, work)


def test_another_miniclusters_lead_gets_no_token(playing: played.Leads, lead: Lead) -> None:
    """Anybody can give a pod the labels of a lead."""

    async def work(leads: Leads) -> None:
        with pytest.raises(UnavailableError, match="has another MiniCluster's certificate"):
            await leads.ask(NAME, broker_pods.Lead("uid-2", "pod", lead.address))

    using(playing, work)
    assert lead.requests == 0


def test_a_token_that_is_refused_is_reported_so_that_the_keys_are_read_again(
    playing: played.Leads, lead: Lead
) -> None:
    lead.token = "another"
    refused: list[bool] = []

    async def work(leads: Leads) -> None:
        with pytest.raises(UnavailableError, match="does not accept the adapter's token for metrics"):
            await leads.ask(NAME, lead_pod(lead))

    using(playing, work, lambda: refused.append(True))
    assert refused == [True]


def test_the_leads_own_token_is_never_sent(playing: played.Leads, lead: Lead) -> None:
    lead.token = playing.authority.token(lead.uid)

    async def work(leads: Leads) -> None:
        with pytest.raises(UnavailableError):
            await leads.ask(NAME, lead_pod(lead))

    using(playing, work)
    assert lead.refused == 1


def test_other_keys_count_from_the_next_request_on(playing: played.Leads, lead: Lead) -> None:
    async def work(leads: Leads) -> None:
        await leads.ask(NAME, lead_pod(lead))
        await leads.use(LeadAuthority.make().purpose(METRICS))
        with pytest.raises(UnavailableError, match="has another operator's certificate"):
            await leads.ask(NAME, lead_pod(lead))

    using(playing, work)


def test_without_keys_nothing_is_asked(playing: played.Leads, lead: Lead) -> None:
    async def work() -> None:
        with pytest.raises(UnavailableError, match="has no keys"):
            await Leads(playing.port).ask(NAME, lead_pod(lead))

    asyncio.run(work())
    assert lead.connections == 0


def test_connections_that_nobody_uses_are_closed(
    playing: played.Leads, lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "SWEEP_INTERVAL", 0.01)
    monkeypatch.setattr(asking, "IDLE", 0.0)

    async def work(leads: Leads) -> None:
        await leads.ask(NAME, lead_pod(lead))
        sweeping = asyncio.create_task(leads.sweep())
        async with asyncio.timeout(30):
            while lead.writers:
                await asyncio.sleep(0.01)
        sweeping.cancel()

    using(playing, work)
    assert lead.connections == 1
