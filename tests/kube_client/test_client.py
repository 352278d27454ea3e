"""The client, against a server that says what the test wants; what the real one says is in the contract."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from minicluster.kube_client import client
from minicluster.kube_client.api import Selection, WatchEvent
from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.credentials import ApiCredentials
from minicluster.kube_client.errors import ApiError, ApiUnreachableError, KubernetesError, LeadershipLostError
from minicluster.kube_client.resources import CONFIG_MAPS, LEASES
from tests.operator.field_sets import Object
from tests.ports import free_port

TOKEN = "token-that-nobody-may-read"
SELECTION = Selection(CONFIG_MAPS, "science")
ITEM: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "science"}}
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Renewed:
    """A way in with another token each time."""

    server: str
    read: int = 0

    def connect(self) -> ApiCredentials:
        """Read the credentials."""
        self.read += 1
        return ApiCredentials(server=self.server, scheme="Bearer", token=f"{TOKEN}-{self.read}")


@dataclass
class Laid:
    """A server, a client of it, and what came in."""

    client: ApiClient
    access: Renewed
    requests: list[web.Request] = field(default_factory=list)


@contextlib.asynccontextmanager
async def serving(answer: Answer, gate: Callable[[], None] = lambda: None) -> AsyncIterator[Laid]:
    """Serve every path alike."""
    requests: list[web.Request] = []

    async def note(request: web.Request) -> web.StreamResponse:
        await request.read()
        requests.append(request)
        return await answer(request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", note)
    async with TestServer(application) as server:
        access = Renewed(str(server.make_url("")).rstrip("/"))
        async with ApiClient(access, gate) as made:  # type: ignore[arg-type]
            yield Laid(made, access, requests)


def always(status: int, body: object = None, **headers: str) -> Answer:
    """Answer every request alike."""

    async def answer(request: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body or {})
        return web.Response(status=status, text=text, headers=headers)

    return answer


def lines(*chunks: bytes, broken: bool = False) -> Answer:
    """Answer a watch by these chunks."""

    async def answer(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        stream.enable_chunked_encoding()
        await stream.prepare(request)
        for chunk in chunks:
            await stream.write(chunk)
        if broken and request.transport is not None:
            request.transport.close()
        return stream

    return answer


def line(type_: str, item: object) -> bytes:
    return json.dumps({"type": type_, "object": item}).encode() + b"\n"


def failure(answer: Answer, ask: Callable[[ApiClient], Awaitable[Any]] | None = None) -> KubernetesError:
    """Return how a read (or another request) fails."""

    async def work() -> KubernetesError:
        async with serving(answer) as laid:
            with pytest.raises(KubernetesError) as caught:
                await (ask(laid.client) if ask else laid.client.read(CONFIG_MAPS, "science", "a"))
            return caught.value

    return asyncio.run(work())


async def watched(laid: Laid) -> list[WatchEvent]:
    return [event async for event in laid.client.watch(SELECTION, "7")]


def seen(answer: Answer) -> list[WatchEvent]:
    """Return what a watch tells until its end."""

    async def work() -> list[WatchEvent]:
        async with serving(answer) as laid:
            return await watched(laid)

    return asyncio.run(work())


def test_credentials_that_are_refused_are_read_anew() -> None:
    """Tokens are short-lived: the request is sent again with the new one."""

    async def answer(request: web.Request) -> web.StreamResponse:
        is_new = request.headers["Authorization"] == f"Bearer {TOKEN}-2"
        return web.json_response({"ok": True} if is_new else {}, status=200 if is_new else 401)

    async def work() -> tuple[Object, int]:
        async with serving(answer) as laid:
            return await laid.client.read(CONFIG_MAPS, "science", "a"), laid.access.read

    assert asyncio.run(work()) == ({"ok": True}, 2)


def test_credentials_are_read_anew_once_a_request() -> None:
    async def work() -> tuple[int, int, int]:
        async with serving(always(401, {"reason": "Unauthorized", "message": "Unauthorized"})) as laid:
            with pytest.raises(ApiError) as caught:
                await laid.client.read(CONFIG_MAPS, "science", "a")
            return caught.value.status, len(laid.requests), laid.access.read

    assert asyncio.run(work()) == (401, 2, 2)


def test_many_who_are_refused_one_after_the_other_all_get_in() -> None:
    """The credentials are read once for all, and nobody hangs up on a request that is under way."""
    came = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal came
        came += 1
        is_old = request.headers["Authorization"] == f"Bearer {TOKEN}-1"
        await asyncio.sleep(0.002 * came if is_old else 0.03)
        return web.json_response({"ok": True}, status=401 if is_old else 200)

    async def work() -> tuple[list[Object], int]:
        async with serving(answer) as laid:
            reads = (laid.client.read(CONFIG_MAPS, "science", "a") for _ in range(20))
            return await asyncio.gather(*reads), laid.access.read

    assert asyncio.run(work()) == ([{"ok": True}] * 20, 2)


def test_no_server_is_a_plain_message() -> None:
    url = f"http://127.0.0.1:{free_port()}"

    async def work() -> str:
        async with ApiClient(Renewed(url)) as made:  # type: ignore[arg-type]
            with pytest.raises(ApiUnreachableError) as caught:
                await made.read(CONFIG_MAPS, "science", "a")
            return str(caught.value)

    message = asyncio.run(work())
    assert message.startswith(f"no answer from {url}: ")
    assert "Connect call failed" in message or "refused" in message


def test_a_server_that_hangs_up_did_not_answer() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    assert isinstance(failure(answer), ApiUnreachableError)


def test_a_page_of_a_proxy_is_no_answer() -> None:
    error = failure(always(200, "<html>please log in</html>"))
    assert isinstance(error, ApiUnreachableError)
    assert "answers like no API server: b'<html>please log in" in str(error)


def test_a_server_that_is_silent_did_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says so: the exception that the library raises says nothing."""
    monkeypatch.setattr(client, "REQUEST_SECONDS", 0.05)

    async def answer(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.5)
        return web.Response()

    error = failure(answer)
    assert isinstance(error, ApiUnreachableError)
    assert not str(error).endswith(": ")


RETRIES: dict[str, tuple[Answer, float]] = {
    "a header": (always(429, {}, **{"Retry-After": "7"}), 7.0),
    "the answer": (always(504, {"details": {"retryAfterSeconds": 3}}), 3.0),
    "both": (always(429, {"details": {"retryAfterSeconds": 3}}, **{"Retry-After": "7"}), 7.0),
    "a date": (always(503, {}, **{"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), 0.0),
    "a negative time": (always(503, {}, **{"Retry-After": "-5"}), 0.0),
    "nothing": (always(503, {}), 0.0),
}


@pytest.mark.parametrize(("answer", "seconds"), RETRIES.values(), ids=RETRIES)
def test_how_long_the_server_asks_to_wait(answer: Answer, seconds: float) -> None:
    error = failure(answer)
    assert isinstance(error, ApiError)
    assert (error.retry_after, error.is_passing) == (seconds, True)


REFUSALS: dict[str, tuple[Answer, str]] = {
    "the server's words": (
        always(403, {"reason": "Forbidden", "message": 'pods "a" is forbidden: exceeded quota: few'}),
        '403 Forbidden: pods "a" is forbidden: exceeded quota: few',
    ),
    "a proxy's page": (always(502, "<html>Bad Gateway</html>"), "502: <html>Bad Gateway</html>"),
    "no words": (always(500, " "), "500: Internal Server Error"),
    "something else": (always(500, "[1]"), "500: [1]"),
}


@pytest.mark.parametrize(("answer", "message"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_reported_in_the_servers_words(answer: Answer, message: str) -> None:
    assert str(failure(answer)) == message


def test_a_long_page_is_cut() -> None:
    assert len(str(failure(always(502, "x" * 100_000)))) < 600


def test_another_uid_is_a_conflict() -> None:
    """As a precondition it is one, though the server calls it invalid."""
    cause = {"field": "metadata.uid", "message": "field is immutable", "reason": "FieldValueInvalid"}
    error = failure(always(422, {"reason": "Invalid", "details": {"causes": [cause]}}))
    assert isinstance(error, ApiError)
    assert (error.status, error.reason) == (409, "Conflict")


def test_a_deletion_names_the_object_that_is_meant() -> None:
    """One of the same name that came after it stays."""

    async def work() -> dict[str, Any]:
        async with serving(always(200)) as laid:
            await laid.client.delete(CONFIG_MAPS, "science", "a", "uid-1")
            return dict(await laid.requests[0].json())

    assert asyncio.run(work()) == {"propagationPolicy": "Background", "preconditions": {"uid": "uid-1"}}


WRITES: dict[str, Callable[[ApiClient], Awaitable[Any]]] = {
    "create": lambda made: made.create(ITEM),
    "apply": lambda made: made.apply(ITEM),
    "patch": lambda made: made.patch(CONFIG_MAPS, "science", "a", {}),
    "status": lambda made: made.patch(CONFIG_MAPS, "science", "a", {}, "status"),
    "delete": lambda made: made.delete(CONFIG_MAPS, "science", "a"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_closed_gate_lets_no_write_through(write: Callable[[ApiClient], Awaitable[Any]]) -> None:
    def gate() -> None:
        raise LeadershipLostError("another operator leads")

    async def work() -> int:
        async with serving(always(200), gate) as laid:
            with pytest.raises(LeadershipLostError):
                await write(laid.client)
            return len(laid.requests)

    assert asyncio.run(work()) == 0


SECRET_FAILURES: dict[str, Answer] = {
    "refused": always(401, {"reason": "Unauthorized", "message": "Unauthorized"}),
    "forbidden": always(403, {"reason": "Forbidden", "message": "no"}),
    "broken": lines(b"half", broken=True),
    "page": always(502, "<html>"),
}


@pytest.mark.parametrize("answer", SECRET_FAILURES.values(), ids=SECRET_FAILURES)
def test_no_message_shows_the_credentials(answer: Answer) -> None:
    error: BaseException | None = failure(answer)
    while error is not None:
        assert TOKEN not in f"{error!s} {error!r}"
        error = error.__cause__ or error.__context__


def test_a_list_comes_in_pages() -> None:
    pages = {
        None: {"metadata": {"continue": "next", "resourceVersion": "5"}, "items": [{"n": 1}]},
        "next": {"metadata": {"resourceVersion": "5"}, "items": [{"n": 2}]},
    }

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(pages[request.query.get("continue")])

    async def work() -> tuple[tuple[Object, ...], str]:
        async with serving(answer) as laid:
            found = await laid.client.list(SELECTION)
            return found.items, found.version

    assert asyncio.run(work()) == (({"n": 1}, {"n": 2}), "5")


def test_an_empty_list_has_no_items() -> None:
    """The server writes null."""

    async def work() -> tuple[Object, ...]:
        async with serving(always(200, {"metadata": {"resourceVersion": "5"}, "items": None})) as laid:
            return (await laid.client.list(SELECTION)).items

    assert asyncio.run(work()) == ()


LONG = {"data": {"key": "x" * 300_000}}
WHOLE = line("ADDED", {"n": 1}) + line("MODIFIED", {"n": 2})
BOTH = [WatchEvent("ADDED", {"n": 1}), WatchEvent("MODIFIED", {"n": 2})]
STREAMS: dict[str, tuple[Answer, list[WatchEvent]]] = {
    "nothing": (lines(), []),
    "a line": (lines(line("ADDED", {"n": 1})), [WatchEvent("ADDED", {"n": 1})]),
    "lines in one piece": (lines(WHOLE), BOTH),
    "lines in pieces": (lines(WHOLE[:9], WHOLE[9:50], WHOLE[50:]), BOTH),
    "a line of 300 KB": (lines(line("ADDED", LONG)), [WatchEvent("ADDED", LONG)]),
    "empty lines": (lines(b"\n\n", line("ADDED", {"n": 1}), b"\n"), [WatchEvent("ADDED", {"n": 1})]),
}


@pytest.mark.parametrize(("answer", "events"), STREAMS.values(), ids=STREAMS)
def test_a_watch_comes_in_lines_of_any_length(answer: Answer, events: list[WatchEvent]) -> None:
    assert seen(answer) == events


EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


@pytest.mark.parametrize(
    "answer", [always(410, EXPIRED), lines(line("ERROR", EXPIRED))], ids=["at once", "in the stream"]
)
def test_a_watch_from_too_far_back_is_gone(answer: Answer) -> None:
    with pytest.raises(ApiError, match="too old resource version") as caught:
        seen(answer)
    assert caught.value.status == 410


def test_a_watch_that_breaks_off_reports_it() -> None:
    with pytest.raises(ApiUnreachableError, match="the watch of configmaps broke off: "):
        seen(lines(line("ADDED", {"n": 1}), broken=True))


def test_a_watch_asks_for_bookmarks_from_a_version() -> None:
    async def work() -> dict[str, str]:
        async with serving(lines()) as laid:
            selection = Selection(LEASES, "science", "app=mc", "metadata.name=a", bare=True)
            assert [event async for event in laid.client.watch(selection, "7")] == []
            return dict(laid.requests[0].query)

    asked = asyncio.run(work())
    assert asked.pop("timeoutSeconds") == str(client.WATCH_SECONDS)
    assert asked == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "labelSelector": "app=mc",
        "fieldSelector": "metadata.name=a",
    }
