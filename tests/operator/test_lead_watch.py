"""What leads say gets into the cache, whatever they say."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from minicluster.lead_client import connection
from minicluster.lead_client.keys import LeadAuthority
from minicluster.operator import lead_watch
from minicluster.operator.records import LeadReport, Unreachable
from minicluster.plan import BrokerReport
from tests.operator import objects
from tests.operator.lead_server import REPORT, chunk, context, line, reporting, sending
from tests.operator.listening import BROKER_REPORT, NAME, OK, OURS, UID, Listening, in_loop, listening, until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nothing wait for long that is not the test's subject."""
    monkeypatch.setattr(lead_watch, "MIN_RETRY_INTERVAL", 0.01)


@in_loop
async def test_what_the_lead_reports_is_known(tmp_path: Path) -> None:
    async with listening(tmp_path) as (here, fake_lead):
        here.pod()
        await until(lambda: here.lead_report)
        assert here.lead_report == LeadReport(BROKER_REPORT)
        assert here.changed == [NAME]
        request, fields, _ = fake_lead.requests[0]
        assert request == "GET /v1/status?watch=true HTTP/1.1"
        assert fields["host"] == f"{UID}.door.minicluster"


@in_loop
async def test_each_change_is_delivered_once(tmp_path: Path) -> None:
    """The lead says the same again every 15 s: that is no news."""
    reports = [REPORT, REPORT, {**REPORT, "online": "0-3"}]
    script = sending(OK + b"".join(map(line, reports)), stays=True)
    async with listening(tmp_path, script) as (here, _):
        here.pod()
        await until(lambda: here.report and here.report.online == "0-3")
        assert here.changed == [NAME, NAME]


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param({"size": 2, "maxSize": 8}, {"maximumSize": 4}, "0-3", id="as it was started"),
        pytest.param({"size": 2, "maxSize": 8}, {}, "0-7", id="maxSize"),
        pytest.param({"size": 2}, {}, "0-1", id="size"),
        pytest.param({}, {"maximumSize": 0}, "0", id="one by default"),
    ],
)
@in_loop
async def test_ranks_are_reported_as_far_as_there_can_be_pods(
    tmp_path: Path, spec: dict[str, int], status: dict[str, int], expected: str
) -> None:
    script = sending(OK + line({**REPORT, "size": 99_999, "online": "0-99998"}), stays=True)
    async with listening(tmp_path, script) as (here, _):
        cluster = {**objects.minicluster(version=2, uid=UID), "spec": spec, "status": status}
        here.cache.see_cluster(cluster)
        here.pod()
        await until(lambda: here.lead_report)
        assert here.report is not None
        assert here.report.online == expected


@in_loop
async def test_lines_need_not_arrive_whole(tmp_path: Path) -> None:
    text = json.dumps(REPORT).encode() + b"\n"
    parts = b"".join(chunk(text[offset : offset + 7]) for offset in range(0, len(text), 7))
    async with listening(tmp_path, sending(OK + parts, stays=True)) as (here, _):
        here.pod()
        await until(lambda: here.lead_report)
        assert here.lead_report == LeadReport(BROKER_REPORT)


@in_loop
async def test_nobody_is_asked_before_the_lead_runs(tmp_path: Path) -> None:
    async with listening(tmp_path) as (here, fake_lead):
        here.pod(phase="Pending")
        here.pod(address="")
        assert not here.lead_watch._streams
        here.pod()
        await until(lambda: here.lead_report)
        assert fake_lead.connections == 1


@pytest.mark.parametrize("how", ["its pod goes", "the MiniCluster goes", "the pod is gone", "it has ended"])
@in_loop
async def test_listening_ends_with_the_lead(tmp_path: Path, how: str) -> None:
    async with listening(tmp_path) as (here, fake_lead):
        here.pod()
        await until(lambda: here.lead_report)
        if how == "its pod goes":
            pod = objects.broker(version=9, phase="Running", address="127.0.0.1")
            pod["metadata"]["deletionTimestamp"] = "2026-03-14T15:09:26Z"
            here.cache.see("Pod", pod)
        elif how == "the MiniCluster goes":
            here.cache.forget_cluster(objects.minicluster(uid=UID))
        elif how == "the pod is gone":
            here.cache.forget("Pod", objects.broker(version=9))
        else:
            here.cache.see("Pod", objects.broker(version=9, phase="Succeeded", address="127.0.0.1"))
        here.lead_watch.follow(NAME)
        await until(lambda: fake_lead.open == 0)
        assert (here.lead_report, here.lead_watch._streams) == (None, {})


@in_loop
async def test_another_pod_is_another_lead(tmp_path: Path) -> None:
    """What the former one said does not count any more."""
    async with listening(tmp_path) as (here, fake_lead):
        here.pod()
        await until(lambda: here.lead_report)
        here.cache.forget("Pod", objects.broker(version=2))
        fake_lead.script = sending(OK + line({**REPORT, "online": "0"}), stays=True)
        here.pod("mc-0-y")
        assert here.lead_report is None
        await until(lambda: here.lead_report)
        assert here.lead_report == LeadReport(BrokerReport(**{**as_fields(BROKER_REPORT), "online": "0"}))


def as_fields(report: BrokerReport) -> dict[str, Any]:
    return {name: getattr(report, name) for name in report.__slots__}


@in_loop
async def test_a_stream_that_ends_is_begun_again(tmp_path: Path) -> None:
    """As long as that is quick nobody is told: the door was started again, not the lead."""
    async with listening(tmp_path, sending(OK + line(REPORT) + chunk(b""))) as (here, fake_lead):
        here.pod()
        await until(lambda: fake_lead.connections >= 3)
        assert here.lead_report == LeadReport(BROKER_REPORT)
        assert here.changed == [NAME]


class TestTrouble:
    """Whatever is behind the door: it is told in words, and asked again."""

    async def unreachable_reason(self, here: Listening) -> str:
        here.pod()
        found = await until(lambda: isinstance(here.lead_report, Unreachable) and here.lead_report)
        return str(found.reason).replace(str(here.lead_watch._port), "PORT")

    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lead_watch, "REPORT_TIMEOUT", 0.0)
        monkeypatch.setattr(lead_watch, "STARTING_LIMIT", 0.0)

    @pytest.mark.parametrize(
        ("sent", "expected"),
        [
            pytest.param(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 22\r\n\r\n" + b'{"error": "no\nsuch  "}',
                'answers 404: {"error": "no such  "}',
                id="an older door",
            ),
            pytest.param(
                b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "answers 503", id="a refusal without words"
            ),
            pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", "answers with something that is no HTTP", id="no HTTP"),
            pytest.param(b"", "hangs up without an answer", id="nothing"),
            pytest.param(b"x" * 20_000, "answers with something that is no HTTP", id="an endless head"),
            pytest.param(OK + b"zz\r\n", "answers with something that is no HTTP", id="no chunk"),
            pytest.param(OK + b"fffff\r\n{", "hangs up within an answer", id="half a chunk"),
            pytest.param(OK + chunk(b"x" * 70_000), "sends a line of more than 64 KiB", id="an endless line"),
            pytest.param(OK + b"0\r\n\r\n", "has ended its report", id="no line"),
            pytest.param(OK + chunk(b"\n"), "sends an empty line", id="an empty line"),
            pytest.param(OK + b"1;a=b\r\n{\r\n", "hangs up within an answer", id="a chunk's extension"),
            pytest.param(
                OK + b"1;" + b"a" * 20_000,
                "answers with something that is no HTTP",
                id="an endless extension",
            ),
            pytest.param(
                b"HTTP/1.1 100 Continue\r\n\r\n", "hangs up without an answer", id="no final answer"
            ),
            pytest.param(b"HTTP/1.1 400 Bad\r\n\r\nno", "answers 400: no", id="a body without a length"),
            pytest.param(b"HTTP/1.1 200 O", "answers with something that is no HTTP", id="half a head"),
            pytest.param(
                b"HTTP/1.1 302 Found\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n",
                "answers 302",
                id="a redirect is not followed",
            ),
            pytest.param(OK + b" 1\r\n{\r\n", "answers with something that is no HTTP", id="a padded size"),
            pytest.param(
                OK + b"1\r\n{}\r\n", "answers with something that is no HTTP", id="more than the chunk's size"
            ),
        ],
    )
    @in_loop
    async def test_what_it_sends(self, tmp_path: Path, sent: bytes, expected: str) -> None:
        async with listening(tmp_path, sending(sent)) as (here, _):
            assert await self.unreachable_reason(here) == f"the lead API at 127.0.0.1:PORT {expected}"

    @in_loop
    async def test_nonsense(self, tmp_path: Path) -> None:
        async with listening(tmp_path, sending(OK + line([]), stays=True)) as (here, _):
            assert (
                await self.unreachable_reason(here) == "the lead API says nothing that makes sense: no object"
            )

    @pytest.mark.parametrize(
        ("authority", "uid", "expected"),
        [
            pytest.param(LeadAuthority.make(), UID, "has another operator's certificate", id="operator"),
            pytest.param(OURS, "other", "has another MiniCluster's certificate", id="MiniCluster"),
        ],
    )
    @in_loop
    async def test_whose_certificate_it_is(
        self, tmp_path: Path, authority: LeadAuthority, uid: str, expected: str
    ) -> None:
        """Nothing is sent to a stranger, the token least of all."""
        async with listening(tmp_path, tls=context(tmp_path, authority, uid)) as (here, fake_lead):
            assert await self.unreachable_reason(here) == f"the lead API at 127.0.0.1:PORT {expected}"
            assert fake_lead.requests == []

    @in_loop
    async def test_no_tls(self, tmp_path: Path) -> None:
        script = sending(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(10)
            await script(fake_lead, reader, writer)
            writer.close()

        async with listening(tmp_path, plain=True) as (here, fake_lead):
            fake_lead.serve = answer  # type: ignore[method-assign]
            server = await asyncio.start_server(answer, "127.0.0.1", 0)
            here.lead_watch._port = server.sockets[0].getsockname()[1]
            assert await self.unreachable_reason(here) == (
                "the lead API at 127.0.0.1:PORT does not speak TLS as it should"
            )
            server.close()

    @in_loop
    async def test_another_token(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as (here, fake_lead):
            fake_lead.token = "other"
            expected = "the lead API at 127.0.0.1:PORT does not accept this operator's token"
            assert await self.unreachable_reason(here) == expected

    @in_loop
    async def test_nobody_there(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as (here, _):
            here.lead_watch._port = 1
            expected = "the lead API at 127.0.0.1:1 does not answer: connection refused"
            assert (await self.unreachable_reason(here)).replace("PORT", "1") == expected

    @in_loop
    async def test_a_broker_that_starts_is_no_trouble_yet(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Nobody listens there before; once it was open, a closed door is told of."""
        monkeypatch.setattr(lead_watch, "STARTING_LIMIT", 3600.0)
        caplog.set_level("DEBUG")
        async with listening(tmp_path, sending(OK + line(REPORT))) as (here, fake_lead):
            here.lead_watch._port = 1
            here.pod()
            await until(lambda: caplog.text.count("connection refused; tried again") >= 3)
            assert here.lead_report is None
            here.lead_watch._port = fake_lead.port
            await until(lambda: here.report)
            here.lead_watch._port = 1
            expected = "the lead API at 127.0.0.1:1 does not answer: connection refused"
            await until(lambda: here.lead_report == Unreachable(expected))

    @in_loop
    async def test_no_handshake(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It takes the connection, and says nothing."""
        monkeypatch.setattr(connection, "CONNECT_TIMEOUT", 0.1)
        async with listening(tmp_path, plain=True) as (here, _):
            expected = "the lead API at 127.0.0.1:PORT does not begin TLS within 0.1 s"
            assert await self.unreachable_reason(here) == expected

    @in_loop
    async def test_no_answer(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(connection, "ANSWER_TIMEOUT", 0.1)
        async with listening(tmp_path, sending(b"", stays=True)) as (here, _):
            assert (
                await self.unreachable_reason(here)
                == "the lead API at 127.0.0.1:PORT does not answer for 0.1 s"
            )

    @in_loop
    async def test_silent_for_too_long(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A half-dead connection is given up; what was said before does not count for ever."""
        monkeypatch.setattr(connection, "REPORT_TIMEOUT", 0.1)
        async with listening(tmp_path) as (here, _):
            assert (
                await self.unreachable_reason(here)
                == "the lead API at 127.0.0.1:PORT has been silent for 0.1 s"
            )

    @in_loop
    async def test_it_reports_again(self, tmp_path: Path) -> None:
        async with listening(tmp_path, sending(b"")) as (here, fake_lead):
            await self.unreachable_reason(here)
            fake_lead.script = reporting
            await until(lambda: here.report)
            assert here.lead_report == LeadReport(BROKER_REPORT)

    @in_loop
    async def test_reasons_quote_no_secret(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("DEBUG")
        async with listening(tmp_path, sending(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n")) as (here, _):
            await self.unreachable_reason(here)
        assert OURS.token(UID) not in caplog.text
