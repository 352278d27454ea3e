"""The controller of companion jobs, where no Flux is needed: what becomes of orders, and of what is held."""

from __future__ import annotations

from typing import Any

import pytest

from broker_config.formats.jobid import f58
from broker_config.formats.jobspec import Companion, companion_of
from minicluster.flux_scheduler.companion_jobspec import companion, with_credentials
from minicluster.flux_scheduler.companions import CANCEL_DELAY
from minicluster.malleable import messages
from minicluster.malleable.credentials import Credentials
from queue_policies.orders.program import LEAVE, RETRY_DELAY
from tests.lead.played_flux import BASE, LIMIT, Scene
from tests.lead.scheduled import jobspec


def test_a_job_starts_at_its_least_size_and_grows_when_its_program_registers() -> None:
    """What the policy has given it is held meanwhile."""
    scene = Scene()
    assert (scene.size, scene.free) == (4, 12)
    *_, order = scene.register()
    assert order == messages.Grow(1, ("n0", "n0", "n0"), 4)
    scene.send(messages.Accept(1))
    assert [companion_of(spec) for spec, _ in scene.flux.submitted] == [(f58(BASE), n) for n in (1, 2, 3)]
    assert scene.claim(101, 1).offset == 1


def test_growth_is_noted() -> None:
    scene = Scene().grown()
    assert (scene.size, scene.free, scene.scheduling.running[BASE].heeds) == (4, 12, True)
    names = ",".join(map(f58, (101, 102, 103)))
    assert scene.flux.annotations == [{"workers": 4, "companions": names, "order": "1 done"}]


def test_a_job_shrinks_for_another_and_grows_again() -> None:
    """The other starts when the companions have ended."""
    scene = Scene().grown()
    scene.arrive(2, 20, 14)
    assert scene.decide() == {}
    assert scene.send(messages.Release(2, (2, 3))) == []
    scene.end(103)
    assert scene.decide() == {}
    scene.end(102)
    assert scene.decide() == {2: "0-3"}
    assert (scene.size, scene.free) == (2, 0)
    scene.end(2)
    scene.decide()
    assert scene.flux.sent["program"][-1] == messages.Grow(3, ("n0", "n0"), 4)


@pytest.mark.parametrize("answer", ["done", "refused"])
def test_an_order_is_shown_while_it_is_under_way(answer: str) -> None:
    scene = Scene().grown()
    assert scene.flux.marks == [{"workers": 1, "target": 4}, {"target": None}]
    scene.arrive(2, 20, 14)
    scene.decide()
    assert scene.flux.marks[2:] == [{"workers": 4, "target": 2}]
    if answer == "refused":
        scene.send(messages.Refuse(2, "not now"))
    else:
        scene.send(messages.Release(2, (2, 3)))
        scene.end(102)
        scene.end(103)
    assert scene.flux.marks[3:] == [{"target": None}]


def test_nothing_is_reserved_for_a_program_that_does_not_register() -> None:
    scene = Scene()
    scene.flux.move(LIMIT)
    assert (scene.size, scene.free) == (1, 15)
    assert scene.flux.annotations[0]["order"] == "0 expired: the program did not register in 60 s"


def test_what_was_reserved_is_free_when_the_program_refuses() -> None:
    """And for ten seconds it is given no other order."""
    scene = Scene()
    scene.register()
    scene.send(messages.Refuse(1, "too little left"))
    assert (scene.size, scene.free, scene.scheduling.running[BASE].heeds) == (1, 15, False)
    assert scene.flux.annotations[-1]["order"] == "1 refused: too little left"
    scene.flux.move(RETRY_DELAY)
    assert scene.scheduling.running[BASE].heeds


def test_a_companion_that_ends_before_it_has_joined_ends_the_others() -> None:
    """What was held is free once all of them have ended."""
    scene = Scene()
    scene.register()
    scene.send(messages.Accept(1))
    for task, (_, then) in enumerate(scene.flux.submitted[:2], 1):
        then(100 + task)
        scene.claim(100 + task, task)
    scene.end(101)
    assert (scene.flux.cancelled, scene.free) == ([101, 102], 12)
    scene.end(102)
    assert (scene.size, scene.free) == (1, 15)
    scene.flux.submitted[2][1](103)
    assert scene.flux.cancelled[-1] == 103  # it had no place yet
    assert isinstance(scene.companions.claim(103, Companion(f58(BASE), 3)), str)


def test_companions_that_do_not_join_in_time_are_ended() -> None:
    scene = Scene()
    scene.register()
    scene.send(messages.Accept(1))
    scene.claim(101, 1)  # it may ask before its submission was answered
    scene.flux.move(LIMIT)
    assert scene.flux.cancelled == [101]
    assert scene.free == 12
    scene.end(101)
    assert scene.free == 15


@pytest.mark.parametrize("what", ["submission", "jobspec"])
def test_companions_that_cannot_be_submitted_end_the_order(what: str) -> None:
    scene = Scene()
    if what == "jobspec":
        scene.flux.jobspec = None
    scene.register()
    scene.send(messages.Accept(1))
    if what == "submission":
        scene.flux.submitted[0][1]("no room for it")
    assert (scene.size, scene.free) == (1, 15)
    assert (
        what in scene.flux.annotations[-1]["order"] or "no room for it" in scene.flux.annotations[-1]["order"]
    )


def test_released_companions_that_stay_are_ended() -> None:
    scene = Scene().grown()
    scene.arrive(2, 20, 14)
    scene.decide()
    scene.send(messages.Release(2, (2, 3)))
    scene.end(102)
    assert scene.flux.cancelled == []
    scene.flux.move(LEAVE)
    assert scene.flux.cancelled == [103]


@pytest.mark.parametrize("task", [0, 1])
def test_the_first_tasks_never_leave(task: int) -> None:
    """Flux does not take a part of a job's resources back."""
    scene = Scene(2).grown()
    scene.arrive(2, 20, 14)
    scene.decide()
    (answer,) = scene.send(messages.Release(2, (task, 3)))
    assert isinstance(answer, messages.Error)
    scene.send(messages.Release(2, (2, 3)))
    scene.end(102)
    scene.end(103)
    assert scene.decide() == {2: "0-3"}


def test_companions_end_with_their_base_job() -> None:
    """After a moment for a farewell; what they hold stays theirs until they have ended."""
    scene = Scene().grown()
    scene.end(101)
    scene.end(BASE)
    assert (scene.free, scene.flux.cancelled) == (14, [])
    scene.flux.move(CANCEL_DELAY)
    assert scene.flux.cancelled == [102, 103]
    for job in (102, 103):
        scene.end(job)
    assert (scene.free, len(scene.scheduling.running)) == (16, 0)


def test_a_job_that_waits_starts_when_the_one_that_was_to_shrink_ends() -> None:
    scene = Scene().grown()
    scene.arrive(2, 20, 14)
    assert scene.decide() == {}
    for job in (101, 102, 103, BASE):
        scene.end(job)
    assert scene.decide() == {2: "0-3"}


def test_a_lost_connection_makes_the_job_rigid() -> None:
    scene = Scene().grown()
    scene.companions.closed("program")
    assert not scene.scheduling.running[BASE].heeds
    assert scene.size == 4


@pytest.mark.parametrize(
    "whose",
    [
        pytest.param(Companion(f58(BASE), 9), id="task"),
        pytest.param(Companion(f58(BASE), 1), id="taken"),
        pytest.param(Companion(f58(99), 1), id="base"),
    ],
)
def test_others_get_no_node(whose: Companion) -> None:
    scene = Scene().grown()
    assert scene.companions.claim(500, whose) == f"{whose.of} waits for no such companion"


def test_companions_from_before_a_reload_end_with_their_base_job() -> None:
    """One whose base job has ended meanwhile ends at once."""
    scene = Scene()
    scene.companions.adopt({201: f58(BASE), 202: f58(99)}, [BASE, 201, 202])
    assert scene.flux.cancelled == [202]
    scene.end(BASE)
    assert scene.flux.cancelled == [202, 201]


class TestJobspec:
    """What a companion is submitted with."""

    def base(self) -> dict[str, Any]:
        spec = jobspec(slots=4, limit=60, elastic={"min": 1, "max": 4, "malleable": True}, mine=1)
        system = {
            "cwd": "/here",
            "environment": {"A": "1"},
            "dependencies": [{"scheme": "after", "value": "f1"}],
            "shell": {"options": {"output": {"stdout": {"type": "file"}}, "mpi": "none"}},
        }
        spec["attributes"]["system"] |= system
        return dict(spec)

    def test_it_is_the_jobs_own_command_for_one_worker(self) -> None:
        made = companion(self.base(), Companion("ƒ1", 5), 3)
        assert made["tasks"] == self.base()["tasks"]
        assert made["resources"][0]["count"] == 1
        assert made["attributes"]["user"] == {"mine": 1, "companion_of": "ƒ1", "task": 5}
        assert companion_of(made) == Companion("ƒ1", 5)

    def test_it_has_an_order_and_no_files_of_its_base_job(self) -> None:
        base = self.base()
        system = companion(base, Companion("ƒ1", 5), 3)["attributes"]["system"]
        assert system["environment"] == {"A": "1", "MINICLUSTER_MALLEABLE_ORDER": "3"}
        assert system["shell"]["options"] == {"mpi": "none"}
        assert (system["duration"], system.keys() & {"dependencies"}) == (0, set())
        assert base == self.base()

    def test_credentials_are_in_r(self) -> None:
        """Where malleable.lua looks for them."""
        made = with_credentials({"version": 1}, Credentials("lead:1", "ƒ1", "secret", 5))
        assert made["attributes"]["user"]["malleable"] == Credentials("lead:1", "ƒ1", "secret", 5).text()
