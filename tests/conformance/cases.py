"""What a case of the port is made of, and the words that cases are written in."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from minicluster.instance.errors import InstanceError
from minicluster.instance.records import Job, JobRequest, JobState
from tests.conformance import masks
from tests.conformance.laboratory import Laboratory, eventually, own_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minicluster.instance.port import Instance

TALKS = ("sh", "-c", "echo ready; exec sleep 60")
_TIMES = ("t_submit", "t_depend", "t_run", "t_cleanup", "t_inactive")


@dataclass(frozen=True, slots=True)
class Case:
    """`run` returns what it saw; `methods` are those of the port that it proves."""

    name: str
    methods: tuple[str, ...]
    run: Callable[[Experiment], Any]
    fresh: bool = False
    extra: str = ""


def case(
    *methods: str, fresh: bool = False, extra: str = ""
) -> Callable[[Callable[[Experiment], Any]], Case]:
    """Make a case of a function, under the function's name."""

    def made(run: Callable[[Experiment], Any]) -> Case:
        return Case(run.__name__, methods, run, fresh or bool(extra), extra)

    return made


@dataclass
class Experiment:
    """One case at work: its instance, and the jobs that it submitted by the names it gave them."""

    lab: Laboratory
    instance: Instance
    ids: dict[int, str] = field(default_factory=dict)
    fresh: Callable[..., Laboratory] | None = None

    @classmethod
    @contextlib.contextmanager
    def on(cls, lab: Laboratory) -> Iterator[Experiment]:
        with lab.connect() as instance:
            experiment = cls(lab, instance)
            try:
                yield experiment
            except BaseException:
                with contextlib.suppress(InstanceError):
                    experiment.clean_up()
                raise

    def clean_up(self) -> None:
        """After a failure: end this case's jobs and drains, so that the next case finds nothing of them."""
        for jobid in self.ids:
            with contextlib.suppress(InstanceError):
                self.instance.jobs.cancel(jobid)
        for drain in self.instance.nodes.resources().drains:
            self.instance.nodes.undrain(drain.ranks)
        self.instance.queues.start()

    def submit(self, name: str, *command: str, **wishes: Any) -> int:
        """Submit a job with this name."""
        jobid = self.instance.jobs.submit(self.request(name, *command, **wishes))
        self.ids[jobid] = name
        return jobid

    def request(self, name: str, *command: str, **wishes: Any) -> JobRequest:
        """Return the request for a job with this name."""
        return JobRequest(
            command, name=name, environment=own_environment(self.lab), cwd=str(self.lab.folder), **wishes
        )

    def outcome(self, name: str, found: int | InstanceError) -> Any:
        """Return the end of a job that was submitted with others, or the error's kind and words.

        Which node it had is chance, as they came at once.
        """
        if not isinstance(found, int):
            return [type(found).__name__, str(found)]
        self.ids[found] = name
        ended = self.ended(found)
        return [ended[each] for each in ("id", "name", "result", "returncode", "urgency", "times")]

    def done(self, name: str, *command: str, **wishes: Any) -> int:
        """Submit a job and wait for its end."""
        jobid = self.submit(name, *command, **wishes)
        self.instance.jobs.wait(jobid, 20)
        return jobid

    def running(self, name: str, *command: str, **wishes: Any) -> int:
        """Submit a job and wait until a task has written something: a started job has no process yet."""
        jobid = self.submit(name, *(command or TALKS), shell_options={"output.batch-timeout": 0.01}, **wishes)
        with self.instance.jobs.output(jobid, follow=True) as output:
            next(iter(output))
        return jobid

    def reaches(self, jobid: int, event: str) -> None:
        """Wait for an event of a job."""
        with self.instance.jobs.events(jobid, follow=True) as events:
            assert any(each.name == event for each in events), f"no {event}"

    def settles(self, jobid: int, state: JobState) -> None:
        """Wait until the listing shows the job in this state."""
        eventually(lambda: self.instance.jobs.get(jobid).state == state, f"{self.ids[jobid]} is in {state!r}")

    def job(self, jobid: int) -> dict[str, Any]:
        """A job as it can be compared: its times as the order in which they came."""
        return shown(self.instance.jobs.get(jobid))

    def ended(self, jobid: int) -> dict[str, Any]:
        """The same, after its end."""
        return shown(self.instance.jobs.wait(jobid, 20))

    def events(self, jobid: int) -> list[list[Any]]:
        """Names and contexts of a job's events up to its end, times in order checked."""
        with self.instance.jobs.events(jobid, follow=True) as stream:
            events = list(stream)
        assert [event.timestamp for event in events] == sorted(event.timestamp for event in events)
        assert {event.id for event in events} == {jobid}
        return [[event.name, dict(event.context)] for event in events]

    def output(self, jobid: int, **wishes: Any) -> dict[str, str]:
        """All output by task and stream."""
        streams: dict[str, bytes] = {}
        with self.instance.jobs.output(jobid, **wishes) as chunks:
            for chunk in chunks:
                key = f"{chunk.task} {chunk.stream}"
                streams[key] = streams.get(key, b"") + chunk.data
        return {key: data.decode(errors="backslashreplace") for key, data in sorted(streams.items())}

    def refusal(self, act: Callable[[], object]) -> list[str]:
        """The error's kind and words."""
        try:
            act()
        except InstanceError as error:
            return [type(error).__name__, str(error)]
        return ["", "no error"]

    def masked(self, seen: Any) -> Any:
        """What was seen, without what differs from run to run."""
        return masks.observation(seen, self.ids, str(self.lab.folder))


def shown(job: Job) -> dict[str, Any]:
    """A job's fields; of its times the order."""
    fields = asdict(job)
    assert fields.pop("owner") == "", "only a service has names for owners"
    reached = [(name, fields.pop(name)) for name in _TIMES]
    fields["times"] = [name for name, time in reached if time]
    times = [time for _, time in reached if time]
    assert times == sorted(times), "times are in the order of states"
    fields["state"] = job.state.name
    fields["result"] = None if job.result is None else job.result.name
    fields["returncode"] = job.returncode
    fields["expiration"] = bool(job.expiration)
    return fields
