"""Companions that end while no order is under way: their slots are free, and their program learns it."""

from __future__ import annotations

from broker_config.formats.jobid import f58
from minicluster.malleable import messages
from queue_policies.orders.program import LEAVE
from tests.lead.played_flux import BASE, Scene


def test_a_lost_companion_is_counted_out_and_its_slot_is_free() -> None:
    scene = Scene().grown()
    scene.flux.sent["program"] = []
    scene.end(103)
    assert (scene.size, scene.free) == (4, 12)  # the program may be about to end
    scene.flux.move(LEAVE)
    assert (scene.size, scene.free, scene.scheduling.running[BASE].heeds) == (3, 13, True)
    assert scene.flux.sent["program"] == [messages.Released(0, (3,))]
    names = ",".join(map(f58, (101, 102)))
    note = {"workers": 3, "companions": names, "order": f"1 done, then lost {f58(103)}"}
    assert scene.flux.annotations[-1] == note


def test_one_that_is_lost_meanwhile_is_counted_out_when_the_order_is_over() -> None:
    """The order to shrink is for the others, and the job that waits begins with what was promised."""
    scene = Scene().grown()
    scene.arrive(2, 20, 13)
    scene.decide()
    scene.end(103)
    assert (scene.size, scene.free) == (4, 0)
    scene.send(messages.Release(2, (2,)))
    scene.end(102)
    assert scene.flux.sent["program"][-2:] == [messages.Released(2), messages.Released(0, (3,))]
    assert scene.decide() == {2: "0-3"}
    assert scene.size == 2
    assert scene.flux.sent["program"][-1] == messages.Grow(3, ("n0",), 3)  # into what the lost one held


def test_one_that_is_lost_before_a_refusal_is_counted_out_after_it() -> None:
    scene = Scene().grown()
    scene.arrive(2, 20, 13)
    scene.decide()
    scene.end(103)
    scene.send(messages.Refuse(2, "not now"))
    assert (scene.size, scene.free) == (3, 13)


def test_a_lost_companion_of_a_program_without_connection_is_counted_out() -> None:
    scene = Scene().grown()
    scene.companions.closed("program")
    scene.end(102)
    scene.flux.move(LEAVE)
    assert (scene.size, scene.free) == (3, 13)


def test_the_job_grows_again_under_new_numbers() -> None:
    scene = Scene().grown()
    scene.end(103)
    scene.flux.move(LEAVE)
    scene.flux.submitted.clear()
    scene.decide()
    assert scene.flux.sent["program"][-1] == messages.Grow(2, ("n0",), 4)
    scene.send(messages.Accept(2))
    assert [spec["attributes"]["user"]["task"] for spec, _ in scene.flux.submitted] == [4]
    scene.claim(104, 4)
    scene.join(4, 2)
    scene.send(messages.Done(2))
    assert (scene.size, scene.free) == (4, 12)


def test_companions_that_end_before_their_job_are_not_lost() -> None:
    """A program that ends sends its workers away first."""
    scene = Scene().grown()
    for job in (101, 102, 103, BASE):
        scene.end(job)
    scene.flux.move(LEAVE)
    assert len(scene.flux.annotations) == 1
    assert (scene.free, len(scene.scheduling.running)) == (16, 0)
