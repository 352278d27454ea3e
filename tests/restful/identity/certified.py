"""The certified OpenID provider as a process, a browser that logs in there, and one who changes answers."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx2

from restful.identity.oidc import Provider
from tests.devcluster import node_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCES = Path(__file__).with_name("certified_provider")
CALLBACK = "https://mc.example/callback"


@contextlib.contextmanager
def running(*, conform: bool) -> Iterator[str]:
    """Give the issuer of a provider; `conform`: the ID token has no more than the subject (OIDC Core 5.4).

    Raises MissingProgramsError.
    """
    folder = node_packages.installed(SOURCES)
    shutil.copy(SOURCES / "provider.mjs", folder)
    command = [node_packages.program("node", os.environ), "provider.mjs", CALLBACK, str(conform).lower()]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def provider(issuer: str, client: str = "mc") -> Provider:
    """Return what the service knows of it."""
    return Provider(issuer, client, f"{client}'s secret at the provider", CALLBACK)


async def logged_in(url: str, name: str) -> dict[str, str]:
    """Log in as a browser does, and return the query with which it comes back."""
    async with httpx2.AsyncClient() as browser:
        answer = await browser.get(url)
        while True:
            if "location" not in answer.headers:
                target, form = _form(answer, name)
                answer = await browser.post(target, data=form)
                continue
            url = urljoin(str(answer.url), answer.headers["location"])
            if url.startswith(CALLBACK):
                return dict(parse_qsl(urlsplit(url).query))
            answer = await browser.get(url)


def _form(page: httpx2.Response, name: str) -> tuple[str, dict[str, str]]:
    """Return where a page's form goes, and what it has when a user has filled it in."""
    assert page.status_code == 200, page.text
    prompt = "login" if 'name="login"' in page.text else "consent"
    filled = {"login": name, "password": "any"} if prompt == "login" else {}
    target = page.text.partition('action="')[2].partition('"')[0]
    return urljoin(str(page.url), target), {"prompt": prompt, **filled}


@dataclass
class Between(httpx2.AsyncBaseTransport):
    """One who changes what the provider answers to the service."""

    change: Callable[[str, dict[str, Any]], object]
    """Gets the last word of the path, and the JSON of the answer, which it may change."""
    inner: httpx2.AsyncHTTPTransport = field(default_factory=httpx2.AsyncHTTPTransport)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Pass a request on, and the answer with changes."""
        answer = await self.inner.handle_async_request(request)
        content = json.loads(await answer.aread())
        await answer.aclose()
        self.change(request.url.path.rpartition("/")[2], content)
        return httpx2.Response(answer.status_code, json=content)

    async def aclose(self) -> None:
        """Close connections."""
        await self.inner.aclose()
