"""The life of a job, from submission to every kind of end."""

from __future__ import annotations

import signal
from typing import Any

from minicluster.instance.records import JobFilter, JobRequest, JobResult, JobState
from tests.conformance.cases import Experiment, case, shown

FAIL = ("sh", "-c", "exit 3")


@case("submit", "wait", "job", "events")
def success(lab: Experiment) -> Any:
    done = lab.done("fine", "true", attributes={"color": {"depth": 8}})
    return lab.job(done), lab.events(done)


@case("wait", "events")
def exit_code(lab: Experiment) -> Any:
    done = lab.done("fails", *FAIL)
    return lab.job(done), lab.events(done)


@case("wait")
def highest_exit_code_of_several_tasks(lab: Experiment) -> Any:
    return lab.ended(lab.submit("mixed", "sh", "-c", "exit $((FLUX_TASK_RANK * 2))", tasks=4))


@case("wait", "events")
def death_by_signal(lab: Experiment) -> Any:
    done = lab.done("dies", "sh", "-c", "kill -9 $$")
    return lab.job(done), lab.events(done)


@case("wait", "jobspec")
def two_nodes(lab: Experiment) -> Any:
    done = lab.done("wide", "true", nodes=2, tasks=2, exclusive=True)
    return lab.job(done), lab.instance.jobspec(done)


@case("wait", "jobspec")
def uneven_tasks(lab: Experiment) -> Any:
    done = lab.done("uneven", "true", nodes=2, tasks=3)
    return lab.job(done), lab.instance.jobspec(done)


@case("wait")
def cores_and_gpus(lab: Experiment) -> Any:
    return lab.ended(lab.submit("gpu", "true", cores_per_task=2, gpus_per_task=1, duration=90.5))


@case("cancel", "events")
def cancel_pending(lab: Experiment) -> Any:
    held = lab.submit("held", "true", urgency=0)
    lab.settles(held, JobState.SCHED)
    lab.instance.cancel(held, "not needed")
    return lab.ended(held), lab.events(held)


@case("cancel", "events")
def cancel_running(lab: Experiment) -> Any:
    runs = lab.running("runs")
    lab.instance.cancel(runs)
    return lab.ended(runs), lab.events(runs)


@case("wait", "events")
def time_limit(lab: Experiment) -> Any:
    late = lab.done("late", "sleep", "60", duration=0.3)
    return lab.job(late), lab.events(late)


@case("kill")
def signal_to_running(lab: Experiment) -> Any:
    runs = lab.running("runs", "sh", "-c", "trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done")
    lab.instance.kill(runs, signal.SIGUSR1)
    return lab.ended(runs)


@case("kill")
def signal_ends_task(lab: Experiment) -> Any:
    runs = lab.running("runs")
    lab.instance.kill(runs, signal.SIGTERM)
    return lab.ended(runs), lab.events(runs)


@case("raise_exception", "events")
def fatal_exception(lab: Experiment) -> Any:
    runs = lab.running("runs")
    lab.instance.raise_exception(runs, "myexception", 0, "of my own")
    return lab.ended(runs), lab.events(runs)


@case("raise_exception", "events")
def harmless_exception(lab: Experiment) -> Any:
    held = lab.submit("held", "true", urgency=0)
    lab.instance.raise_exception(held, "warning", 3, "take care")
    lab.instance.urgency(held, 16)
    return lab.ended(held), lab.events(held)


def dependent(lab: Experiment, scheme: str, *command: str) -> Any:
    """A job that waits for another one of which we know how it ends."""
    first = lab.submit("first", *command, urgency=0)
    second = lab.submit("second", "true", dependencies=(f"{scheme}:{first}",))
    lab.settles(second, JobState.DEPEND)
    waiting = lab.job(second)
    lab.instance.urgency(first, 16)
    return waiting, lab.ended(second), lab.events(second)


@case("submit", "events")
def afterok_of_success(lab: Experiment) -> Any:
    return dependent(lab, "afterok", "true")


@case("submit", "events")
def afterok_of_failure(lab: Experiment) -> Any:
    return dependent(lab, "afterok", *FAIL)


@case("submit", "events")
def afternotok_of_failure(lab: Experiment) -> Any:
    return dependent(lab, "afternotok", *FAIL)


@case("submit", "events")
def afternotok_of_success(lab: Experiment) -> Any:
    return dependent(lab, "afternotok", "true")


@case("submit", "events")
def afterany_of_failure(lab: Experiment) -> Any:
    return dependent(lab, "afterany", *FAIL)


@case("submit")
def afterok_of_ended(lab: Experiment) -> Any:
    first = lab.done("first", "true")
    return lab.ended(lab.submit("second", "true", dependencies=(f"afterok:{first}",)))


@case("submit")
def afterok_of_failed_already(lab: Experiment) -> Any:
    first = lab.done("first", *FAIL)
    return lab.refusal(lambda: lab.submit("second", "true", dependencies=(f"afterok:{first}",)))


@case("submit")
def refused_submissions(lab: Experiment) -> Any:
    return {
        "unknown job": lab.refusal(lambda: lab.submit("x", "true", dependencies=("afterok:77",))),
        "bad job": lab.refusal(lambda: lab.submit("x", "true", dependencies=("afterok:nope!",))),
        "bad scheme": lab.refusal(lambda: lab.submit("x", "true", dependencies=("whenever:77",))),
        "no scheme": lab.refusal(lambda: lab.submit("x", "true", dependencies=("77",))),
        "no such queue": lab.refusal(lambda: lab.submit("x", "true", queue="nope")),
        "urgency": lab.refusal(lambda: lab.submit("x", "true", urgency=32)),
        "no command": lab.refusal(lambda: lab.submit("x")),
        "more nodes than tasks": lab.refusal(lambda: lab.submit("x", "true", nodes=2)),
    }


@case("resubmit")
def refused_jobspecs(lab: Experiment) -> Any:
    whole = lab.instance.jobspec(lab.done("good", "true"))
    wrong = {
        "no tasks": {key: value for key, value in whole.items() if key != "tasks"},
        "version": {**whole, "version": 7},
        "no duration": {**whole, "attributes": {"system": {}}},
        "unknown key": {**whole, "color": "red"},
        "range": {**whole, "resources": [{**whole["resources"][0], "count": {"min": 1, "max": 2}}]},
    }
    return {name: lab.refusal(lambda spec=spec: lab.instance.resubmit(spec)) for name, spec in wrong.items()}


@case("resubmit", "jobspec")
def same_jobspec_again(lab: Experiment) -> Any:
    spec = lab.instance.jobspec(lab.done("first", "true", attributes={"half": 0.5}))
    again = lab.instance.resubmit(spec, urgency=20)
    lab.ids[again] = "again"
    return lab.ended(again), lab.instance.jobspec(again) == spec


@case("urgency", "job")
def held_and_let_go(lab: Experiment) -> Any:
    held = lab.submit("held", "true", urgency=0)
    lab.settles(held, JobState.SCHED)
    before = lab.job(held)
    was = lab.instance.urgency(held, 31)
    return before, was, lab.ended(held), lab.events(held)


@case("submit", "events")
def unsatisfiable(lab: Experiment) -> Any:
    big = lab.submit("big", "true", tasks=99)
    return lab.ended(big), lab.events(big)


@case("events", "output")
def command_not_found(lab: Experiment) -> Any:
    lost = lab.done("lost", "no-such-command", "now")
    return lab.job(lost), lab.events(lost), lab.output(lost, follow=True)


@case("events", "output")
def command_not_executable(lab: Experiment) -> Any:
    (lab.lab.folder / "plain.txt").write_text("no program\n")
    lost = lab.done("lost", "./plain.txt")
    return lab.job(lost), lab.events(lost), lab.output(lost, follow=True)


@case("events")
def no_such_working_directory(lab: Experiment) -> Any:
    spec = lab.instance.jobspec(lab.done("good", "pwd"))
    spec = {**spec, "attributes": {"system": {**spec["attributes"]["system"], "cwd": "/no/such/place"}}}
    jobid = lab.instance.resubmit(spec)
    lab.ids[jobid] = "homeless"
    ended = lab.ended(jobid)
    return ended["state"], ended["result"], ended["returncode"]


@case("submit", "events")
def waitable(lab: Experiment) -> Any:
    return lab.events(lab.submit("waitable", "true", waitable=True))


@case("cancel", "raise_exception", "kill", "urgency", "job", "wait", "events", "output", "jobspec")
def unknown_job(lab: Experiment) -> Any:
    on = lab.instance
    return {
        "cancel": lab.refusal(lambda: on.cancel(77)),
        "raise_exception": lab.refusal(lambda: on.raise_exception(77, "x", 1)),
        "kill": lab.refusal(lambda: on.kill(77, 15)),
        "urgency": lab.refusal(lambda: on.urgency(77, 16)),
        "job": lab.refusal(lambda: on.job(77)),
        "jobspec": lab.refusal(lambda: on.jobspec(77)),
        "wait": lab.refusal(lambda: on.wait(77, 5)),
        "events": lab.refusal(lambda: on.events(77)),
        "events follow": lab.refusal(lambda: on.events(77, follow=True)),
        "output": lab.refusal(lambda: on.output(77)),
        "output follow": lab.refusal(lambda: on.output(77, follow=True)),
    }


@case("cancel", "raise_exception", "kill", "urgency")
def ended_job(lab: Experiment) -> Any:
    done, on = lab.done("done", "true"), lab.instance
    return {
        "cancel": lab.refusal(lambda: on.cancel(done)),
        "raise_exception": lab.refusal(lambda: on.raise_exception(done, "x", 1)),
        "kill": lab.refusal(lambda: on.kill(done, 15)),
        "urgency": lab.refusal(lambda: on.urgency(done, 16)),
    }


@case("kill", "urgency", "raise_exception")
def steering_at_the_wrong_time(lab: Experiment) -> Any:
    held, runs = lab.submit("held", "true", urgency=0), lab.running("runs")
    lab.settles(held, JobState.SCHED)
    seen = {
        "kill pending": lab.refusal(lambda: lab.instance.kill(held, 15)),
        "no signal": lab.refusal(lambda: lab.instance.kill(runs, 999)),
        "urgency of running": lab.refusal(lambda: lab.instance.urgency(runs, 3)),
        "no urgency": lab.refusal(lambda: lab.instance.urgency(held, 32)),
        "no severity": lab.refusal(lambda: lab.instance.raise_exception(held, "x", 9)),
    }
    for each in (held, runs):
        lab.instance.cancel(each)
        lab.instance.wait(each, 20)
    return seen


@case("wait")
def waiting_in_vain(lab: Experiment) -> Any:
    held = lab.submit("held", "true", urgency=0)
    refusal = lab.refusal(lambda: lab.instance.wait(held, 0.05))
    lab.instance.cancel(held)
    return refusal, lab.ended(held)["result"]


@case("jobs")
def listing(lab: Experiment) -> Any:
    """Order and filters; `since` and `limit` too."""
    old = lab.done("one", "true")
    failed = lab.done("two", *FAIL)
    low = lab.submit("one", "true", urgency=0)
    lab.ids[low] = "held one"
    runs = lab.running("two")
    lab.ids[runs] = "running two"
    lab.settles(low, JobState.SCHED)

    def listed(which: JobFilter, limit: int = 0) -> list[str]:
        return [lab.ids[job.id] for job in lab.instance.jobs(which, limit) if job.id in lab.ids]

    seen = {
        "all": listed(JobFilter()),
        "pending": listed(JobFilter(states=JobState.PENDING)),
        "running": listed(JobFilter(states=JobState.RUNNING)),
        "inactive": listed(JobFilter(states=JobState.INACTIVE)),
        "active": listed(JobFilter(states=JobState.ACTIVE)),
        "failed": listed(JobFilter(results=JobResult.FAILED)),
        "pending or failed": listed(JobFilter(states=JobState.PENDING, results=JobResult.FAILED)),
        "by name": listed(JobFilter(name="two")),
        "by user": listed(JobFilter(userid=4242)),
        "by queue": listed(JobFilter(queue="nope")),
        "first two": listed(JobFilter(), 2),
        "since the first ended": listed(JobFilter(since=lab.instance.job(old).t_inactive)),
        "records": [shown(job) for job in lab.instance.jobs(JobFilter(name="one"), 1)],
    }
    for each in (low, runs):
        lab.instance.cancel(each)
        lab.instance.wait(each, 20)
    assert failed
    return seen


@case("submit")
def request_without_environment(lab: Experiment) -> Any:
    """Without an environment of its own a job gets this process's, and without a directory this one's."""
    jobid = lab.instance.submit(JobRequest(("true",)))
    lab.ids[jobid] = "plain"
    system = lab.instance.jobspec(jobid)["attributes"]["system"]
    lab.instance.wait(jobid, 20)
    return "PATH" in system["environment"], bool(system["cwd"]), lab.instance.job(jobid).name
