"""The operator's web server, asked as a kubelet and as Prometheus ask."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from typing import TYPE_CHECKING, NamedTuple

import aiohttp
import pytest

from minicluster.kube_client import probe_server
from minicluster.kube_client.errors import ListenError
from minicluster.operator.cache import Cache
from minicluster.operator.metrics import OperatorMetrics

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = "127.0.0.1"


class Answer(NamedTuple):
    """What came back."""

    status: int
    text: str
    content_type: str


def fine() -> str:
    return ""


def defect() -> str:
    raise RuntimeError("the token is hunter2")


def ask(
    path: str,
    live: Callable[[], str] = fine,
    ready: Callable[[], str] = fine,
    accept: str = "*/*",
    method: str = "GET",
) -> Answer:
    """Start a server, ask one thing, and stop it."""

    async def main() -> Answer:
        metrics = OperatorMetrics(Cache(), [])
        async with (
            probe_server.serving((HERE, 0), metrics, live, ready) as (host, port),
            aiohttp.ClientSession() as session,
            session.request(method, f"http://{host}:{port}{path}", headers={"Accept": accept}) as answer,
        ):
            return Answer(answer.status, await answer.text(), answer.headers["Content-Type"])

    return asyncio.run(main())


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_all_is_well(path: str) -> None:
    assert ask(path)[:2] == (200, "ok\n")


@pytest.mark.parametrize(
    ("path", "live", "ready", "status"),
    [
        ("/healthz", "the watch of Jobs ended", "", 500),
        ("/readyz", "", "Jobs were not listed yet", 503),
    ],
)
def test_trouble(path: str, live: str, ready: str, status: int) -> None:
    """A probe that fails shows the reason."""
    answer = ask(path, lambda: live, lambda: ready)
    assert answer[:2] == (status, f"{live or ready}\n")


@pytest.mark.parametrize(
    ("path", "live", "ready"), [("/healthz", "", "not ready"), ("/readyz", "not alive", "")]
)
def test_probes_are_apart(path: str, live: str, ready: str) -> None:
    """The one probe does not fail for the other's reason."""
    assert ask(path, lambda: live, lambda: ready).status == 200


def test_defect_of_a_probe(caplog: pytest.LogCaptureFixture) -> None:
    """A probe that raises fails, without telling everybody what it raised; the log does."""
    caplog.set_level(logging.ERROR)
    answer = ask("/healthz", defect)
    assert answer[:2] == (500, "a defect of the service; its log says more\n")
    assert "a defect of the service: /healthz cannot be answered" in caplog.text


def test_metrics() -> None:
    answer = ask("/metrics")
    assert answer.status == 200
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert "minicluster_leader 1.0\n" in answer.text


def test_metrics_as_openmetrics() -> None:
    """The form of the metrics is the one that Prometheus asks for."""
    answer = ask("/metrics", accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert answer.content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")


@pytest.mark.parametrize("path", ["/", "/debug", "/metrics/../etc/passwd"])
def test_nothing_else_is_served(path: str) -> None:
    assert ask(path)[:2] == (404, "there is nothing at this path\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_is_written(method: str) -> None:
    assert ask("/metrics", method=method)[:2] == (405, "only GET is right here\n")


def test_reports_where(caplog: pytest.LogCaptureFixture) -> None:
    """The log names the address and the port, also where any free one was asked for."""
    caplog.set_level(logging.INFO, probe_server.__name__)

    async def main() -> int:
        async with probe_server.serving((HERE, 0), OperatorMetrics(Cache(), []), fine, fine) as (_, port):
            return port

    port = asyncio.run(main())
    assert caplog.messages == [f"/healthz, /readyz and /metrics are served on {HERE}:{port}"]


@pytest.mark.parametrize(
    ("listen", "message"),
    [
        ((HERE, 70000), r"cannot listen on 127\.0\.0\.1:70000: .*0-65535; --listen ADDRESS:PORT chooses"),
        (("192.0.2.1", 0), r"cannot listen on 192\.0\.2\.1:0: .*; --listen ADDRESS:PORT chooses another"),
        (("no.such.host.invalid", 1), r"cannot listen on no\.such\.host\.invalid:1: "),
        (("2001:db8::1", 80), r"cannot listen on \[2001:db8::1\]:80: "),
    ],
    ids=["no such port", "not our address", "no such host", "not our IPv6 address"],
)
def test_cannot_listen(listen: tuple[str, int], message: str) -> None:
    """An address that cannot be had is an error that names it and the option."""

    async def main() -> None:
        async with probe_server.serving(listen, OperatorMetrics(Cache(), []), fine, fine):
            pass

    with pytest.raises(ListenError, match=message):
        asyncio.run(main())


def test_port_taken() -> None:
    """A port that somebody else has is an error that says so."""
    with contextlib.closing(socket.socket()) as other:
        other.bind((HERE, 0))
        other.listen()
        port = other.getsockname()[1]

        async def main() -> None:
            async with probe_server.serving((HERE, port), OperatorMetrics(Cache(), []), fine, fine):
                pass

        with pytest.raises(ListenError, match=f"cannot listen on {HERE}:{port}: .*in use"):
            asyncio.run(main())


def test_stops_at_once() -> None:
    """A connection that is kept open does not hold up the operator's end."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        async with contextlib.AsyncExitStack() as stack:
            served = probe_server.serving((HERE, 0), OperatorMetrics(Cache(), []), fine, fine)
            host, port = await stack.enter_async_context(served)
            _, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /metrics HTTP/1.1\r\n")
            await writer.drain()
            begin = loop.time()
        writer.close()
        return loop.time() - begin

    assert asyncio.run(main()) < 2
