"""A connection to a cluster's instance that lasts, over a back end that gives one for the time of a call."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Self

from minicluster.backends.errors import BackendError
from minicluster.instance.errors import InstanceGone

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from minicluster.backends.port import Backend
    from minicluster.instance.links.shared import SharedLinks
    from minicluster.instance.port import (
        BulkSubmits,
        Instance,
        JobOverview,
        JobQueues,
        Jobs,
        Lifecycle,
        Nodes,
    )

CLOSE_TIMEOUT = 5.0
"""Seconds that closing waits for the back end to hang up."""


class KeptInstance:
    """An instance, connected until it is closed: a thread is within the back end's call so long."""

    def __init__(self, inner: Instance, done: threading.Event, thread: threading.Thread) -> None:
        self._inner = inner
        self._done = done
        self._thread = thread

    @property
    def engine(self) -> str:
        """Either "flux" or "embedded"."""
        return self._inner.engine

    @property
    def uri(self) -> str:
        """The address of the broker."""
        return self._inner.uri

    @property
    def jobs(self) -> Jobs:
        """Its jobs."""
        return self._inner.jobs

    @property
    def bulk(self) -> BulkSubmits:
        """Submits of many jobs."""
        return self._inner.bulk

    @property
    def queues(self) -> JobQueues:
        """Its queues."""
        return self._inner.queues

    @property
    def nodes(self) -> Nodes:
        """Its nodes."""
        return self._inner.nodes

    @property
    def overview(self) -> JobOverview:
        """What is known of all its jobs."""
        return self._inner.overview

    @property
    def life(self) -> Lifecycle:
        """Its attributes, dump and shutdown."""
        return self._inner.life

    @property
    def links(self) -> SharedLinks:
        """The links to the broker."""
        return self._inner.links

    def as_user(self, uid: int) -> Instance:
        """Return a view of it as a user sees it. Raises NotAllowed."""
        return self._inner.as_user(uid)

    def close(self) -> None:
        """Hang up. Streams end."""
        self._done.set()
        self._thread.join(CLOSE_TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(backend: Backend, name: str) -> KeptInstance:
    """Connect to the instance of a back end's cluster. Raises InstanceError."""

    def ask(work: Callable[[Instance], None]) -> None:
        backend.ask(name, work)

    return kept(ask, name)


def kept(ask: Callable[[Callable[[Instance], None]], None], name: str) -> KeptInstance:
    """Return the instance with which `ask` runs what it is given, for as long as that takes.

    Raises InstanceError, and what `ask` raises.
    """
    connected: Future[Instance] = Future()
    done = threading.Event()

    def work(instance: Instance) -> None:
        connected.set_result(instance)
        done.wait()

    def run() -> None:
        try:
            ask(work)
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is awaited
            if not connected.done():
                connected.set_exception(error)

    thread = threading.Thread(target=run, name=f"cluster {name}", daemon=True)
    thread.start()
    try:
        return KeptInstance(connected.result(), done, thread)
    except BackendError as error:
        raise InstanceGone(str(error)) from error
