"""By which names a service answers, and whose address counts."""

import asyncio
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from restful.front.front import Front
from restful.front.origins import LOOPBACK, HostNames, host_of, is_loopback
from restful.front.proxies import client_of, networks


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost:8080", "localhost"),
        ("LocalHost", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:8080", "::1"),
        ("[::1]", "::1"),
        ("mc.example", "mc.example"),
        ("", ""),
        ("localhost:8080@evil.example", "localhost"),
    ],
)
def test_the_name_of_a_host_header(header: str, name: str) -> None:
    assert host_of(header) == name


@pytest.mark.parametrize(
    "header", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "[evil]"]
)
def test_another_name_is_refused(header: str) -> None:
    message = f"This service is not called {host_of(header)!r}, but 127.0.0.1, ::1, localhost."
    assert HostNames(LOOPBACK).refusal(header) == message


@pytest.mark.parametrize(
    ("address", "expected"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("10.0.0.1", False),
     ("0.0.0.0", False), ("mc.example", False), ("", False)],
)  # fmt: skip
def test_what_this_machine_alone_reaches(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected


TRUSTED = networks(["10.0.0.0/8", "fd00::1"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        pytest.param("10.1.1.1", "192.0.2.7", "192.0.2.7", id="by the proxy"),
        pytest.param("192.0.2.9", "192.0.2.7", "192.0.2.9", id="not by a proxy"),
        pytest.param("10.1.1.1", "1.2.3.4, 192.0.2.7", "192.0.2.7", id="what a client wrote does not count"),
        pytest.param("10.1.1.1", "192.0.2.7, 10.2.2.2", "192.0.2.7", id="two proxies"),
        pytest.param("fd00::1", "[2001:db8::5]:443", "2001:db8::5", id="with a port"),
        pytest.param("10.1.1.1", "192.0.2.7:5000", "192.0.2.7", id="IPv4 with a port"),
        pytest.param("10.1.1.1", "", "10.1.1.1", id="nothing"),
        pytest.param("10.1.1.1", "unknown", "10.1.1.1", id="no address"),
        pytest.param("testclient", "192.0.2.7", "testclient", id="no peer's address"),
    ],
)
def test_whose_address_counts(peer: str, forwarded: str, client: str) -> None:
    assert client_of(peer, forwarded, TRUSTED) == client


async def _address(scope: Any, receive: Any, send: Any) -> None:
    await JSONResponse(Request(scope).state.address)(scope, receive, send)


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [("/v2/me", "localhost", 200), ("/v2/me", "evil.example", 400), ("/healthz", "10.0.0.9:8080", 200)],
)
def test_requests_by_other_names_do_not_reach_the_routes(path: str, host: str, status: int) -> None:
    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(
            Front(_address, HostNames(LOOPBACK), TRUSTED), client=("10.1.1.1", 5)
        )
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path, headers={"host": host, "x-forwarded-for": "192.0.2.7"})

    answer = asyncio.run(ask())
    assert answer.status_code == status
    assert answer.json() == "192.0.2.7" if status == 200 else "not called" in answer.json()["detail"]
