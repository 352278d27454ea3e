"""A connection to a MiniCluster's instance that is kept, for tests that look again and again.

It is the one that `minicluster jobs --on kubernetes` makes: a command of its own in the pod of the lead. That
costs the start of a Python there, which a look every few milliseconds must not.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from minicluster.instance.errors import InstanceGone
from minicluster.instance.port import Instance
from minicluster.kube_client.access import Access
from minicluster.kube_client.errors import KubernetesError
from minicluster.remote import instances, session

T = TypeVar("T")
SECONDS = 30.0  # for one request; an instance that does not answer for so long is gone
GONE = (InstanceGone, KubernetesError, TimeoutError)
"""What is raised where there is no instance now, or it cannot be reached."""
Operation = tuple[Callable[[Instance], Any], "Future[Any]"]
_OPEN: "list[Line]" = []
"""Every connection that was made since the last test: a process does not end before they do."""


@dataclass(slots=True)
class Line:
    """One connection, with a thread that has what is asked done; it ends with the instance, or its pod."""

    where: session.Target
    name: str
    operations: "SimpleQueue[Operation | None]" = field(default_factory=SimpleQueue)
    is_over: bool = False
    turn: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> "Line":
        """Begin to connect; what is asked meanwhile waits."""
        _OPEN.append(self)
        threading.Thread(target=self._run, daemon=True).start()
        return self

    def ask(self, work: Callable[[Instance], T]) -> T:
        """Return the work's result, or raise what it raises."""
        answer: Future[T] = Future()
        with self.turn:
            if self.is_over:
                raise InstanceGone("the connection is at its end")
            self.operations.put((work, answer))
        return answer.result(SECONDS)

    def hang_up(self) -> None:
        """End it once what was asked is done."""
        self.operations.put(None)

    def _run(self) -> None:
        why: BaseException = InstanceGone("the connection was closed")
        try:
            session.run(self.where, lambda asked: instances.ask(asked, self.name, self._serve))
        except Exception as error:  # noqa: BLE001 - the caller gets it
            why = error
        with self.turn:
            self.is_over = True
        while not self.operations.empty():
            if (operation := self.operations.get()) is not None:
                operation[1].set_exception(why)

    def _serve(self, instance: Instance) -> None:
        while (operation := self.operations.get()) is not None:
            work, answer = operation
            try:
                answer.set_result(work(instance))
            except InstanceGone as error:
                answer.set_exception(error)
                raise
            except Exception as error:  # noqa: BLE001 - the caller gets it
                answer.set_exception(error)


def hang_up_all() -> None:
    """End the connections that tests have left."""
    while _OPEN:
        _OPEN.pop().hang_up()


@dataclass(slots=True)
class KeptInstance:
    """A MiniCluster's instance, by a connection that is made anew where it was lost."""

    kubeconfig: Path
    namespace: str
    name: str
    line: Line | None = None

    def ask(self, work: Callable[[Instance], T]) -> T:
        """Return the work's result; raises one of GONE where there is no instance now.

        The work may be done twice: by an instance that goes meanwhile, and by the next one.
        """
        if self.line is not None:
            try:
                return self.line.ask(work)
            except GONE:
                self.hang_up()
        return self.ask_anew(work)

    def ask_anew(self, work: Callable[[Instance], T]) -> T:
        """Return the work's result, by a new connection: it is done once at most."""
        self.hang_up()
        self.line = Line(session.Target(Access(str(self.kubeconfig)), self.namespace), self.name).start()
        return self.line.ask(work)

    def hang_up(self) -> None:
        """End the connection."""
        if self.line is not None:
            self.line.hang_up()
            self.line = None
