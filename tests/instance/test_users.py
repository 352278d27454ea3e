"""Views of an instance as its users see it: every line that such a view sends names the user."""

from __future__ import annotations

import contextlib
import errno
import json
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.errors import InstanceError, InstanceGone, NotAllowed, SubmitRefused
from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.records import JobRequest
from minicluster.instance.rpc_instance import RpcInstance

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from minicluster.instance.port import Instance

ALICE = 7001
FLUX = {"engine": "flux", "users": True}
ONE_USER = "this instance runs all jobs as one user, its owner: nothing is asked of it for anybody else"
TOO_OLD = "what answers beside its broker is of a release without users, and would ask as the owner"


class Far:
    """A channel whose other end is the test. It lets users in, and refuses or ends all else at once."""

    def __init__(self, refusal: str = "", **greeting: Any) -> None:
        self.requests: list[dict[str, Any]] = []
        self._refusal = refusal
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._lines.put(json.dumps(greeting).encode())

    def write(self, data: bytes) -> None:
        request = json.loads(data)
        self.requests.append(request)
        answer: dict[str, Any] = {"errnum": errno.EPERM, "errstr": "access is restricted to its owner"}
        if request.get("stream"):
            answer = {"errnum": errno.ENODATA, "errstr": ""}
        if request["topic"] == "helper.check-user":
            answer = {"payload": {"refusal": self._refusal}}
        self._lines.put(json.dumps({"id": request["id"], **answer}).encode())

    def lines(self) -> Generator[bytes]:
        while (line := self._lines.get()) is not None:
            yield line

    def how_ended(self) -> str:
        return "it is over"

    def close(self) -> None:
        self._lines.put(None)


def connected(far: Far) -> RpcInstance:
    return RpcInstance(LinesEndpoint("far", far))


@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        pytest.param({"engine": "flux"}, TOO_OLD, id="a release without users"),
        pytest.param({"engine": "flux", "users": False}, TOO_OLD, id="no users"),
        pytest.param({"engine": "flux", "users": "yes"}, TOO_OLD, id="another word"),
        pytest.param({"engine": "embedded"}, ONE_USER, id="the embedded instance"),
    ],
)
def test_who_does_not_greet_with_users_is_asked_nothing(greeting: dict[str, Any], words: str) -> None:
    """What does not know the word would take a user's request for the owner's."""
    far = Far(**greeting)
    with connected(far) as instance:
        with pytest.raises(NotAllowed) as refusal:
            instance.as_user(ALICE)
        with instance.links.borrowed() as link, pytest.raises(NotAllowed) as second:
            link.rpc("job-list.job-stats", {}, user=ALICE)
    assert (str(refusal.value), second.value.text, far.requests) == (f"as_user: {words}", words, [])


@pytest.mark.parametrize(
    ("uid", "words"),
    [
        (0, "uid 0 is root's, for whom nothing is asked"),
        (-1, "-1 is no uid; right would be 1 to 4294967294"),
        (0xFFFFFFFF, "4294967295 is no uid; right would be 1 to 4294967294"),
        (True, "True is no uid, which is a number"),
        ("7001", "'7001' is no uid, which is a number"),
        (None, "None is no uid, which is a number"),
    ],
)
def test_what_is_no_uid_of_a_user(uid: Any, words: str) -> None:
    far = Far(**FLUX)
    with connected(far) as instance, pytest.raises(NotAllowed) as refusal:
        instance.as_user(uid)
    assert (refusal.value.text, far.requests) == (words, [])


def test_the_other_end_decides_whether_users_are_let_in() -> None:
    far = Far("the configuration of the instance lacks access.private-mode = true", **FLUX)
    with connected(far) as instance, pytest.raises(NotAllowed, match=r"lacks access\.private-mode"):
        instance.as_user(ALICE)
    assert far.requests[0]["payload"] == {"user": ALICE}


def test_the_last_uid_is_one() -> None:
    with connected(Far(**FLUX)) as instance:
        assert instance.as_user(0xFFFFFFFE).links.user == 0xFFFFFFFE


CALLS: dict[str, Callable[[Instance], Any]] = {
    "find": lambda view: view.jobs.find(),
    "get": lambda view: view.jobs.get(5),
    "wait": lambda view: view.jobs.wait(5, 1),
    "cancel": lambda view: view.jobs.cancel(5),
    "cancel_all": lambda view: view.jobs.cancel_all(),
    "raise_exception": lambda view: view.jobs.raise_exception(5, "mine"),
    "kill": lambda view: view.jobs.kill(5, 9),
    "set_urgency": lambda view: view.jobs.set_urgency(5, 3),
    "update": lambda view: view.queues.update(5, queue="debug"),
    "resize": lambda view: view.jobs.resize(5, 3),
    "jobspec": lambda view: view.jobs.jobspec(5),
    "unsatisfiable": lambda view: view.jobs.unsatisfiable(JobRequest(("true",))),
    "events": lambda view: view.jobs.events(5),
    "journal": lambda view: list(view.jobs.events(follow=True)),
    "output": lambda view: view.jobs.output(5, follow=True),
    "changes": lambda view: list(view.overview.changes()),
    "many attributes": lambda view: view.overview.attributes([5, 6]),
    "why": lambda view: view.overview.why(5),
    "queues": lambda view: view.queues.all(),
    "stats": lambda view: view.queues.stats(),
    "stop": lambda view: view.queues.stop(),
    "start": lambda view: view.queues.start(),
    "wait_idle": lambda view: view.queues.wait_idle(1),
    "brokers": lambda view: view.nodes.brokers(),
    "resources": lambda view: view.nodes.resources(),
    "drain": lambda view: view.nodes.drain("0"),
    "undrain": lambda view: view.nodes.undrain("0"),
    "attributes": lambda view: view.life.attributes(),
    "shutdown": lambda view: view.life.shutdown(),
    "a link of its own": lambda view: view.links.take().rpc("job-list.job-stats", {}),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_line_names_the_user(call: str) -> None:
    far = Far(**FLUX)
    with connected(far) as instance:
        view = instance.as_user(ALICE)
        far.requests.clear()
        with contextlib.suppress(InstanceError):
            CALLS[call](view)
    assert far.requests
    assert {each.get("user") for each in far.requests} == {ALICE}


def test_the_owner_names_nobody_beside_it() -> None:
    far = Far(**FLUX)
    with connected(far) as instance:
        view = instance.as_user(ALICE)
        for jobs in (view.jobs, instance.jobs, view.jobs, instance.jobs):
            jobs.find()
    assert [each.get("user") for each in far.requests] == [None, ALICE, None, ALICE, None]


def test_all_of_a_users_jobs_are_his() -> None:
    far = Far(**FLUX)
    with connected(far) as instance, pytest.raises(NotAllowed):
        instance.as_user(ALICE).jobs.cancel_all()
    assert far.requests[-1]["payload"]["userid"] == ALICE


def test_a_refusal_has_the_instances_words() -> None:
    with connected(Far(**FLUX)) as instance, pytest.raises(NotAllowed) as refusal:
        instance.as_user(ALICE).jobs.cancel(5)
    words = "access is restricted to its owner"
    assert (str(refusal.value), refusal.value.text) == (f"job-manager.raise: {words}", words)


def test_what_would_be_done_as_the_owner_is_not_offered() -> None:
    """Nothing is sent for it."""
    far = Far(**FLUX)
    with connected(far) as instance:
        view = instance.as_user(ALICE)
        far.requests.clear()
        with pytest.raises(SubmitRefused) as unsigned:
            view.jobs.submit(JobRequest(("true",)))
        with pytest.raises(NotAllowed, match="only the instance's owner may save its data"):
            view.life.dump("/tmp/dump")
        with pytest.raises(NotAllowed, match="as_user: uid 7001 cannot ask for uid 7002"):
            view.as_user(7002)
        with view.links.borrowed() as link, pytest.raises(NotAllowed, match="7001 cannot ask for uid 7002"):
            link.rpc("job-list.job-stats", {}, user=7002)
    words = "a job of uid 7001 needs a jobspec that he has signed, which is not offered yet"
    assert (str(unsigned.value), far.requests) == (words, [])


def test_a_view_leaves_the_owners_connection_open_and_ends_with_it() -> None:
    instance = connected(Far(**FLUX))
    instance.as_user(ALICE).close()
    view = instance.as_user(ALICE)
    assert instance.jobs.find() == []
    instance.close()
    with pytest.raises(InstanceGone):
        view.jobs.find()
