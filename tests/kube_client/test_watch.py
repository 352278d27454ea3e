"""Watches that do not go well: the cache stays true, and the API server is not asked in a loop."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from minicluster.kube_client.api import Listing, Selection, WatchEvent
from minicluster.kube_client.errors import AccessError, ApiError, ApiUnreachableError, KubernetesError
from minicluster.kube_client.objects import Name
from minicluster.kube_client.resources import CONFIG_MAPS
from minicluster.kube_client.watch import Watch
from minicluster.operator.cache import Cache
from tests.operator import objects
from tests.operator.virtual_time import run

MINUTE = 60.0
NAME = Name(objects.NAMESPACE, "mc")


@dataclass
class Server:
    """An API server whose watches all go the same way: `lasts` seconds, then `error` or a plain end."""

    lasts: float = 0.0
    error: KubernetesError | None = None
    unlisted: KubernetesError | None = None
    item: dict[str, object] | None = None
    lists: int = 0
    versions: list[str] = field(default_factory=list)

    async def list(self, selection: Selection) -> Listing:
        """Return an empty list, or refuse."""
        self.lists += 1
        if self.unlisted:
            raise self.unlisted
        return Listing((), "7")

    async def watch(self, selection: Selection, version: str) -> AsyncIterator[WatchEvent]:
        """Tell of the item, and end."""
        self.versions.append(version)
        if self.item:
            yield WatchEvent("ADDED", self.item)
        await asyncio.sleep(self.lasts)
        if self.error:
            raise self.error


def watched(server: Server, seconds: float = MINUTE) -> Cache:
    """Watch for a while; return what is known then."""
    cache = Cache()

    async def work() -> None:
        watch = Watch(server, cache, Selection(CONFIG_MAPS), lambda _name: None)  # type: ignore[arg-type]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await watch.run()

    run(work())
    return cache


FORBIDDEN = ApiError(403, "Forbidden", "cannot watch resource")
GONE = ApiError(410, "Expired", "too old resource version")
FAILING: dict[str, Server] = {
    "lists are refused": Server(unlisted=FORBIDDEN),
    "watches are refused, lists are not": Server(error=FORBIDDEN),
    "whatever was just listed is too old": Server(error=GONE),
    "watches break off at once": Server(error=ApiUnreachableError("connection reset")),
    "watches end at once": Server(),
    "watches end as soon as they have told something": Server(
        item=objects.owned("ConfigMap", "a", version=8)
    ),
    "there are no credentials for a while": Server(unlisted=AccessError("the plug-in failed")),
}


@pytest.mark.parametrize("server", FAILING.values(), ids=FAILING)
def test_a_server_that_fails_is_asked_less_and_less(server: Server) -> None:
    watched(server, 10 * MINUTE)
    assert 10 <= server.lists + len(server.versions) <= 80


STEADY_SECONDS: dict[str, Server] = {
    "by their end": Server(lasts=20),
    "by a connection that breaks": Server(lasts=20, error=ApiUnreachableError("connection reset")),
}


@pytest.mark.parametrize("server", STEADY_SECONDS.values(), ids=STEADY_SECONDS)
def test_a_watch_that_lasted_goes_on_at_once(server: Server) -> None:
    """However often that happens, nothing is missed for long; and nothing is listed again."""
    watched(server, 10 * MINUTE)
    assert (server.lists, len(server.versions)) == (1, 30)


@pytest.mark.parametrize(
    "error", [None, ApiUnreachableError("connection reset")], ids=["ended", "broken off"]
)
def test_a_watch_goes_on_from_what_it_has_delivered(error: KubernetesError | None) -> None:
    server = Server(lasts=20, error=error, item=objects.owned("ConfigMap", "a", version=8))
    cache = watched(server, MINUTE - 1)
    assert (server.versions, [each.version for each in cache.dependents.of(NAME)]) == (["7", "8", "8"], [8])


def test_a_watch_of_a_version_that_is_forgotten_lists_again() -> None:
    server = Server(lasts=20, error=GONE)
    watched(server, MINUTE - 1)
    assert (server.lists, server.versions) == (3, ["7"] * 3)
