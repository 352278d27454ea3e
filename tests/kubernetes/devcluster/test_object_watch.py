"""A list that is kept up to date, over a real API server, also when that was away, or forgets."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus

import pytest

from tests.devcluster import Api, ApiError, ControlPlane, until
from tests.devcluster.api import Object
from tests.devcluster.object_watch import GONE, Watch

PATH = "/api/v1/namespaces/{}/configmaps"
FORGOTTEN = "1"
"""A version from before the API server's start."""


class EndedError(Exception):
    """Ends a thread that follows."""


@dataclass
class Snapshot:
    """Words in ConfigMaps, by name, as they were told; and how often all were listed."""

    words: dict[str, str] = field(default_factory=dict)
    lists: int = 0

    def replace(self, items: list[Object]) -> None:
        """Take a list."""
        self.words = {item["metadata"]["name"]: item["data"].get("word", "") for item in items}
        self.lists += 1

    def change(self, what: str, item: Object) -> None:
        """Take a change."""
        name = item["metadata"]["name"]
        if name == "end":
            raise EndedError
        self.words[name] = item["data"].get("word", "")
        if what == GONE:
            del self.words[name]

    def are(self, **words: str) -> bool:
        """Return whether these are all, but for those of the control plane."""
        return {key: word for key, word in self.words.items() if word} == words


class Late(Watch):
    """A watch whose first list is long ago."""

    def list(self) -> str:
        """List as ever, but return an old version at first."""
        version = super().list()
        assert isinstance(self.replace.__self__, Snapshot)  # type: ignore[attr-defined]
        return FORGOTTEN if self.replace.__self__.lists == 1 else version  # type: ignore[attr-defined]


@contextlib.contextmanager
def followed(api: Api, namespace: str, kind: type[Watch] = Watch) -> Iterator[Snapshot]:
    """Follow the ConfigMaps of a namespace, for as long as the block takes."""
    seen = Snapshot()
    watch = kind(Api(api.access), PATH.format(namespace), seen.replace, seen.change)

    def follow() -> None:
        with contextlib.suppress(EndedError):
            watch.follow()
        watch.api.hang_up()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        until(lambda: seen.lists, "the list")
        yield seen
    finally:
        write(api, namespace, "end", "")
        thread.join()


def write(api: Api, namespace: str, name: str, word: str) -> None:
    """Have a ConfigMap with a word."""
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"word": word}}
    api.apply(f"{PATH.format(namespace)}/{name}", item)


def test_what_there_is_and_what_becomes_of_it(api: Api, namespace: str) -> None:
    write(api, namespace, "first", "a")
    with followed(api, namespace) as seen:
        assert seen.are(first="a")
        write(api, namespace, "second", "b")
        until(lambda: seen.are(first="a", second="b"), "one that is added")
        write(api, namespace, "first", "c")
        until(lambda: seen.are(first="c", second="b"), "one that is changed")
        api.delete(f"{PATH.format(namespace)}/second")
        until(lambda: seen.are(first="c"), "one that is gone")
        assert seen.lists == 1


def test_it_goes_on_when_the_server_is_back(plane: ControlPlane, namespace: str) -> None:
    with followed(plane.api, namespace) as seen:
        plane.apiserver.restart()
        write(plane.api, namespace, "first", "a")
        until(lambda: seen.are(first="a"), "what was added since")


def test_a_server_that_has_forgotten_is_asked_for_all(plane: ControlPlane, namespace: str) -> None:
    write(plane.api, namespace, "first", "a")
    plane.apiserver.restart()  # one that never was remembers all
    snapshot = Snapshot()
    watch = Watch(plane.api, PATH.format(namespace), snapshot.replace, snapshot.change)
    with pytest.raises(ApiError) as refusal:
        next(watch.events(FORGOTTEN))
    assert refusal.value.status == HTTPStatus.GONE
    with followed(plane.api, namespace, Late) as seen:
        write(plane.api, namespace, "second", "b")
        until(lambda: seen.are(first="a", second="b") and seen.lists == 2, "the second list")
