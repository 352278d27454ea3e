"""API7:2023, server side request forgery: nothing that a user sends becomes the address of a request."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import restful
from restful.identity import oidc
from restful.identity.oidc import OidcError, Provider
from tests.restful.authorization.service import opened
from tests.restful.identity.service import within
from tests.restful.owasp.document import operations

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOM = Path(restful.__file__).parent
CLIENTS = frozenset(
    {"aiohttp", "ftplib", "http.client", "httpx", "httpx2", "requests", "smtplib", "socket", "ssl"}
    | {"urllib.request", "urllib3", "websockets", "xmlrpc.client"}
)
ALLOWED = {
    "identity/oidc_logins.py": "asks the OpenID provider of the service's settings",
    "cli/server.py": "listens",
    "cli/tls.py": "reads certificates",
    "cli/process.py": "listens",
}
"""Modules of the service that may open connections, with the reason."""
TRUSTED = ("kubernetes/",)
"""Folders whose addresses are those of the cluster: the API server's, and the leads' that it names."""


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_what_opens_connections_is_listed() -> None:
    found = {str(path.relative_to(ROOM)) for path in ROOM.rglob("*.py") if set(_imported(path)) & CLIENTS}
    assert {each for each in found if not each.startswith(TRUSTED)} == set(ALLOWED)


def test_no_route_takes_an_address(tmp_path: Path) -> None:
    """No field, and no parameter, of a format or a name that would be one."""

    async def work() -> list[str]:
        async with opened(tmp_path) as here:
            document = here.app.openapi()
            fields = [
                (f"{name}.{key}", each)
                for name, schema in document["components"]["schemas"].items()
                for key, each in schema.get("properties", {}).items()
                if name != "DeviceView"  # an answer: the addresses are this service's
            ]
            for operation in operations(here):
                fields += [(each["name"], each["schema"]) for each in operation.content.get("parameters", ())]
            return [
                name
                for name, schema in fields
                if schema.get("format") in {"uri", "url"}
                or any(word in name.lower() for word in ("url", "uri", "webhook", "callback", "redirect"))
            ]

    assert within(work()) == []


@pytest.mark.parametrize(
    ("address", "good"),
    [
        ("https://provider.example/token", True),
        ("http://127.0.0.1:1/token", True),
        ("http://provider.example/token", False),
        ("http://169.254.169.254/latest/meta-data", False),
        ("file:///etc/passwd", False),
        ("gopher://127.0.0.1/x", False),
        ("https://", False),
        ("//evil.example", False),
    ],
)
def test_a_providers_metadata_lead_to_https_alone(address: str, good: bool) -> None:
    provider = Provider("https://provider.example", "c", "s", "https://mc.example/callback")
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    metadata = {"issuer": provider.issuer, **dict.fromkeys(names, address)}
    if good:
        assert oidc.endpoints(provider, metadata).token == address
        return
    with pytest.raises(OidcError, match="lack an endpoint with https"):
        oidc.endpoints(provider, metadata)


def test_a_provider_of_another_name_is_none() -> None:
    provider = Provider("https://provider.example", "c", "s", "https://mc.example/callback")
    with pytest.raises(OidcError, match="are of another issuer"):
        oidc.endpoints(provider, {"issuer": "https://evil.example"})
