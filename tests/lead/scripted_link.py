"""A broker's answers as a test writes them, and a status poller that reads them."""

from __future__ import annotations

import errno
import queue
from typing import TYPE_CHECKING, Any, TypeVar

from minicluster.broker_link.errors import Refused
from minicluster.lead_server.status_poller import Follower
from minicluster.lead_server.status_snapshot import StatusSnapshot
from minicluster.save_restore.state_files import StateFiles
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


def _answered(answer: T | Exception) -> T:
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
        self.callbacks: dict[str, Callable[..., None]] = {}
        self.cancelled: list[int] = []
        self.events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.closed = 0

    def stream(self, topic: str, _payload: object, callback: Callable[..., None]) -> int:
        self.callbacks[topic] = callback
        return len(self.callbacks)

    def cancel(self, number: int) -> None:
        self.cancelled.append(number)

    def rpc(self, topic: str, payload: dict[str, Any], _timeout: float) -> dict[str, Any]:
        if topic == "attr.get":
            return {"value": ATTRIBUTES[payload["name"]]}
        answer = self.answers.get(topic, Refused(errno.ENOSYS, "No service matching"))
        return dict(_answered(answer))

    def dispatch(self, timeout: float) -> None:
        try:
            self.events.get(timeout=timeout)()
        except queue.Empty:
            return

    def wake(self) -> None:
        self.events.put(lambda: None)

    def queue_policy(self) -> str:
        return _answered(self.policy)

    def rejected_peers(self) -> list[str]:
        return _answered(self.away)

    def close(self) -> None:
        self.closed += 1

    def push(self, what: str, answer: dict[str, Any]) -> None:
        """The broker sends an answer of a stream."""
        self.events.put(lambda: self.callbacks[TOPICS[what]](answer, None))

    def breaks(self, error: Exception) -> None:
        """The next wait for answers fails."""

        def fail() -> None:
            raise error

        self.events.put(fail)


class Following:
    """A status poller of scripts, one for each link."""

    def __init__(self, directory: Path, *, starts_queues: bool = False) -> None:
        self.links = [Script()]
        self.state_files = StateFiles(str(directory), starts_queues=starts_queues)
        self.connections = 0
        self.broken: list[Exception] = []
        self.snapshot = StatusSnapshot(lambda: self.follower.wake())  # noqa: PLW0108 - it is made below
        self.follower = Follower(
            self.snapshot, self.connect, self.broken.append, self.state_files, main_job=True
        )

    def connect(self) -> Script:
        if self.connections:
            self.links.append(Script())
        self.connections += 1
        return self.links[-1]

    @property
    def link(self) -> Script:
        return self.links[-1]

    def status(self) -> dict[str, Any]:
        return dict(until(self.snapshot.read, "a status"))

    def works(self) -> None:
        """Begin the initial program: from now on the poller follows jobs."""
        self.status()
        self.link.push("state", {"state": 5})
        until(lambda: TOPICS["jobs"] in self.link.callbacks, "a journal")

    def until(self, **wanted: object) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            status = self.status()
            return status if all(status[key] == value for key, value in wanted.items()) else None

        return dict(until(found, f"{wanted}"))
