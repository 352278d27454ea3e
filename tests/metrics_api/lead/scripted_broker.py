"""A broker with a test's jobs, links to it, and a clock that stands still."""

from __future__ import annotations

import contextlib
import queue
import threading
from typing import Any

from minicluster.broker_link.errors import Refused
from tests.metrics_api.lead.test_ledger import jobspec

NODES = {
    "version": 1,
    "execution": {"R_lite": [{"rank": "0-3", "children": {"core": "0-3"}}], "nodelist": ["mc-[0-3]"]},
}


class Broker:
    """Four nodes and some jobs; each link gets the journal's history from `jobs`."""

    def __init__(self) -> None:
        self.jobs: dict[int, int] = {}  # id → nodes that it waits for
        self.counted: int | None = None  # the counts, where they are wrong
        self.links: list[Link] = []
        self.drains: dict[str, Any] = {}
        self.fails: Exception | None = None
        self.answers = threading.Event()
        self.answers.set()

    def connect(self) -> Link:
        if self.fails is not None:
            raise self.fails
        self.links.append(Link(self))
        return self.links[-1]

    def submit(self, jobid: int, nodes: int, announce: bool = True) -> None:
        self.jobs[jobid] = nodes
        if announce:
            self.links[-1].push(message(jobid, nodes))

    def answer(self, topic: str) -> dict[str, Any]:
        pending = len(self.jobs) if self.counted is None else self.counted
        return {
            "resource.status": {"R": NODES, "online": "0-1", "drain": self.drains, "exclude": ""},
            "job-list.job-stats": {"job_states": {"sched": pending, "run": 0, "inactive": 3}, "queues": []},
            "job-manager.queue-list": {"queues": []},
            "job-manager.queue-status": {"enable": True, "start": True},
        }[topic]


def message(jobid: int, nodes: int) -> dict[str, Any]:
    events = [
        {"timestamp": 1.0, "name": name, "context": {"userid": 0, "priority": 16}}
        for name in ("submit", "priority")
    ]
    return {"id": jobid, "events": events, "jobspec": jobspec(nodes=nodes, cores=4)}


class Link:
    """See `minicluster.broker_link.link.LeadLink`."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.log_text: queue.Queue[Any] = queue.Queue()
        self.callback: Any = None
        self.state_callback: Any = None
        self.request: dict[str, Any] = {}
        self.dispatched = 0

    def stream(self, topic: str, payload: dict[str, Any], callback: Any) -> int:
        if topic == "state-machine.monitor":
            self.state_callback = callback
            return 2
        self.callback, self.request = callback, payload
        for jobid, nodes in self.broker.jobs.items():
            self.push(message(jobid, nodes))
        self.push({"id": -1, "events": []})
        return 1

    def push(self, found: Any) -> None:
        self.log_text.put(found)

    def rpc(self, topic: str, _payload: dict[str, Any], timeout: float) -> dict[str, Any]:
        if not self.broker.answers.wait(timeout):
            raise Refused(110, "timed out")
        return self.broker.answer(topic)

    def dispatch(self, timeout: float) -> None:
        self.dispatched += 1
        with contextlib.suppress(queue.Empty):
            self._hand_out(self.log_text.get(timeout=timeout))
            while True:
                self._hand_out(self.log_text.get_nowait())

    def _hand_out(self, found: Any) -> None:
        if isinstance(found, dict) and "state" in found:
            self.state_callback(found, None)
        elif isinstance(found, Refused):
            self.callback(None, found)
        elif found is not None:
            self.callback(found, None)

    def wake(self) -> None:
        self.log_text.put(None)

    def close(self) -> None:
        """Nothing to close."""


class Clock:
    """Stands still unless it is put forward."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
