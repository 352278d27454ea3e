"""What a look at the instance gives, from answers as both engines give them."""

from __future__ import annotations

from typing import Any

import pytest

from broker_config.formats.drain_reasons import SHRINKING
from metrics_api.lead.poll import QueuePoller
from metrics_api.numbers.records import NodeState

R = {
    "version": 1,
    "execution": {
        "R_lite": [
            {"rank": "1-2", "children": {"core": "0-3", "gpu": "0"}},
            {"rank": "0", "children": {"core": "0-1"}},
        ],
        "nodelist": ["mc-[0-1],other"],
        "properties": {"big": "1-2"},
    },
}


class Link:
    """Answers from a table."""

    def __init__(self, **more: Any) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.answers: dict[str, Any] = {
            "resource.status": {"R": R, "online": "0-1", "drain": {}, "exclude": ""},
            "job-list.job-stats": {"job_states": {"sched": 3}, "queues": []},
            "job-manager.queue-list": {"queues": []},
            "job-manager.queue-status": {"enable": True, "start": True},
            **more,
        }

    def rpc(self, topic: str, payload: Any, _timeout: float) -> Any:
        self.asked.append((topic, payload))
        found = self.answers[topic]
        return found(payload) if callable(found) else found


def polled(**more: Any) -> Any:
    return QueuePoller(Link(**more)).poll()  # type: ignore[arg-type]


def status(**more: Any) -> dict[str, Any]:
    return {"resource.status": {"R": R, "online": "0-2", "drain": {}, "exclude": "", **more}}


def test_nodes_are_in_the_order_of_their_ranks() -> None:
    big = frozenset({"big"})
    assert polled().nodes == (
        NodeState(0, "mc-0", 2),
        NodeState(1, "mc-1", 4, 1, big),
        NodeState(2, "other", 4, 1, big, up=False),
    )


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        pytest.param({"drain": {"1-2": {"reason": "bad disk"}}}, [(1, False), (2, False)], id="by-hand"),
        pytest.param({"drain": {"2": {"reason": ""}}}, [(2, False)], id="no-reason"),
        pytest.param({"drain": {"2": {}}}, [(2, False)], id="no-reason-at-all"),
        pytest.param({"drain": {"2": {"reason": f"{SHRINKING} to 2"}}}, [(2, True)], id="for-a-shrink"),
        pytest.param({"exclude": "0"}, [(0, False)], id="excluded"),
    ],
)
def test_drained_nodes(more: dict[str, Any], wanted: list[tuple[int, bool]]) -> None:
    """Those that the operator takes back are known by their reason."""
    found = polled(**status(**more)).nodes
    assert [(node.rank, node.leaving) for node in found if node.drained] == wanted


def test_one_queue_that_is_stopped() -> None:
    assert polled(**{"job-manager.queue-status": {"enable": True, "start": False}}).stopped == {"default"}


def test_named_queues_that_are_stopped() -> None:
    found = polled(
        **{
            "job-manager.queue-list": {"queues": ["batch", "debug"]},
            "job-manager.queue-status": lambda payload: {"start": payload["name"] == "batch"},
            "job-list.job-stats": {
                "job_states": {"sched": 3, "total": 3},
                "queues": [
                    {"name": "batch", "job_states": {"sched": 3}},
                    {"name": "debug", "job_states": {}},
                ],
            },
        }
    )
    assert found.stopped == {"debug"}
    assert found.counts.queues == {"batch": {"sched": 3}, "debug": {}}


def test_jobs_are_not_listed() -> None:
    """Four requests a sample, whatever there is."""
    link = Link()
    QueuePoller(link).poll()  # type: ignore[arg-type]
    assert [topic for topic, _ in link.asked] == [
        "resource.status",
        "job-list.job-stats",
        "job-manager.queue-list",
        "job-manager.queue-status",
    ]
