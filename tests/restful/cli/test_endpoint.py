"""Where a service may listen, and what is refused in words."""

from typing import Any

import pytest

from restful.cli.endpoint import ServeEndpoint, check
from restful.cli.errors import WrongOptions

TLS = {"certificate": "mc.pem", "key": "mc.key"}
OPEN = (
    "--listen 10.0.0.1:8080 is reached from other machines, and passwords would go there unencrypted: give"
    " --tls-cert and --tls-key, or --behind-proxy with the address of a proxy that speaks TLS"
)
NO_AUTH = "--no-auth is for this machine alone, and --listen"
NO_AUTH_END = "may be reached from others: leave out --no-auth, or --listen, --behind-proxy and --url"
URL = "needed is https://HOST, perhaps with a port, without a path"
PROXY = "--behind-proxy proxy: needed is an address or a network, such as 10.0.0.7 or 10.0.0.0/8"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"host": "::1"},
        {"host": "localhost", "login": False},
        {"host": "10.0.0.1", **TLS},
        {"host": "", "url": "https://mc.example", **TLS},
        {"host": "0.0.0.0", "url": "https://mc.example", "proxies": ("10.0.0.7",)},
        {"url": "http://localhost:9000"},
    ],
)
def test_where_a_service_may_listen(fields: dict[str, Any]) -> None:
    check(ServeEndpoint(**fields))
    assert ServeEndpoint(**fields).names.hosts


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"certificate": "mc.pem"}, "--tls-cert and --tls-key go together: give both, or neither"),
        ({"host": "10.0.0.1"}, OPEN),
        ({"host": "", **TLS}, "--listen :8080 has no name: give --url, such as --url https://mc.example"),
        ({"host": "10.0.0.1", "login": False, **TLS}, f"{NO_AUTH} 10.0.0.1:8080 {NO_AUTH_END}"),
        ({"proxies": ("127.0.0.1",), "login": False}, f"{NO_AUTH} 127.0.0.1:8080 {NO_AUTH_END}"),
        ({"url": "http://mc.example"}, f"--url http://mc.example: {URL}"),
        ({"url": "https://mc.example/v1"}, f"--url https://mc.example/v1: {URL}"),
        ({"url": "https://[mc"}, f"--url https://[mc: {URL}"),
        ({"proxies": ("proxy",)}, PROXY),
    ],
)  # fmt: skip
def test_where_it_may_not(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongOptions) as caught:
        check(ServeEndpoint(**fields))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("fields", "address", "hosts"),
    [
        ({}, "http://127.0.0.1:81", {"127.0.0.1", "localhost", "::1"}),
        ({"host": "::1"}, "http://[::1]:81", {"127.0.0.1", "localhost", "::1"}),
        ({"host": "10.0.0.1", **TLS}, "https://10.0.0.1:81", {"10.0.0.1"}),
        ({"host": "", "url": "https://mc.example/", **TLS}, "https://mc.example",
         {"mc.example", "127.0.0.1", "localhost", "::1"}),
    ],
)  # fmt: skip
def test_how_it_is_reached(fields: dict[str, Any], address: str, hosts: set[str]) -> None:
    endpoint = ServeEndpoint(**fields)
    assert endpoint.address(81) == address
    assert endpoint.names.hosts == hosts
