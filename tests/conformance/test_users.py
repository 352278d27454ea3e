"""Users of one instance: what real Flux 0.88 answers them over its owner's connection, by each adapter.

The embedded instance runs all jobs as its owner, and says so.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.broker_link.users import ONE_USER
from minicluster.instance.errors import InstanceError, NotAllowed
from minicluster.instance.records import JobFilter, JobState
from tests.conformance.cases import Experiment
from tests.conformance.conftest import OF_FLUX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minicluster.instance.port import Instance
    from tests.conformance.laboratory import Laboratory

ALICE, BOB = 7001, 7002
PRIVATE = "private-mode = true"
ON_FLUX = pytest.mark.parametrize("engine", OF_FLUX, indirect=True, scope="session")
ROUNDS = 200


class TwoUsers:
    """The owner's instance with a job that runs, and the view of a user who has none."""

    def __init__(self, owner: Instance, job: int) -> None:
        self.owner = owner
        self.job = job
        self.alice = owner.as_user(ALICE)

    def answer_to(self, act: Callable[[Instance, int], object]) -> Any:
        """What Alice gets: what is returned, or the kind of the error and its words."""
        try:
            return act(self.alice, self.job)
        except InstanceError as error:
            return [type(error).__name__, str(error).replace(str(self.job), "<job>")]


@pytest.fixture(scope="module")
def two_users(laboratories: Callable[..., Laboratory]) -> Iterator[TwoUsers]:
    """An instance whose users see their own jobs alone."""
    lab = laboratories("", PRIVATE)
    lab.start()
    with Experiment.on(lab) as experiment:
        yield TwoUsers(experiment.instance, experiment.running("owners"))
        experiment.clean_up()
    lab.stop()


def test_an_instance_that_keeps_no_users_apart_reports_why(engine: str, lab: Laboratory) -> None:
    """Nothing is ever asked as the owner instead."""
    lacking = "the configuration of the instance lacks access.private-mode = true"
    words = lacking if engine in OF_FLUX else ONE_USER
    with lab.connect() as instance, pytest.raises(NotAllowed) as refusal:
        instance.as_user(ALICE)
    assert refusal.value.text == words


@pytest.mark.parametrize("engine", ["embedded", "relay", "lead"], indirect=True, scope="session")
def test_the_embedded_instance_refuses_a_request_of_a_user(lab: Laboratory) -> None:
    with lab.connect() as instance, instance.links.borrowed() as link:
        with pytest.raises(NotAllowed, match="runs all jobs as one user"):
            link.rpc("job-list.job-stats", {}, user=ALICE)
        with pytest.raises(NotAllowed, match="runs all jobs as one user"):
            link.stream("job-manager.events-journal", {}, print, ALICE)


NOT_FOUND = ["JobNotFound", "job <job>: this instance has no such job"]
OTHERS_RECORDS = ["NotAllowed", "job-info.lookup: access is restricted to job/instance owner"]


def for_the_owner(topic: str) -> list[str]:
    return ["NotAllowed", f"{topic}: Request requires owner credentials"]


ANSWERS: dict[str, tuple[Callable[[Instance, int], object], Any]] = {
    "find": (lambda view, _: view.jobs.find(), []),
    "find others": (lambda view, _: view.jobs.find(JobFilter(states=JobState.ACTIVE)), []),
    "get": (lambda view, job: view.jobs.get(job), NOT_FOUND),
    "wait": (lambda view, job: view.jobs.wait(job, 5), NOT_FOUND),
    "why": (lambda view, job: view.overview.why(job), NOT_FOUND),
    "jobspec": (lambda view, job: view.jobs.jobspec(job), OTHERS_RECORDS),
    "events": (lambda view, job: view.jobs.events(job), OTHERS_RECORDS),
    "events followed": (lambda view, job: view.jobs.events(job, follow=True), OTHERS_RECORDS),
    "output": (lambda view, job: view.jobs.output(job), OTHERS_RECORDS),
    "output followed": (lambda view, job: view.jobs.output(job, follow=True), OTHERS_RECORDS),
    "many attributes": (lambda view, job: view.overview.attributes([job]), {}),
    "eventlog watched": (
        lambda view, job: next(
            view.links.stream("job-info.eventlog-watch", {"id": job, "path": "eventlog", "flags": 0})
        ),
        ["NotAllowed", "job-info.eventlog-watch: Operation not permitted"],
    ),
    "journal": (
        lambda view, _: list(view.jobs.events(follow=True)), for_the_owner("job-manager.events-journal"),
    ),
    "changes": (lambda view, _: list(view.overview.changes()), for_the_owner("job-manager.events-journal")),
    "cancel": (
        lambda view, job: view.jobs.cancel(job),
        ["NotAllowed", "job-manager.raise: guests can only raise exceptions on their own jobs"],
    ),
    "cancel what is not there": (
        lambda view, _: view.jobs.cancel(5), ["JobNotFound", "job 5: this instance has no such job"],
    ),
    "cancel all": (lambda view, _: view.jobs.cancel_all(), 0),
    "kill": (
        lambda view, job: view.jobs.kill(job, 9),
        ["NotAllowed", "job-manager.kill: guests may only send signals to their own jobs"],
    ),
    "urgency": (
        lambda view, job: view.jobs.set_urgency(job, 0),
        ["NotAllowed", "job-manager.urgency: guests can only reprioritize their own jobs"],
    ),
    "resize": (
        lambda view, job: view.jobs.resize(job, 2), NOT_FOUND,
    ),
    "stats": (
        lambda view, _: view.queues.stats(), ["NotAllowed", "job-list.job-stats: Operation not permitted"],
    ),
    "queues": (lambda view, _: [each.started for each in view.queues.all()], [True]),
    "queue stopped": (lambda view, _: view.queues.stop(), for_the_owner("job-manager.queue-start")),
    "queue started": (lambda view, _: view.queues.start(), for_the_owner("job-manager.queue-start")),
    "idle": (lambda view, _: view.queues.wait_idle(5), for_the_owner("job-manager.idle")),
    "resources": (lambda view, _: view.nodes.resources().up.nodes, 2),
    "brokers": (lambda view, _: [each.host for each in view.nodes.brokers()], ["mc-0", "mc-1"]),
    "drain": (lambda view, _: view.nodes.drain("1"), for_the_owner("resource.drain")),
    "undrain": (lambda view, _: view.nodes.undrain("1"), for_the_owner("resource.undrain")),
}  # fmt: skip


@ON_FLUX
@pytest.mark.parametrize("act", ANSWERS)
def test_what_a_user_is_answered(act: str, two_users: TwoUsers) -> None:
    call, answer = ANSWERS[act]
    assert two_users.answer_to(call) == answer
    assert two_users.owner.jobs.get(two_users.job).state is JobState.RUN


OWNERS = {
    "dump": (lambda view, _: view.life.dump("/nonexistent"), "only the instance's owner may save its data"),
    "shutdown": (lambda view, _: view.life.shutdown(), "Request requires owner credentials"),
    "as_user": (lambda view, _: view.as_user(BOB), "uid 7001 cannot ask for uid 7002"),
}


@ON_FLUX
@pytest.mark.parametrize("act", OWNERS)
def test_what_is_the_owners_alone(act: str, engine: str, two_users: TwoUsers) -> None:
    call, words = OWNERS[act]
    kind, refusal = two_users.answer_to(call)
    if engine == "lead-handle" and act == "shutdown":
        words = "a token for jobs is not good for shutdown.start"
    assert (kind, refusal.partition(": ")[2]) == ("NotAllowed", words)


@ON_FLUX
def test_who_owns_the_instance_is_no_other_user(two_users: TwoUsers) -> None:
    """Here it is root, and root is nobody's user anywhere."""
    with pytest.raises(NotAllowed, match="as_user: uid 0 is root's"):
        two_users.owner.as_user(0)


@ON_FLUX
def test_owner_and_users_ask_at_the_same_time_and_none_is_taken_for_another(two_users: TwoUsers) -> None:
    """Over one connection, in two threads, whose requests alternate."""
    wrong: list[str] = []

    def ask(first: int) -> None:
        for number in range(first, first + ROUNDS):
            if number % 2:
                owners = [job.id for job in two_users.owner.jobs.find()]
                wrong.extend([f"the owner is shown {owners}"] * (two_users.job not in owners))
            elif number % 4:
                alices = two_users.alice.jobs.find()
                wrong.extend([f"a user is shown {alices}"] * bool(alices))
            else:
                stats = two_users.answer_to(lambda view, _: view.queues.stats())
                wrong.extend([f"a user is answered {stats}"] * (stats[:1] != ["NotAllowed"]))

    threads = [threading.Thread(target=ask, args=(first,)) for first in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@ON_FLUX
def test_a_stream_of_the_owners_goes_on_while_users_ask(two_users: TwoUsers) -> None:
    owner, alice = two_users.owner, two_users.alice
    with owner.overview.changes() as changes:
        found = next(iter(changes))
        for _ in range(20):
            two_users.answer_to(lambda view, job: view.jobs.cancel(job))
            assert alice.jobs.find() == []
        jobs = (each.job for each in itertools.chain([found], changes) if each.job)
        assert next(job.state for job in jobs if job.id == two_users.job) is JobState.RUN
