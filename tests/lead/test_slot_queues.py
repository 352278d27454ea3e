"""The lead closes the queue of a slot whose ranks are gone, and no other."""

from __future__ import annotations

import errno
import time
from typing import Any

import pytest

from minicluster.broker_link.errors import RequestRefused
from minicluster.lead_server import slot_queues
from minicluster.lead_server.slot_queues import SlotQueues

CONFIG = {"minicluster": {"bursting": {"slots": ["burst-0", "burst-1"]}}}
R = {
    "version": 1,
    "execution": {
        "R_lite": [{"rank": "0-5", "children": {"core": "0"}}],
        "nodelist": ["mc-[0-1],burst-0-[0-1],burst-1-[0-1]"],
        "properties": {"local": "0-1", "burst": "2-5", "burst-0": "2-3", "burst-1": "4-5"},
    },
}
BACK = "it is started again once they are back and have been tried"


class Broker:
    """Its queues, and what stopped them."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        self.config = CONFIG if config is None else config
        self.started = {"burst-0": True, "burst-1": True}
        self.reasons: dict[str, str] = {}
        self.asked: list[str] = []
        self.refused = ""

    def rpc(self, topic: str, payload: dict[str, Any], _timeout: float) -> dict[str, Any]:
        self.asked.append(topic)
        if topic == self.refused:
            raise RequestRefused(topic, errno.ETIMEDOUT)
        if topic == "config.get":
            return self.config
        if topic == "resource.status":
            return {"R": R}
        name = payload["name"]
        if topic == "job-manager.queue-start":
            self.started[name], self.reasons[name] = payload["start"], payload["reason"]
        return {"start": self.started[name]}


def slots(broker: Any, *online: str) -> SlotQueues:
    """Return slots that have seen these ranks online, one after the other."""
    made = SlotQueues()
    made.follow(broker)
    for each in online:
        made.see(each)
    made.close_lost(broker)
    return made


@pytest.mark.parametrize(
    ("online", "reasons"),
    [
        pytest.param(["0-5"], {}, id="all are there"),
        pytest.param(["0-2,4"], {}, id="those that never came are not missed"),
        pytest.param(["0-5", "0-2,4-5"], {"burst-0": f"rank 3 is gone: {BACK}"}, id="one has left"),
        pytest.param(["0-5", "0-1,4-5"], {"burst-0": f"ranks 2-3 are gone: {BACK}"}, id="all have left"),
        pytest.param(["0-5", "0-1,4-5", "0-5"], {}, id="they are back before it was looked at"),
        pytest.param(["0-1,4"], {"burst-0": f"none of its nodes is there: {BACK}"}, id="none is there"),
        pytest.param(["0-5", "0,2-5"], {}, id="one of its own has left"),
    ],
)
def test_a_queue_whose_ranks_are_gone_is_closed(online: list[str], reasons: dict[str, str]) -> None:
    broker = Broker()
    slots(broker, *online)
    assert broker.reasons == reasons


def test_a_queue_that_is_stopped_stays_as_it_is() -> None:
    broker = Broker()
    broker.started["burst-0"] = False
    slots(broker, "0-5", "0-1,4-5")
    assert broker.reasons == {}


def test_queues_are_sampled_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker()
    broker.started["burst-0"] = False
    made = slots(broker, "0-1,4-5")
    broker.started["burst-0"], broker.asked = True, []
    made.close_lost(broker)
    assert broker.asked == []
    later = time.monotonic() + slot_queues.INTERVAL
    monkeypatch.setattr(time, "monotonic", lambda: later)
    made.close_lost(broker)
    assert broker.reasons == {"burst-0": f"none of its nodes is there: {BACK}"}


def test_one_that_is_started_again_is_closed_by_the_next_loss_only() -> None:
    broker = Broker()
    made = slots(broker, "0-5", "0-2,4-5")
    broker.started["burst-0"], broker.reasons = True, {}
    made.close_lost(broker)
    assert broker.reasons == {}
    made.see("0-1,4-5")
    made.close_lost(broker)
    assert broker.reasons == {"burst-0": f"rank 2 is gone: {BACK}"}


def test_what_was_refused_is_tried_again() -> None:
    broker = Broker()
    made = slots(broker, "0-5")
    made.see("0-1,4-5")
    broker.refused = "job-manager.queue-start"
    made.close_lost(broker)
    assert (made.lost, broker.reasons) == (True, {})
    broker.refused = ""
    made.close_lost(broker)
    assert (made.lost, list(broker.reasons)) == (False, ["burst-0"])


@pytest.mark.parametrize("config", [{}, {"queues": {"burst-0": {}}}])
def test_where_bursts_are_not_managed_nothing_is_asked(config: dict[str, Any]) -> None:
    broker = Broker(config)
    made = slots(broker, "0-5", "0-1")
    assert (broker.asked, made.lost) == (["config.get"], False)
