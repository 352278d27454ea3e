"""What is refused before a route has it, and in which words."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from restful.limits.request_limits import RequestLimiter
from restful.settings import RequestLimits

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

LIMITS = RequestLimits(body_bytes=10, head_bytes=200, body_seconds=0.01)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the body; whatever goes wrong with that is a 400, as frameworks make it one."""
    try:
        body = await Request(scope, receive).body()
    except Exception:  # noqa: BLE001 - as a framework does
        answer: Response = PlainTextResponse("cannot be read", 400)
    else:
        answer = PlainTextResponse(body)
    await answer(scope, receive, send)


def answered(parts: list[bytes], headers: dict[str, str] | None = None, path: str = "/p") -> tuple[int, str]:
    """Return status and body of the answer to a request; one without parts sends nothing for ever."""
    sent: list[Message] = []
    waiting = [
        {"type": "http.request", "body": part, "more_body": number < len(parts)}
        for number, part in enumerate(parts, 1)
    ]

    async def receive() -> Message:
        return waiting.pop(0) if waiting else await asyncio.get_running_loop().create_future()

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
    }  # fmt: skip
    asyncio.run(RequestLimiter(application, LIMITS)(scope, receive, send))
    body = b"".join(each.get("body", b"") for each in sent)
    return sent[0]["status"], body.decode()


def test_a_body_within_the_limits_passes() -> None:
    assert answered([b"12345", b"67890"]) == (200, "1234567890")


REFUSED = {
    "a body that is too large": ([b"12345", b"678901"], {}, 413, "more than the limit of 10 bytes"),
    "a body that will be": ([], {"content-length": "11"}, 413, "more than the limit of 10 bytes"),
    "a head": ([b""], {"x": "y" * 300}, 431, "the limit is 200"),
    "a slow body": ([], {}, 408, "within the limit of 0.01 s"),
}


@pytest.mark.parametrize(("parts", "headers", "status", "words"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_names_its_limit(
    parts: list[bytes], headers: dict[str, str], status: int, words: str
) -> None:
    found, body = answered(parts, headers)
    problem = json.loads(body)
    assert (found, problem["status"], problem["instance"]) == (status, status, "/p")
    assert words in problem["detail"]


def test_a_path_counts_as_a_part_of_the_head() -> None:
    status, body = answered([b""], path="/" + "p" * 300)
    assert (status, len(json.loads(body)["instance"])) == (431, 200)
