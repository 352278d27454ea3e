"""The library's part for a program's first task: it receives orders, calls hooks, and answers.

    class Mine(Hooks):
        def after_grow(self, workers): ...      # give them a share of the data
        def before_shrink(self, order): ...     # take the data of some away; return who they are

    with Program(Mine()) as program:
        while not finished:
            step()
            program.poll()                      # a safe point: hooks run here
            program.progress(done / all)

Where no instance gives orders (no MINICLUSTER_MALLEABLE), `poll` does nothing: the job is rigid. A thread of
its own may poll (with a timeout) while others compute. Then the hooks run in that thread.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from minicluster.malleable import messages
from minicluster.malleable.errors import Rejected
from minicluster.malleable.order_handling import FIRST, OrderHandling
from minicluster.malleable.program_link import ProgramLink
from minicluster.malleable.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from minicluster.malleable.hooks import Hooks
    from minicluster.malleable.messages import Member

_log = logging.getLogger(__name__)
_LIBRARY = f"{__name__.rpartition('.')[0]}."
_REPORT_INTERVAL = 0.2
"""Seconds between two reports of progress."""


class Program:
    """The connection of a job's program to its instance.

    Creating it raises CredentialsError, OSError and Rejected. A connection that is lost later only makes the
    program rigid, after one attempt to register again.
    """

    def __init__(
        self, hooks: Hooks, environment: Mapping[str, str] | None = None, timeout: float = 60.0
    ) -> None:
        self.least = self.most = 0
        self._reported = (-_REPORT_INTERVAL, -1.0)
        self._polling = threading.Lock()
        worker = Worker.from_environment(environment)
        if worker.credentials is not None and worker.number != FIRST:
            raise Rejected(f"task {worker.number} registered: only task {FIRST} may; added tasks join")
        self._link = ProgramLink(worker.credentials, timeout)
        self._orders = OrderHandling(hooks, self._link.send)
        answer = self._link.open()
        if answer is not None:
            self._registered(answer)

    @property
    def workers(self) -> dict[int, Member]:
        """The workers that the instance counts, by their numbers."""
        return self._orders.workers

    @property
    def malleable(self) -> bool:
        """Whether the program receives orders."""
        return self._link.is_open

    @property
    def size(self) -> int:
        """How many workers the instance counts; 0 in a rigid job, where no instance counts them."""
        return len(self.workers)

    def poll(self, timeout: float = 0.0) -> bool:
        """Carry out the orders that have come; return whether the size has changed.

        Waits up to `timeout` seconds for a first order. Hooks run in this call. It raises what they raise,
        except Refusal. A second thread waits for the first.
        """
        with self._polling:
            before = set(self.workers)
            received, failure = self._link.receive(timeout)
            try:
                for message in received:
                    self._orders.take(message)
            except Exception as error:  # noqa: BLE001 - a hook may raise anything
                raise error.with_traceback(_of_hook(error.__traceback__)) from error.__cause__
            if failure is not None:
                self._lost(failure)
            return set(self.workers) != before

    def progress(self, share: float) -> None:
        """Report the fraction of the work that is done, from 0 to 1; policies learn the speedup from it.

        Call it as often as you like: it sends a few reports a second at most.
        """
        now, share = time.monotonic(), min(1.0, max(0.0, share))
        if share != self._reported[1] and (now - self._reported[0] >= _REPORT_INTERVAL or share == 1.0):
            self._reported = (now, share)
            self._link.send(messages.Progress(share))

    def deregister(self) -> None:
        """Be rigid from now on, for good."""
        self._link.end(messages.Deregister())

    def close(self) -> None:
        """Close the connection: the instance takes the program for rigid."""
        self._link.end()

    def __enter__(self) -> Program:  # noqa: PYI034 - Self is newer than Flux's own Python may be
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _registered(self, answer: messages.Registered) -> None:
        self.least, self.most = answer.min, answer.max
        self._orders.workers = {member.task: member for member in answer.workers}

    def _lost(self, why: Exception) -> None:
        _log.warning("the instance gives no orders any more: %s", why)
        self._link.drop()
        answer = self._link.come_back()
        if answer is not None:
            self._registered(answer)
        self._orders.lost(back=answer is not None)


def _of_hook(traceback: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that begins in a hook; the whole of it where no hook failed."""
    begin = traceback
    while begin is not None and str(begin.tb_frame.f_globals.get("__name__")).startswith(_LIBRARY):
        begin = begin.tb_next
    return begin or traceback
