"""Orders by hand in our scheduler for real Flux, where no Flux is needed."""

from __future__ import annotations

import errno
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.flux_scheduler import resize_request
from minicluster.flux_scheduler.errors import WrongArgument
from minicluster.malleable import messages
from queue_policies.errors import OrderRefused
from queue_policies.orders.program import BY_HAND_DELAY
from tests.lead.test_companion_orders import BASE, LIMIT, Scene

if TYPE_CHECKING:
    from collections.abc import Callable


class Desk:
    """A scene's module, and the answers to requests."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.answers: list[Any] = []

    def ask(self, workers: int, *, job: int = BASE, wait: bool = True) -> list[Any]:
        """Ask for a size; what has been answered so far."""
        asked = resize_request.parse({"id": job, "workers": workers, "wait": wait})
        resize = partial(resize_request.order, self.scene.scheduling, self.scene.companions)
        resize_request.serve(asked, resize, self.answers.append, lambda *error: self.answers.append(error))
        return self.answers


@pytest.fixture
def grown() -> Desk:
    """A job with its three companions, before a policy without a gap."""
    return Desk(Scene().grown())


def test_a_job_shrinks_and_the_policy_leaves_it_alone(grown: Desk) -> None:
    scene = grown.scene
    assert grown.ask(2) == []
    assert scene.flux.sent["program"][-1] == messages.Shrink(2, 2, 2)
    scene.send(messages.Release(2, (2, 3)))
    scene.end(103)
    scene.end(102)
    scene.decide()
    assert (grown.answers, scene.size, scene.free) == ([{"before": 4}], 2, 14)
    scene.flux.move(BY_HAND_DELAY)
    scene.decide()
    assert scene.flux.sent["program"][-1] == messages.Grow(3, ("n0", "n0"), 4)


def test_a_job_grows_by_companions(grown: Desk) -> None:
    scene = grown.scene
    grown.ask(3)
    scene.send(messages.Release(2, (3,)))
    scene.end(103)
    grown.ask(4)
    scene.send(messages.Accept(3))
    assert [spec["attributes"]["user"]["task"] for spec, _ in scene.flux.submitted[3:]] == [4]
    scene.flux.submitted[-1][1](104)
    scene.claim(104, 4)
    scene.join(4, 3)
    scene.send(messages.Done(3))
    assert (grown.answers, scene.size) == ([{"before": 4}, {"before": 3}], 4)


def test_the_size_that_it_has_is_no_order(grown: Desk) -> None:
    assert grown.ask(4) == [{"before": 4}]


def test_who_does_not_wait_is_answered_at_once_and_once(grown: Desk) -> None:
    assert grown.ask(2, wait=False) == [{"before": 4}]
    grown.scene.send(messages.Refuse(2, "no"))
    assert grown.answers == [{"before": 4}]


def _refuses(scene: Scene) -> None:
    scene.send(messages.Refuse(2, "amid a step"))


def _is_late(scene: Scene) -> None:
    scene.flux.move(LIMIT)


def _ends(scene: Scene) -> None:
    scene.end(BASE)


@pytest.mark.parametrize(
    ("happens", "message"),
    [
        (_refuses, "refused: amid a step"),
        (_is_late, "expired: no answer in 60 s"),
        (_ends, "the job has ended"),
    ],
)
def test_an_order_that_comes_to_nothing(grown: Desk, happens: Callable[[Scene], None], message: str) -> None:
    grown.ask(2)
    happens(grown.scene)
    assert grown.answers == [(errno.ECANCELED, message)]


def test_a_program_that_has_gone_takes_no_orders(grown: Desk) -> None:
    grown.scene.companions.closed("program")
    with pytest.raises(OrderRefused, match="takes no orders: its program has closed or lost its connection"):
        grown.ask(2)


def test_a_program_that_has_not_registered_yet_is_tried_again(grown: Desk) -> None:
    with pytest.raises(OrderRefused, match="takes no orders: its program has not registered yet: try again"):
        resize_request.order(grown.scene.scheduling, None, BASE, 2, lambda _failure: None)


def test_the_first_workers_stay() -> None:
    desk = Desk(Scene(2).grown())
    with pytest.raises(OrderRefused, match="runs with 2 to 4 workers here, not with 1"):
        desk.ask(1)


def test_growth_that_the_policy_has_given_comes_first() -> None:
    with pytest.raises(OrderRefused, match="has another order under way"):
        Desk(Scene()).ask(2)


def test_a_job_for_which_others_shrink_is_not_running(grown: Desk) -> None:
    grown.scene.arrive(2, 20, 14)
    grown.scene.decide()
    assert grown.scene.scheduling.running[2].waits
    with pytest.raises(OrderRefused, match="is not running"):
        grown.ask(2, job=2)


def test_other_jobs(grown: Desk) -> None:
    """One that waits, one that is not there, and a rigid one."""
    scene = grown.scene
    scene.arrive(2, 16, 13)
    scene.arrive(3, 20, 1)
    for job in (2, 99):
        with pytest.raises(OrderRefused, match="is not running"):
            grown.ask(2, job=job)
    scene.decide()
    with pytest.raises(OrderRefused, match="is not malleable"):
        grown.ask(2, job=3)


@pytest.mark.parametrize(
    "asked",
    [[], {}, {"id": 1, "workers": 2}, {"id": 1, "workers": True, "wait": True}, {"id": "ƒ1", "workers": 2}],
)
def test_a_request_that_is_none(asked: Any) -> None:
    with pytest.raises(
        WrongArgument, match=r'is no order: \{"id": 123, "workers": 2, "wait": true\} is right'
    ):
        resize_request.parse(asked)
