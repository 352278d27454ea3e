"""What every back end does alike: cases, written once, which a module of tests runs over its own.

`CASES` ask only for clusters; `INSTANCE_CASES` for one whose brokers run. A case is given a `Scene`.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.backends.documents import DocumentText
from minicluster.backends.errors import BackendError, NoCluster, NotOffered, WrongRequest
from minicluster.backends.records import UpRequest
from minicluster.instance.errors import JobNotFound, NotResized, WaitTimeout
from minicluster.instance.records import BurstSummary, JobFilter, JobRequest, JobState
from minicluster.plan import Site

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.backends.port import Backend

ABSENT = "nobody"


@dataclass
class Teller:
    """A `Reporter` that keeps what a back end reports."""

    notices: list[str] = field(default_factory=list)

    def notice(self, text: str) -> None:
        """Keep it."""
        self.notices.append(text)

    def bring_up(self, joined: int, size: int) -> None:
        """So many brokers have joined."""

    def started(self) -> None:
        """The bring-up is over."""

    def errors(self, data: bytes) -> None:
        """What the command wrote to its standard error."""

    def ended(self, times: object, size: int) -> None:
        """It is over."""


@dataclass(frozen=True)
class Scene:
    """A back end without clusters, and whether it offers to suspend some.

    `runs` is called once a cluster was brought up, before it is used; `ends` once it was ended.
    """

    backend: Backend
    spec: dict[str, Any] = field(default_factory=dict)
    runs: Callable[[str], None] = lambda _: None
    suspends: bool = True
    up_before: bool = False
    """Whether cluster mc of two brokers is there, and the back end brings none up, nor ends one."""
    ends: Callable[[str], None] = lambda _: None
    publishes: Callable[[str, tuple[BurstSummary, ...]], None] | None = None
    """Does what a burst service does to show bursts of a cluster; None: no service can here."""

    def text(self, *names: str) -> DocumentText:
        """Return a document with clusters of two brokers that may have four."""
        documents = [
            {
                "apiVersion": "flux-framework.org/v1alpha2",
                "kind": "MiniCluster",
                "metadata": {"name": name},
                "spec": {
                    "size": 2,
                    "maxSize": 4,
                    "interactive": True,
                    "containers": [{"image": "test", "resources": {"limits": {"cpu": "1"}}}],
                    **self.spec,
                },
            }
            for name in names
        ]
        return DocumentText("\n---\n".join(map(json.dumps, documents)), "x.yaml")

    def up(self, name: str = "mc") -> None:
        """Bring a cluster up, where it is not there already."""
        if self.up_before:
            return
        self.backend.up(self.text(name), UpRequest())
        self.runs(name)


def what_is_brought_up_is_listed(scene: Scene) -> None:
    assert scene.backend.clusters().clusters == ()
    (made,) = scene.backend.up(scene.text("mc"), UpRequest(size=3))
    scene.runs("mc")
    assert made.name == "mc"
    (found,) = scene.backend.clusters().clusters
    assert (found.name, found.size, found.max_size) == ("mc", 3, 4)
    assert found.created > 1_000_000_000


def every_column_of_the_listing_is_shown(scene: Scene) -> None:
    scene.up()
    listing = scene.backend.clusters()
    usual = {"name", "phase", "size", "max_size", "created", "age"}
    assert set(listing.columns) <= usual | set(listing.clusters[0].more)


def one_of_several_documents_is_chosen(scene: Scene) -> None:
    (made,) = scene.backend.up(scene.text("one", "two"), UpRequest(name="two"))
    scene.runs("two")
    assert made.name == "two"
    assert [each.name for each in scene.backend.clusters().clusters] == ["two"]


def a_name_that_the_document_has_not_is_refused(scene: Scene) -> None:
    with pytest.raises(WrongRequest) as refusal:
        scene.backend.up(scene.text("one", "two"), UpRequest(name=ABSENT))
    assert (refusal.value.exit_code, ABSENT in str(refusal.value)) == (2, True)
    assert scene.backend.clusters().clusters == ()


def _owners_calls(backend: Backend, name: str) -> list[Callable[[], object]]:
    """Return the calls that are for who has a cluster, not for who uses one."""
    return [
        lambda: backend.scale(name, 2),
        lambda: backend.down(name, ""),
        lambda: backend.logs(name, lambda _: None, None, follow=False),
        lambda: backend.shell(name, ("true",)),
    ]


def what_is_for_its_owner_is_refused(scene: Scene) -> None:
    """By a back end for users."""
    calls = [*_owners_calls(scene.backend, "mc"), lambda: scene.backend.up(scene.text("mc"), UpRequest())]
    for call in calls:
        with pytest.raises(NotOffered, match=f"is not offered for clusters of {scene.backend.location}"):
            call()


def an_absent_cluster_is_named(scene: Scene) -> None:
    backend = scene.backend
    calls: list[Callable[[], object]] = [
        lambda: backend.status(ABSENT, lambda *_: None),
        lambda: backend.watch(ABSENT, lambda *_: None),
        lambda: backend.attach(ABSENT, lambda _: None, lambda *_: 0),
        lambda: backend.ask(ABSENT, lambda _: None),
    ]
    calls += () if scene.up_before else _owners_calls(backend, ABSENT)
    for call in calls:
        with pytest.raises(NoCluster, match=f"cluster {ABSENT}: ") as absence:
            call()
        assert absence.value.exit_code == 1


def a_size_beyond_the_greatest_is_refused(scene: Scene) -> None:
    scene.up()
    with pytest.raises(BackendError, match="mc"):
        scene.backend.scale("mc", 5)
    (found,) = scene.backend.clusters().clusters
    assert found.size == 2


def a_cluster_is_scaled(scene: Scene) -> None:
    scene.up()
    done = scene.backend.scale("mc", 3)
    assert (done.before, done.after) == (2, 3)
    (found,) = scene.backend.clusters().clusters
    assert found.size == 3


def a_status_has_each_field_once(scene: Scene) -> None:
    """No field of its order is among those for users or programs as well."""
    scene.up()
    report, _ = scene.backend.status("mc", lambda *_: None)
    assert report.cluster.name == "mc"
    assert len(set(report.order)) == len(report.order)
    assert not set(report.order) & {*report.people, *report.programs}
    for table in report.tables:
        assert all(set(table.columns) <= {*row, "age"} for row in table.rows)


def its_bursts_are_those_that_a_service_reports(scene: Scene) -> None:
    scene.up()
    backend = scene.backend
    several = (
        BurstSummary("01h0000001", "burst-0", "far", "active", 2, "2026-03-12T15:09:26Z", "3.20 EUR"),
        BurstSummary("01h0000002", "burst-1", "far", "requested", 1),
    )
    for given in ((), several, several[:1], ()):
        if scene.publishes is not None:
            scene.publishes("mc", given)
        expected = given if scene.publishes is not None else ()
        assert backend.status("mc", lambda *_: None)[0].bursts == expected
        assert backend.watch("mc", lambda _, watched: watched.sample().bursts) == expected


def it_is_suspended_or_that_is_not_offered(scene: Scene) -> None:
    scene.up()
    if not scene.suspends:
        for suspended, word in ((True, "suspend"), (False, "resume")):
            message = f"{word}: is not offered for clusters of {scene.backend.location}"
            with pytest.raises(NotOffered, match=message):
                scene.backend.suspend("mc", suspended=suspended)
        return
    done = scene.backend.suspend("mc", suspended=True)
    assert done.phase == "Suspended" or not done.is_done
    scene.backend.suspend("mc", suspended=False)


def what_has_ended_is_gone(scene: Scene) -> None:
    scene.up()
    scene.backend.down("mc", "")
    scene.ends("mc")
    assert scene.backend.clusters().clusters == ()
    with pytest.raises(NoCluster):
        scene.backend.down("mc", "")


def documents_are_tried_and_rendered(scene: Scene) -> None:
    assert list(scene.backend.trial([scene.text("mc")], [])) == []
    assert isinstance(scene.backend.site(), Site)
    assert scene.backend.clusters().clusters == ()


def its_words_are_options(scene: Scene) -> None:
    words = scene.backend.words
    assert words == "" or words.startswith(" --on ")


CASES = (
    what_is_brought_up_is_listed,
    every_column_of_the_listing_is_shown,
    one_of_several_documents_is_chosen,
    a_name_that_the_document_has_not_is_refused,
    an_absent_cluster_is_named,
    a_size_beyond_the_greatest_is_refused,
    a_cluster_is_scaled,
    a_status_has_each_field_once,
    it_is_suspended_or_that_is_not_offered,
    what_has_ended_is_gone,
    documents_are_tried_and_rendered,
    its_words_are_options,
)


USERS_CASES = (
    every_column_of_the_listing_is_shown,
    an_absent_cluster_is_named,
    a_status_has_each_field_once,
    it_is_suspended_or_that_is_not_offered,
    its_words_are_options,
    what_is_for_its_owner_is_refused,
)
"""For a back end whose users have no clusters, and use those that are there."""


def a_jobs_end_is_reported(scene: Scene) -> None:
    """Submitted through the instance, and followed to its exit code."""
    scene.up()
    backend = scene.backend
    request = JobRequest(("false",), environment=backend.job_environment("mc"))
    job = backend.ask("mc", lambda instance: instance.jobs.submit(request))
    seen: list[bool] = []

    def follow(instance: Any, following: Any) -> int:
        seen.append(following.is_main)
        return int(instance.jobs.wait(job).returncode)

    assert (backend.attach("mc", lambda _: None, follow), seen) == (1, [False])


def a_job_is_released(scene: Scene) -> None:
    """It waits until its urgency is another one than 0."""
    scene.up()
    backend = scene.backend
    request = JobRequest(("true",), environment=backend.job_environment("mc"), urgency=0)
    job = backend.ask("mc", lambda instance: instance.jobs.submit(request))

    def release(instance: Any) -> tuple[Any, ...]:
        with pytest.raises(WaitTimeout):
            instance.jobs.wait(job, 0.2)
        return instance.jobs.set_urgency(job, 16), instance.jobs.wait(job).returncode

    assert backend.ask("mc", release) == (0, 0)


def an_environment_for_jobs_is_known(scene: Scene) -> None:
    """Whole, so that a job may have it with changes."""
    scene.up()
    backend = scene.backend
    base = backend.job_environment("mc", whole=True)
    assert base is not None
    request = JobRequest(("sh", "-c", 'test "$MARK" = 1'), environment={**base, "MARK": "1"})
    job = backend.ask("mc", lambda instance: instance.jobs.submit(request))
    assert backend.ask("mc", lambda instance: instance.jobs.wait(job).returncode) == 0


def a_job_that_waits_is_not_resized(scene: Scene) -> None:
    scene.up()
    backend = scene.backend
    request = JobRequest(("sleep", "60"), urgency=0, environment=backend.job_environment("mc"))
    job = backend.ask("mc", lambda instance: instance.jobs.submit(request))
    # Real Flux has another scheduler than ours here, and refuses by name.
    with pytest.raises(NotResized, match=r"is not running|takes no orders by hand"):
        backend.ask("mc", lambda instance: instance.jobs.resize(job, 2))
    backend.ask("mc", lambda instance: instance.jobs.cancel(job))


def an_absent_job_is_not_resized(scene: Scene) -> None:
    scene.up()
    with pytest.raises(JobNotFound):
        scene.backend.ask("mc", lambda instance: instance.jobs.resize(77, 2))


def a_status_asks_the_instance(scene: Scene) -> None:
    scene.up()
    _, seen = scene.backend.status(
        "mc", lambda instance, least: (instance.nodes.resources().all.cores, least)
    )
    assert seen is not None
    assert (seen[0] >= 2, seen[1]) == (True, 1)


def it_is_watched(scene: Scene) -> None:
    scene.up()

    def view(instance: Any, watched: Any) -> tuple[Any, ...]:
        sample = watched.sample()
        return sample.row["name"], sample.row["size"], sample.least, watched.over.is_set()

    assert scene.backend.watch("mc", view) == ("mc", 2, 1, False)


def each_broker_has_logs(scene: Scene) -> None:
    scene.up()
    written: list[bytes] = []
    scene.backend.logs("mc", written.append, None, follow=False)
    assert all(line.endswith(b"\n") for line in written)
    assert {line.partition(b":")[0] for line in written} >= {b"mc-0", b"mc-1"}


def a_job_is_listed_and_cancelled(scene: Scene) -> None:
    scene.up()
    backend = scene.backend
    request = JobRequest(("sleep", "60"), urgency=0, environment=backend.job_environment("mc"))
    job = backend.ask("mc", lambda instance: instance.jobs.submit(request))

    def listed(instance: Any) -> list[int]:
        return [each.id for each in instance.jobs.find(JobFilter(states=JobState.ACTIVE))]

    assert backend.ask("mc", listed) == [job]
    backend.ask("mc", lambda instance: instance.jobs.cancel(job, "enough"))
    with contextlib.suppress(JobNotFound):  # one that never ran may be gone with it
        backend.ask("mc", lambda instance: instance.jobs.wait(job, 60))
    assert backend.ask("mc", listed) == []


INSTANCE_CASES = (
    a_jobs_end_is_reported,
    a_job_is_released,
    an_environment_for_jobs_is_known,
    a_job_that_waits_is_not_resized,
    an_absent_job_is_not_resized,
    a_status_asks_the_instance,
    it_is_watched,
    its_bursts_are_those_that_a_service_reports,
    a_job_is_listed_and_cancelled,
    each_broker_has_logs,
)
