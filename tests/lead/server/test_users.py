"""Lines with a user: who may send them, and as whom the broker is asked."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.broker_link.errors import NotAllowed, RequestRefused
from minicluster.lead_server import files
from tests.lead.lines_client import LinesClient
from tests.lead.played_broker import PlayedBroker, PlayedLink
from tests.lead.server.test_upgrade import JOBS, Lead
from tests.lead.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from minicluster.broker_link.link import Callback

ALICE = 7001


class FluxBroker(PlayedBroker):
    """Real Flux, which stores the jobspecs of jobs 5 and 6, and the output of 5."""

    def __init__(self) -> None:
        super().__init__("flux")
        self.asked: list[tuple[str, int | None]] = []

    def connect(self) -> StoringLink:
        self.links.append(StoringLink(self))
        return self.links[-1]  # type: ignore[return-value]


class StoringLink(PlayedLink):
    """See FluxBroker."""

    def request(
        self, topic: str, payload: dict[str, Any], callback: Callback, user: int | None = None
    ) -> int:
        broker = self._broker
        assert isinstance(broker, FluxBroker)
        broker.asked.append((topic, user))
        if topic != "job-info.lookup":
            return super().request(topic, payload, callback, user)
        jobid, (key,) = payload["id"], payload["keys"]
        stored = {
            "jobspec": json.dumps({"attributes": {"user": {"number": jobid}}}),
            "guest.output": "header\none\ntwo\n",
        }
        refusals: dict[int, RequestRefused] = {
            7: NotAllowed(topic, errno.EPERM),
            8: RequestRefused(topic, errno.EIO, "the disk is gone"),
        }
        refusal = refusals.get(jobid)
        self.post(lambda: callback(None if refusal else {"id": jobid, key: stored[key]}, refusal))
        return 1

    def user_refusal(self, uid: int) -> str:
        return "" if uid == ALICE else f"not for {uid}"


@pytest.fixture
def lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lead]:
    monkeypatch.setattr(files, "POLL_INTERVAL", 0.0)
    made = Lead(tmp_path)
    made.broker = FluxBroker()
    with serving(made.server):
        yield made


@pytest.fixture
def client(lead: Lead) -> Iterator[LinesClient]:
    with LinesClient(lead.client, JOBS) as made:
        assert made.line() == {"engine": "flux", "users": True}
        yield made


def test_the_embedded_instance_does_not_greet_with_users(lead: Lead) -> None:
    lead.broker = PlayedBroker("embedded")
    with LinesClient(lead.client, JOBS) as made:
        assert made.line() == {"engine": "embedded"}


def test_a_request_is_its_users(client: LinesClient) -> None:
    client.send({"id": 1, "topic": "job-list.list-id", "payload": {"id": 5}, "user": ALICE})
    assert client.line() == {"id": 1, "payload": {"topic": "job-list.list-id", "id": 5, "user": ALICE}}
    assert client.ask(2, "job-list.list-id", id=5) == {
        "id": 2,
        "payload": {"topic": "job-list.list-id", "id": 5},
    }


@pytest.mark.parametrize("topic", ["job-manager.events-journal", "job-info.eventlog-watch"])
def test_a_stream_is_its_users(lead: Lead, client: LinesClient, topic: str) -> None:
    client.send({"id": 1, "topic": topic, "payload": {}, "stream": True, "user": ALICE})
    client.send({"id": 1, "cancel": True})
    assert client.line() == {"id": 1, "errnum": errno.ENODATA, "errstr": "No data available"}
    assert lead.broker.users == [ALICE]


@pytest.mark.parametrize("user", [None, 0, -1, 0xFFFFFFFF, "7001", True, [], 7001.0])
def test_a_line_whose_user_is_none_is_not_taken_for_the_owners(
    lead: Lead, client: LinesClient, user: Any
) -> None:
    client.send({"id": 1, "topic": "job-list.list-id", "payload": {}, "user": user})
    line = client.line()
    assert line is not None
    assert line["gone"].startswith("user: ")
    assert isinstance(lead.broker, FluxBroker)
    assert lead.broker.asked == []


@pytest.mark.parametrize("topic", ["helper.submit", "helper.check-user"])
def test_what_is_done_as_the_owner_is_refused_for_a_user(client: LinesClient, topic: str) -> None:
    client.send({"id": 1, "topic": topic, "payload": {"user": 5}, "user": ALICE})
    words = "a line with `user` has no topic of the helper's own: it would be done as the instance's owner"
    assert client.line() == {"id": 1, "errnum": errno.EPERM, "errstr": words}


def test_a_client_asks_whether_lines_may_have_a_user(client: LinesClient) -> None:
    assert client.ask(1, "helper.check-user", user=ALICE) == {"id": 1, "payload": {"refusal": ""}}
    assert client.ask(2, "helper.check-user", user=1) == {"id": 2, "payload": {"refusal": "not for 1"}}


@pytest.mark.parametrize("user", [None, ALICE])
def test_attributes_of_many_jobs_are_asked_for_at_once(
    lead: Lead, client: LinesClient, user: int | None
) -> None:
    """Real Flux has no request for them. Those of jobs of others are left out."""
    asked = {"id": 1, "topic": "minicluster-jobs.attributes", "payload": {"ids": [5, 7, 6]}}
    client.send({**asked, **({"user": user} if user else {})})
    jobs = [{"id": each, "user": {"number": each}} for each in (5, 6)]
    assert client.line() == {"id": 1, "payload": {"jobs": jobs}}
    assert isinstance(lead.broker, FluxBroker)
    assert lead.broker.asked == [("job-info.lookup", user)] * 3


@pytest.mark.parametrize(
    ("ids", "answer"),
    [
        pytest.param([], {"payload": {"jobs": []}}, id="of none"),
        pytest.param([5, 8], {"errnum": errno.EIO, "errstr": "the disk is gone"}, id="with another error"),
    ],
)
def test_attributes_of_jobs(client: LinesClient, ids: list[int], answer: dict[str, Any]) -> None:
    assert client.ask(1, "minicluster-jobs.attributes", ids=ids) == {"id": 1, **answer}


@pytest.mark.parametrize(
    ("more", "text"),
    [
        pytest.param({}, {"guest.output": "header\none\ntwo\n"}, id="all"),
        pytest.param({"after": -1}, {"guest.output": "header\none\ntwo\n"}, id="from the first"),
        pytest.param({"after": 0}, {"guest.output": "one\ntwo\n", "entry": 1}, id="behind the header"),
        pytest.param({"after": 9}, {"guest.output": "", "entry": 10}, id="behind the last"),
    ],
)
def test_a_log_comes_without_its_first_entries(
    client: LinesClient, more: dict[str, int], text: dict[str, Any]
) -> None:
    """They are left out beside the broker: real Flux sends them."""
    answer = client.ask(1, "job-info.lookup", id=5, keys=["guest.output"], flags=0, **more)
    assert answer == {"id": 1, "payload": {"id": 5, **text}}
