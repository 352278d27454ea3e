"""A stream goes on behind its last event after a lost connection, and stops where the service has it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
import requests

from minicluster.client.event_stream import EventStream, StreamLost, StreamRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.client.event_stream import ServerEvent

URL = "https://service.example/v2/clusters/mc/jobs/7/output"


class Session(requests.Session):
    """Answers as listed, one answer a request."""

    def __init__(self, *answers: requests.Response | Exception) -> None:
        super().__init__()
        self.answers = list(answers)
        self.sent: list[str | None] = []

    def get(self, url: str | bytes, **options: Any) -> requests.Response:
        self.sent.append(options["headers"].get("Last-Event-ID"))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Cut(io.BytesIO):
    """A body whose connection is lost behind it."""

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if not found:
            raise requests.ConnectionError("the connection was reset")
        return found


def answer(status: int, body: io.BytesIO | bytes = b"", headers: Mapping[str, str] | None = None) -> Any:
    response = requests.Response()
    response.status_code = status
    response.headers.update(headers or {"Content-Type": "text/event-stream"})
    response.raw = io.BytesIO(body) if isinstance(body, bytes) else body
    return response


def _read(session: Session, slept: list[float] | None = None, attempts: int = 10) -> list[ServerEvent]:
    sleep = (slept if slept is not None else []).append
    return list(EventStream(session, URL, sleep=sleep, attempts=attempts))


def test_it_goes_on_behind_the_last_event() -> None:
    session = Session(
        answer(200, Cut(b"retry: 500\n\ndata: a\nid: 1\n\ndata: b")),
        requests.ConnectionError("refused"),
        answer(200, b"data: b\nid: 2\n\ndata: {}\nevent: end\nid: end\n\n"),
        answer(204),
    )
    slept: list[float] = []
    events = _read(session, slept)
    assert [(event.name, event.data) for event in events] == [
        ("message", "a"),
        ("message", "b"),
        ("end", "{}"),
    ]
    assert session.sent == [None, "1", "1", "end"]
    assert slept == [0.5, 1.0, 0.5]


def test_it_waits_as_long_as_the_service_asks() -> None:
    later = {"Retry-After": "7", "Content-Type": "application/problem+json"}
    slept: list[float] = []
    assert _read(Session(answer(503, headers=later), answer(204)), slept) == []
    assert slept == [7.0]


PROBLEM = b'{"type": "/problems/output-gone", "detail": "The instance is gone."}'


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        pytest.param(answer(410, PROBLEM), "410: The instance is gone.", id="a problem of RFC 9457"),
        pytest.param(answer(404, b"<html>"), "404: no reason was given", id="another page"),
        pytest.param(
            answer(200, b"hello", {"Content-Type": "text/html"}),
            "200: this is text/html, and no stream of events",
            id="no events",
        ),
    ],
)
def test_a_refusal_is_final(refused: requests.Response, message: str) -> None:
    with pytest.raises(StreamRefused) as error:
        _read(Session(refused))
    assert str(error.value) == message


def test_it_gives_up_after_some_attempts() -> None:
    with pytest.raises(StreamLost) as error:
        _read(Session(*[requests.ConnectionError("no route to host")] * 3), attempts=3)
    assert str(error.value) == f"{URL}: no route to host (3 attempts)"
