"""A broker's answers as a test writes them, and a follower of them."""

from __future__ import annotations

import errno
import queue
from typing import TYPE_CHECKING, Any, TypeVar

from minicluster.broker_link.errors import Refused
from minicluster.lead_server.status_poller import Follower
from minicluster.lead_server.status_snapshot import Board
from minicluster.save_restore.state_files import Notes
from tests.lead.client import until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

ATTRIBUTES = {"version": "0.88.0", "size": "4", "hostlist": "mc-[0-3]"}
TOPICS = {"online": "groups.get", "state": "state-machine.monitor", "jobs": "job-manager.events-journal"}
STARTED = {"enable": True, "start": True}
STOPPED = {"enable": True, "start": False}
FULL = {**STOPPED, "stop_reason": "the disk is full"}


def resources(down: Sequence[str] = (), allocated: Sequence[str] = ()) -> dict[str, Any]:
    """The scheduler's answer: each part as an R."""
    parts = {"down": down, "allocated": allocated}
    return {
        name: {"execution": {"R_lite": [{"rank": rank} for rank in ranks]}} for name, ranks in parts.items()
    }


T = TypeVar("T")


def _said(answer: T | Exception) -> T:
    if isinstance(answer, Exception):
        raise answer
    return answer


class Script:
    """A link whose answers are written here."""

    engine = "script"

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {
            "resource.status": {"drain": {}},
            "sched.resource-status": resources(),
            "overlay.health": {"children": []},
        }
        self.policy: str | Exception = "minicluster/easy"
        self.away: list[str] | Exception = []
        self.takers: dict[str, Callable[..., None]] = {}
        self.cancelled: list[int] = []
        self.events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.closed = 0

    def stream(self, topic: str, _payload: object, taker: Callable[..., None]) -> int:
        self.takers[topic] = taker
        return len(self.takers)

    def cancel(self, number: int) -> None:
        self.cancelled.append(number)

    def rpc(self, topic: str, payload: dict[str, Any], _timeout: float) -> dict[str, Any]:
        if topic == "attr.get":
            return {"value": ATTRIBUTES[payload["name"]]}
        answer = self.answers.get(topic, Refused(errno.ENOSYS, "No service matching"))
        return dict(_said(answer))

    def dispatch(self, timeout: float) -> None:
        try:
            self.events.get(timeout=timeout)()
        except queue.Empty:
            return

    def wake(self) -> None:
        self.events.put(lambda: None)

    def queue_policy(self) -> str:
        return _said(self.policy)

    def turned_away(self) -> list[str]:
        return _said(self.away)

    def close(self) -> None:
        self.closed += 1

    def push(self, what: str, answer: dict[str, Any]) -> None:
        """The broker sends an answer of a stream."""
        self.events.put(lambda: self.takers[TOPICS[what]](answer, None))

    def breaks(self, error: Exception) -> None:
        """The next wait for answers fails."""

        def fail() -> None:
            raise error

        self.events.put(fail)


class Following:
    """A follower of scripts, one a link."""

    def __init__(self, directory: Path) -> None:
        self.links = [Script()]
        self.notes = Notes(str(directory))
        self.connections = 0
        self.told: list[Exception] = []
        self.board = Board(lambda: self.follower.wake())  # noqa: PLW0108 - it is made below
        self.follower = Follower(self.board, self.connect, self.told.append, self.notes, main_job=True)

    def connect(self) -> Script:
        if self.connections:
            self.links.append(Script())
        self.connections += 1
        return self.links[-1]

    @property
    def link(self) -> Script:
        return self.links[-1]

    def status(self) -> dict[str, Any]:
        return dict(until(self.board.read, "a status"))

    def works(self) -> None:
        """The initial program has begun: jobs are listened for."""
        self.status()
        self.link.push("state", {"state": 5})
        until(lambda: TOPICS["jobs"] in self.link.takers, "a journal")

    def until(self, **wanted: object) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            status = self.status()
            return status if all(status[key] == value for key, value in wanted.items()) else None

        return dict(until(found, f"{wanted}"))
