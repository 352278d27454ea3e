"""What kopf is given to log in with."""

import asyncio
from dataclasses import dataclass, field

import kopf
import pytest

from minicluster.kube_client.credentials import ApiCredentials
from minicluster.operator import handlers
from minicluster.operator.handlers import Logins

FIRST, SECOND = (ApiCredentials(server="https://api", token=each) for each in ("one", "two"))


@dataclass
class Files:
    """A way in: what the files say at each look; the last one stays."""

    credentials: list[ApiCredentials]

    def connect(self) -> ApiCredentials:
        """Read the credentials."""
        return self.credentials.pop(0) if len(self.credentials) > 1 else self.credentials[0]


@dataclass
class Given:
    """What was given, and the pauses in between."""

    infos: list[kopf.ConnectionInfo] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)


def given(monkeypatch: pytest.MonkeyPatch, times: int, *credentials: ApiCredentials) -> Given:
    """Ask for credentials so often."""
    found = Given()

    async def pause(seconds: float) -> None:
        found.pauses.append(seconds)

    async def work() -> None:
        logins = Logins(Files(list(credentials)))  # type: ignore[arg-type]
        with monkeypatch.context() as patch:
            patch.setattr(handlers.asyncio, "sleep", pause)
            found.infos += [await logins.next() for _ in range(times)]

    asyncio.run(work())
    return found


def test_those_that_were_refused_are_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As others: kopf gives up on those that it knows."""
    infos = given(monkeypatch, 3, FIRST).infos
    assert [(each.server, each.token) for each in infos] == [(FIRST.server, FIRST.token)] * 3
    assert len({each.priority for each in infos}) == 3


def test_the_pauses_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert given(monkeypatch, 8, FIRST).pauses == [0.5, 1, 2, 4, 8, 10, 10]


def test_new_ones_are_given_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = given(monkeypatch, 2, FIRST, SECOND)
    assert ([each.token for each in found.infos], found.pauses) == (["one", "two"], [])


def test_those_that_come_during_the_pause_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found = given(monkeypatch, 2, FIRST, FIRST, SECOND)
    assert ([each.token for each in found.infos], found.pauses) == (["one", "two"], [0.5])


def test_kopf_is_given_all_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "server": "https://api",
        "ca_path": "/ca.crt",
        "insecure": True,
        "username": "anna",
        "password": "p",
        "scheme": "Bearer",
        "token": "t",
        "certificate_path": "/tls.crt",
        "private_key_path": "/tls.key",
        "default_namespace": "science",
        "proxy_url": "http://proxy:3128",
    }
    (info,) = given(monkeypatch, 1, ApiCredentials(**known)).infos  # type: ignore[arg-type]
    assert {name: getattr(info, name) for name in known} == known
