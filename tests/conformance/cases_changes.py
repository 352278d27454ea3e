"""The journal as changes of jobs, and what is had of many jobs at once."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from minicluster.instance.records import JobFilter, JobState
from tests.conformance.cases import Experiment, case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from minicluster.instance.port import Stream
    from minicluster.instance.records import Job, JobChange


def history(changes: Stream[JobChange]) -> dict[int, Job]:
    """The last change of each job, up to the one without a job."""
    found: dict[int, Job] = {}
    for change in changes:
        if change.job is None:
            return found
        found[change.job.id] = change.job
    raise AssertionError("the stream ended in its history")


def followed(changes: Stream[JobChange], wanted: Mapping[int, JobState]) -> dict[int, Job]:
    """The last change of each of these jobs, up to the one by which all have the state that is wanted."""
    found: dict[int, Job] = {}
    for change in changes:
        assert change.job is not None
        if change.job.id in wanted:
            found[change.job.id] = change.job
            if all(each in found and found[each].state == wanted[each] for each in wanted):
                return found
    raise AssertionError("the stream ended")


def differences(lab: Experiment, found: Mapping[int, Job], ids: Iterable[int]) -> Iterator[Any]:
    """Fields of jobs that are not as in the port's own record of them."""
    for jobid in ids:
        there = asdict(lab.instance.jobs.get(jobid))
        here = asdict(found[jobid]) if jobid in found else {}
        for name, value in there.items():
            if here.get(name) != value:
                yield lab.ids[jobid], name, here.get(name), value


def many_kinds(lab: Experiment) -> list[int]:
    """Jobs with every kind of end."""
    first = lab.submit("first", "true", urgency=0)
    jobs = [
        lab.submit("after", "true", dependencies=(f"afterok:{first}",)),
        lab.submit("never", "true", dependencies=(f"afternotok:{first}",)),
        lab.submit("too big", "true", tasks=99),
        lab.submit("let go", "true", urgency=0, system={"x": 1}),
    ]
    lab.settles(first, JobState.SCHED)
    lab.instance.jobs.set_urgency(first, 20)
    lab.instance.jobs.cancel(jobs[-1], "not needed")
    jobs += [first, lab.done("wide", "true", nodes=2, tasks=3, cores_per_task=1)]
    jobs += [lab.done("whole", "true", nodes=2, tasks=2, exclusive=True)]
    jobs += [lab.done("fails", "sh", "-c", "exit 3"), lab.done("late", "sleep", "60", duration=0.3)]
    jobs.append(lab.running("cancelled", attributes={"color": {"depth": 8}}))
    lab.instance.jobs.raise_exception(jobs[-1], "warning", 3, "take care")
    lab.instance.jobs.cancel(jobs[-1], "enough")
    for each in jobs:
        lab.instance.jobs.wait(each, 20)
    return jobs


@case("overview.changes", "jobs.get", "jobs.find")
def changes_are_what_listings_have(lab: Experiment) -> Any:
    """As they come, and as another one reads them later, from the beginning or since some have ended."""
    with lab.instance.overview.changes() as changes:
        history(changes)
        jobs = many_kinds(lab)
        suspended = lab.submit("held", "true", urgency=0)
        waits = lab.submit("waits", "true", dependencies=(f"afterany:{suspended}",))
        states = dict.fromkeys(jobs, JobState.INACTIVE) | {suspended: JobState.SCHED, waits: JobState.DEPEND}
        seen = [*differences(lab, followed(changes, states), states)]
    with lab.instance.overview.changes() as changes:
        later = history(changes)
    middle = sorted(lab.instance.jobs.get(each).t_inactive for each in jobs)[len(jobs) // 2]
    with lab.instance.overview.changes(middle) as changes:
        since = history(changes)
    listed = {job.id for job in lab.instance.jobs.find(JobFilter(since=middle), 0)}
    seen += [*differences(lab, later, states), *differences(lab, since, since)]
    results = {lab.ids[each]: str(later[each].result and later[each].result.name) for each in states}
    for each in (waits, suspended):
        lab.instance.jobs.cancel(each)
        lab.instance.jobs.wait(each, 20)
    return seen, since.keys() == listed, results


@case("overview.changes")
def changes_of_one_job(lab: Experiment) -> Any:
    """Each with the events that made it."""
    with lab.instance.overview.changes() as changes:
        history(changes)
        jobid = lab.submit("job", "true")
        seen: list[Any] = []
        for change in changes:
            assert change.job is not None
            names = [event.name for event in change.events if event.name != "annotations"]
            seen += [each for each in names if change.job.id == jobid]
            if change.job.id == jobid and change.job.state == JobState.INACTIVE:
                return seen
    return seen


@case("overview.changes")
def changes_closed(lab: Experiment) -> Any:
    changes = lab.instance.overview.changes()
    history(changes)
    changes.close()
    return list(changes)


@case("overview.attributes")
def attributes_of_many_jobs(lab: Experiment) -> Any:
    """Of one that waits, one that has ended, one without any, and one that is not there."""
    jobs = [
        lab.submit("held", "true", urgency=0, attributes={"color": {"depth": 8}}),
        lab.done("done", "true", attributes={"group": "a", "list": [1, None]}),
        lab.done("plain", "true"),
    ]
    seen = lab.instance.overview.attributes([*jobs, 77])
    lab.instance.jobs.cancel(jobs[0])
    lab.instance.jobs.wait(jobs[0], 20)
    return {lab.ids[jobid]: user for jobid, user in seen.items()}, lab.instance.overview.attributes([])


@case("jobs.find")
def listing_by_submission(lab: Experiment) -> Any:
    """From a time on, before another one; a limit counts those that are chosen."""
    jobs = [lab.done(name, "true") for name in ("one", "two", "three")]
    first, second, third = (lab.instance.jobs.get(jobid).t_submit for jobid in jobs)

    def listed(begin: float, end: float, limit: int = 0) -> list[str]:
        found = lab.instance.jobs.find(JobFilter(submitted=(begin, end)), limit)
        return [lab.ids[job.id] for job in found if job.id in lab.ids]

    return {
        "from the second on": listed(second, math.inf),
        "before the second": listed(first, second),
        "the latest of two": listed(first, third, 1),
        "at any time": listed(0, math.inf),
        "at no time": listed(third, second),
    }


@case("overview.why")
def why_jobs_wait(lab: Experiment) -> Any:
    """For another one, by its urgency, in a stopped queue; two of them do not wait."""
    on = lab.instance
    first = lab.submit("first", "true", urgency=0)
    second = lab.submit("second", "true", dependencies=(f"afterok:{first}",))
    lab.settles(first, JobState.SCHED)
    done = lab.done("done", "true")
    on.queues.stop(reason="for a while")
    third = lab.submit("third", "true")
    lab.settles(third, JobState.SCHED)
    seen = [on.overview.why(each) for each in (second, first, third, done)]
    on.queues.start()
    lab.instance.jobs.wait(third, 20)
    for each in (second, first):
        on.jobs.cancel(each)
        on.jobs.wait(each, 20)
    return seen, lab.refusal(lambda: on.overview.why(77))


@case("overview.why")
def why_jobs_wait_for_nodes(lab: Experiment) -> Any:
    on = lab.instance
    on.nodes.drain("1", "broken")
    waits = lab.submit("wide", "true", nodes=2, tasks=2)
    lab.settles(waits, JobState.SCHED)
    seen = on.overview.why(waits)
    on.nodes.undrain("1")
    on.jobs.wait(waits, 20)
    return seen, on.overview.why(waits)
