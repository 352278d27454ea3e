"""`MemoryApi`: the port to an API server, in memory, with faults to order and a log of requests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from minicluster.kube_client.api import APPLY_MANAGER, Listing, Selection, WatchEvent
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.objects import ObjectReference, Patch
from minicluster.kube_client.resources import RESOURCES, Resource
from tests.operator.field_sets import Object
from tests.operator.memory_history import Change
from tests.operator.memory_objects import bare, matches, reference_of
from tests.operator.memory_store import Store

READS = {"get", "list", "watch"}
TYPELESS = {kind for kind in RESOURCES if kind != "MiniCluster"}  # built-in kinds do not name it in lists


class Crash(BaseException):
    """The process that asked is no more."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request: verb ("get", "apply" …), kind, namespace, name, and for a write its body."""

    verb: str
    kind: str
    namespace: str
    name: str = ""
    subresource: str = ""
    body: Object = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        return " ".join(each for each in (self.verb, self.kind, self.name, self.subresource) if each)


class Faults:
    """Faults of requests; this class lets everything pass."""

    def before(self, request: Request) -> None:
        """Raise the fault of a read or write that is not done: ApiError, ApiUnreachableError, Crash."""

    def after(self, request: Request) -> None:
        """Raise the fault of a write that was done: its answer is lost."""


@dataclass(slots=True)
class MemoryApi:
    """An `Api` on a Store. `as_manager` returns another one, for writes of other clients.

    `latency` is the number of seconds that a write takes to the server, and its answer back.
    """

    store: Store = field(default_factory=Store)
    manager: str = APPLY_MANAGER
    faults: Faults = field(default_factory=Faults)
    refusals: list[Callable[[Request], ApiError | None]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    latency: float = 0.0
    _watches: set[asyncio.Event] = field(default_factory=set)
    _bookmarks: int = 0

    def as_manager(self, manager: str) -> "MemoryApi":
        """Return the API of another client: another field manager, another log, no faults."""
        return MemoryApi(self.store, manager)

    @property
    def writes(self) -> list[Request]:
        """The requests for writes, done or not."""
        return [request for request in self.requests if request.verb not in READS]

    async def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object."""
        request = Request("get", resource.kind, namespace, name)
        self.requests.append(request)
        self.faults.before(request)
        return self.store.read(ObjectReference(resource.kind, namespace, name))

    async def list(self, selection: Selection) -> Listing:
        """Return all objects of a selection."""
        _check(selection)
        kind = selection.resource.kind
        self.requests.append(Request("list", kind, selection.namespace))
        found = self.store.find(kind, selection.namespace, selection.labels)
        shape = bare if selection.bare else _typeless if kind in TYPELESS else _as_is
        return Listing(tuple(map(shape, found)), str(self.store.history.version))

    async def watch(self, selection: Selection, version: str) -> AsyncIterator[WatchEvent]:
        """Follow the changes after a version, until `end_watches`."""
        _check(selection)
        self.requests.append(Request("watch", selection.resource.kind, selection.namespace))
        seen, marked = int(version), self._bookmarks
        with self._listening() as news:
            while news in self._watches:
                news.clear()
                for change in list(self.store.history.since(seen, selection.resource.kind)):
                    seen = change.version
                    if event := event_of(change, selection):
                        yield event
                if marked != self._bookmarks:
                    seen, marked = self.store.history.version, self._bookmarks
                    yield _bookmark(selection, seen)
                if not news.is_set() and news in self._watches:
                    await news.wait()

    def bookmark(self) -> None:
        """Send a bookmark to every watch."""
        self._bookmarks += 1
        for watch in self._watches:
            watch.set()

    def end_watches(self) -> None:
        """End every watch, as the server does now and then."""
        ended, self._watches = self._watches, set()
        for watch in ended:
            watch.set()

    async def create(self, item: Object) -> Object:
        """Create an object."""
        request = _request("create", item)
        return bare(await self._write(request, lambda: self.store.create(item, self.manager)))

    async def apply(self, item: Object, *, new: bool = False) -> Object:
        """Server-side apply an object, and return its metadata."""
        request = _request("apply", item)
        if new:
            item = {**item, "metadata": {**item["metadata"], "resourceVersion": "1"}}
        return bare(await self._write(request, lambda: self.store.apply(item, self.manager)))

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: Patch, subresource: str = ""
    ) -> Object:
        """Merge into an object, or adopt the fields of its creation."""
        reference = ObjectReference(resource.kind, namespace, name)
        if isinstance(body, list):
            return await self._write(Request("adopt", *reference), lambda: self.store.adopt(reference, body))
        request = Request("patch", *reference, subresource, body)
        return await self._write(
            request, lambda: self.store.patch(reference, body, self.manager, subresource)
        )

    async def replace(self, item: Object) -> Object:
        """Replace an object."""
        return await self._write(_request("update", item), lambda: self.store.replace(item, self.manager))

    async def delete(self, resource: Resource, namespace: str, name: str, uid: str = "") -> None:
        """Delete an object; its dependents go when the garbage is collected."""
        reference = ObjectReference(resource.kind, namespace, name)
        await self._write(Request("delete", *reference), lambda: self.store.delete(reference, uid))

    async def _write(self, request: Request, do: Callable[[], Object]) -> Object:
        self.requests.append(request)
        await self._travel()
        self.faults.before(request)
        for refuse in self.refusals:
            if error := refuse(request):
                raise error
        done = do()
        await self._travel()
        self.faults.after(request)
        return done

    async def _travel(self) -> None:
        if self.latency:
            await asyncio.sleep(self.latency)

    @contextmanager
    def _listening(self) -> Iterator[asyncio.Event]:
        news = asyncio.Event()
        self._watches.add(news)
        self.store.history.listeners.append(news.set)
        try:
            yield news
        finally:
            self.store.history.listeners.remove(news.set)
            self._watches.discard(news)


def event_of(change: Change, selection: Selection) -> WatchEvent | None:
    """Return a watch's event for a change; None where it gets none."""
    if selection.namespace not in {"", change.reference.namespace}:
        return None
    was, is_ = matches(change.old, selection.labels), matches(change.new, selection.labels)
    shape = bare if selection.bare else _as_is
    if is_:
        return WatchEvent("MODIFIED" if was else "ADDED", shape(change.new or {}))
    if not was or change.old is None:
        return None
    about = {**change.old["metadata"], "resourceVersion": str(change.version)}
    return WatchEvent("DELETED", shape({**change.old, "metadata": about}))


def _check(selection: Selection) -> None:
    if selection.fields:
        raise NotImplementedError("the operator selects by labels only")


def _request(verb: str, item: Object) -> Request:
    return Request(verb, *reference_of(item), body=item)


def _typeless(item: Object) -> Object:
    return {key: value for key, value in item.items() if key not in {"apiVersion", "kind"}}


def _as_is(item: Object) -> Object:
    return item


def _bookmark(selection: Selection, version: int) -> WatchEvent:
    resource = selection.resource
    about = {"resourceVersion": str(version), "creationTimestamp": None}
    item = {"kind": resource.kind, "apiVersion": resource.version, "metadata": about}
    return WatchEvent("BOOKMARK", bare(item) if selection.bare else item)
