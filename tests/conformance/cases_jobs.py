"""The life of a job, from submission to every kind of end."""

from __future__ import annotations

import signal
from typing import Any

from minicluster.instance.records import JobFilter, JobRequest, JobResult, JobState
from tests.conformance.cases import Experiment, case, shown

FAIL = ("sh", "-c", "exit 3")


@case("jobs.submit", "jobs.wait", "jobs.get", "jobs.events")
def success(lab: Experiment) -> Any:
    done = lab.done("fine", "true", attributes={"color": {"depth": 8}})
    return lab.job(done), lab.events(done)


@case("jobs.submit", "jobs.jobspec")
def further_attributes(lab: Experiment) -> Any:
    done = lab.done("marked", "true", system={"a.b": 1, "constraints": {"hostlist": ["mc-1"]}})
    return lab.job(done)["nodelist"], lab.instance.jobs.jobspec(done)["attributes"]


@case("jobs.wait", "jobs.events")
def exit_code(lab: Experiment) -> Any:
    done = lab.done("fails", *FAIL)
    return lab.job(done), lab.events(done)


@case("jobs.wait")
def highest_exit_code_of_several_tasks(lab: Experiment) -> Any:
    return lab.ended(lab.submit("mixed", "sh", "-c", "exit $((FLUX_TASK_RANK * 2))", tasks=4))


@case("jobs.wait", "jobs.events")
def death_by_signal(lab: Experiment) -> Any:
    done = lab.done("dies", "sh", "-c", "kill -9 $$")
    return lab.job(done), lab.events(done)


@case("jobs.wait")
def end_by_the_exit_timeout(lab: Experiment) -> Any:
    late = "test $FLUX_TASK_RANK = 0 || exec sleep 30"
    options = {"exit-timeout": "0.3s"}
    ended = lab.ended(lab.submit("left", "sh", "-c", late, tasks=2, shell_options=options))
    return ended["result"], ended["waitstatus"], ended["returncode"], ended["exception"]


@case("jobs.wait", "jobs.jobspec")
def two_nodes(lab: Experiment) -> Any:
    done = lab.done("wide", "true", nodes=2, tasks=2, exclusive=True)
    return lab.job(done), lab.instance.jobs.jobspec(done)


@case("jobs.wait", "jobs.jobspec")
def uneven_tasks(lab: Experiment) -> Any:
    done = lab.done("uneven", "true", nodes=2, tasks=3)
    return lab.job(done), lab.instance.jobs.jobspec(done)


@case("jobs.wait")
def cores_and_gpus(lab: Experiment) -> Any:
    return lab.ended(lab.submit("gpu", "true", cores_per_task=2, gpus_per_task=1, duration=90.5))


@case("jobs.cancel", "jobs.events")
def cancel_pending(lab: Experiment) -> Any:
    pending = lab.submit("held", "true", urgency=0)
    lab.settles(pending, JobState.SCHED)
    lab.instance.jobs.cancel(pending, "not needed")
    return lab.ended(pending), lab.events(pending)


@case("jobs.cancel", "jobs.events")
def cancel_running(lab: Experiment) -> Any:
    runs = lab.running("runs")
    lab.instance.jobs.cancel(runs)
    return lab.ended(runs), lab.events(runs)


@case("jobs.cancel_all")
def cancel_by_state(lab: Experiment) -> Any:
    runs = lab.running("runs")
    pending = [lab.submit(name, "true", urgency=0) for name in ("one", "two")]
    for jobid in pending:
        lab.settles(jobid, JobState.SCHED)
    counts = [lab.instance.jobs.cancel_all(JobState.PENDING, "not needed")]
    ended = [lab.ended(jobid) for jobid in pending]
    counts += [lab.instance.jobs.cancel_all(), lab.instance.jobs.wait(runs, 20).returncode]
    return counts, ended, lab.instance.jobs.cancel_all()


@case("jobs.wait", "jobs.events")
def time_limit(lab: Experiment) -> Any:
    late = lab.done("late", "sleep", "60", duration=0.3)
    return lab.job(late), lab.events(late)


@case("jobs.submit", "jobs.jobspec")
def batch_script(lab: Experiment) -> Any:
    """It runs in an instance of its own, with a broker on each of its nodes."""
    request = JobRequest(
        ("there/job.sh", "two words"),
        tasks=2,
        nodes=2,
        environment={"PATH": lab.lab.environment["PATH"], "HOME": "/tmp"},
        cwd="/tmp",
        shell_options={"mpi": "other"},
        script='#!/bin/sh\necho "$1"; flux getattr size; flux run -N2 -n2 echo task | wc -l; exit 4\n',
    )
    jobid = lab.instance.jobs.submit(request)
    lab.ids[jobid] = "batch"
    spec = lab.instance.jobs.jobspec(jobid)
    ended = lab.instance.jobs.wait(jobid, 60)
    system = {key: spec["attributes"]["system"][key] for key in ("job", "shell", "files")}
    return ended.name, ended.returncode, lab.output(jobid)["0 stdout"], spec["tasks"], system


@case("jobs.unsatisfiable")
def jobs_that_could_never_run(lab: Experiment) -> Any:
    wanted: list[dict[str, Any]] = [
        {"tasks": 4},
        {"tasks": 5},
        {"cores_per_task": 3},
        {"tasks": 3, "gpus_per_task": 1},
        {"nodes": 3, "tasks": 3},
    ]
    return [lab.instance.jobs.unsatisfiable(JobRequest(("true",), **each)) for each in wanted]


@case("jobs.kill")
def signal_to_running(lab: Experiment) -> Any:
    runs = lab.running("runs", "sh", "-c", "trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done")
    lab.instance.jobs.kill(runs, signal.SIGUSR1)
    return lab.ended(runs)


@case("jobs.kill")
def signal_ends_task(lab: Experiment) -> Any:
    runs = lab.running("runs")
    lab.instance.jobs.kill(runs, signal.SIGTERM)
    return lab.ended(runs), lab.events(runs)


@case("jobs.raise_exception", "jobs.events")
def fatal_exception(lab: Experiment) -> Any:
    runs = lab.running("runs")
    lab.instance.jobs.raise_exception(runs, "myexception", 0, "of my own")
    return lab.ended(runs), lab.events(runs)


@case("jobs.raise_exception", "jobs.events")
def harmless_exception(lab: Experiment) -> Any:
    pending = lab.submit("held", "true", urgency=0)
    lab.instance.jobs.raise_exception(pending, "warning", 3, "take care")
    lab.instance.jobs.set_urgency(pending, 16)
    return lab.ended(pending), lab.events(pending)


def dependent(lab: Experiment, scheme: str, *command: str) -> Any:
    """A job that waits for another one, which ends in a known way."""
    first = lab.submit("first", *command, urgency=0)
    second = lab.submit("second", "true", dependencies=(f"{scheme}:{first}",))
    lab.settles(second, JobState.DEPEND)
    waiting = lab.job(second)
    lab.instance.jobs.set_urgency(first, 16)
    return waiting, lab.ended(second), lab.events(second)


@case("jobs.submit", "jobs.events")
def afterok_of_success(lab: Experiment) -> Any:
    return dependent(lab, "afterok", "true")


@case("jobs.submit", "jobs.events")
def afterok_of_failure(lab: Experiment) -> Any:
    return dependent(lab, "afterok", *FAIL)


@case("jobs.submit", "jobs.events")
def afternotok_of_failure(lab: Experiment) -> Any:
    return dependent(lab, "afternotok", *FAIL)


@case("jobs.submit", "jobs.events")
def afternotok_of_success(lab: Experiment) -> Any:
    return dependent(lab, "afternotok", "true")


@case("jobs.submit", "jobs.events")
def afterany_of_failure(lab: Experiment) -> Any:
    return dependent(lab, "afterany", *FAIL)


@case("jobs.submit")
def afterok_of_ended(lab: Experiment) -> Any:
    first = lab.done("first", "true")
    return lab.ended(lab.submit("second", "true", dependencies=(f"afterok:{first}",)))


@case("jobs.submit")
def afterok_of_failed_already(lab: Experiment) -> Any:
    first = lab.done("first", *FAIL)
    return lab.refusal(lambda: lab.submit("second", "true", dependencies=(f"afterok:{first}",)))


@case("jobs.submit")
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


@case("jobs.resubmit")
def refused_jobspecs(lab: Experiment) -> Any:
    whole = lab.instance.jobs.jobspec(lab.done("good", "true"))
    wrong = {
        "no tasks": {key: value for key, value in whole.items() if key != "tasks"},
        "version": {**whole, "version": 7},
        "no duration": {**whole, "attributes": {"system": {}}},
        "unknown key": {**whole, "color": "red"},
        "range": {**whole, "resources": [{**whole["resources"][0], "count": {"min": 1, "max": 2}}]},
    }
    return {
        name: lab.refusal(lambda spec=spec: lab.instance.jobs.resubmit(spec)) for name, spec in wrong.items()
    }


@case("jobs.resubmit", "jobs.jobspec")
def same_jobspec_again(lab: Experiment) -> Any:
    spec = lab.instance.jobs.jobspec(lab.done("first", "true", attributes={"half": 0.5}))
    again = lab.instance.jobs.resubmit(spec, urgency=20)
    lab.ids[again] = "again"
    return lab.ended(again), lab.instance.jobs.jobspec(again) == spec


@case("jobs.set_urgency", "jobs.get")
def suspended_and_released(lab: Experiment) -> Any:
    pending = lab.submit("held", "true", urgency=0)
    lab.settles(pending, JobState.SCHED)
    before = lab.job(pending)
    was = lab.instance.jobs.set_urgency(pending, 31)
    return before, was, lab.ended(pending), lab.events(pending)


@case("jobs.submit", "jobs.events")
def unsatisfiable(lab: Experiment) -> Any:
    big = lab.submit("big", "true", tasks=99)
    return lab.ended(big), lab.events(big)


@case("jobs.events", "jobs.output")
def command_not_found(lab: Experiment) -> Any:
    lost = lab.done("lost", "no-such-command", "now")
    return lab.job(lost), lab.events(lost), lab.output(lost, follow=True)


@case("jobs.events", "jobs.output")
def command_not_executable(lab: Experiment) -> Any:
    (lab.lab.folder / "plain.txt").write_text("no program\n")
    lost = lab.done("lost", "./plain.txt")
    return lab.job(lost), lab.events(lost), lab.output(lost, follow=True)


@case("jobs.events")
def no_such_working_directory(lab: Experiment) -> Any:
    spec = lab.instance.jobs.jobspec(lab.done("good", "pwd"))
    spec = {**spec, "attributes": {"system": {**spec["attributes"]["system"], "cwd": "/no/such/place"}}}
    jobid = lab.instance.jobs.resubmit(spec)
    lab.ids[jobid] = "homeless"
    ended = lab.ended(jobid)
    return ended["state"], ended["result"], ended["returncode"]


@case("jobs.submit", "jobs.events")
def waitable(lab: Experiment) -> Any:
    return lab.events(lab.submit("waitable", "true", waitable=True))


@case(
    "jobs.cancel",
    "jobs.raise_exception",
    "jobs.kill",
    "jobs.set_urgency",
    "jobs.resize",
    "jobs.get",
    "jobs.wait",
    "jobs.events",
    "jobs.output",
    "jobs.jobspec",
)
def unknown_job(lab: Experiment) -> Any:
    on = lab.instance
    return {
        "cancel": lab.refusal(lambda: on.jobs.cancel(77)),
        "raise_exception": lab.refusal(lambda: on.jobs.raise_exception(77, "x", 1)),
        "kill": lab.refusal(lambda: on.jobs.kill(77, 15)),
        "urgency": lab.refusal(lambda: on.jobs.set_urgency(77, 16)),
        "resize": lab.refusal(lambda: on.jobs.resize(77, 2)),
        "job": lab.refusal(lambda: on.jobs.get(77)),
        "jobspec": lab.refusal(lambda: on.jobs.jobspec(77)),
        "wait": lab.refusal(lambda: on.jobs.wait(77, 5)),
        "events": lab.refusal(lambda: on.jobs.events(77)),
        "events follow": lab.refusal(lambda: on.jobs.events(77, follow=True)),
        "output": lab.refusal(lambda: on.jobs.output(77)),
        "output follow": lab.refusal(lambda: on.jobs.output(77, follow=True)),
    }


@case("jobs.cancel", "jobs.raise_exception", "jobs.kill", "jobs.set_urgency", "jobs.resize")
def ended_job(lab: Experiment) -> Any:
    done, on = lab.done("done", "true"), lab.instance
    return {
        "cancel": lab.refusal(lambda: on.jobs.cancel(done)),
        "raise_exception": lab.refusal(lambda: on.jobs.raise_exception(done, "x", 1)),
        "kill": lab.refusal(lambda: on.jobs.kill(done, 15)),
        "urgency": lab.refusal(lambda: on.jobs.set_urgency(done, 16)),
        "resize": lab.refusal(lambda: on.jobs.resize(done, 2)),
    }


@case("jobs.kill", "jobs.set_urgency", "jobs.raise_exception", "jobs.resize")
def steering_at_the_wrong_time(lab: Experiment) -> Any:
    pending, runs = lab.submit("held", "true", urgency=0), lab.running("runs")
    lab.settles(pending, JobState.SCHED)
    seen = {
        "kill pending": lab.refusal(lambda: lab.instance.jobs.kill(pending, 15)),
        "no signal": lab.refusal(lambda: lab.instance.jobs.kill(runs, 999)),
        "urgency of running": lab.refusal(lambda: lab.instance.jobs.set_urgency(runs, 3)),
        "no urgency": lab.refusal(lambda: lab.instance.jobs.set_urgency(pending, 32)),
        "resize of rigid": lab.refusal(lambda: lab.instance.jobs.resize(runs, 2))[0],
        "no severity": lab.refusal(lambda: lab.instance.jobs.raise_exception(pending, "x", 9)),
    }
    for each in (pending, runs):
        lab.instance.jobs.cancel(each)
        lab.instance.jobs.wait(each, 20)
    return seen


@case("jobs.wait")
def waiting_in_vain(lab: Experiment) -> Any:
    pending = lab.submit("held", "true", urgency=0)
    refusal = lab.refusal(lambda: lab.instance.jobs.wait(pending, 0.05))
    lab.instance.jobs.cancel(pending)
    return refusal, lab.ended(pending)["result"]


@case("jobs.find")
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
        return [lab.ids[job.id] for job in lab.instance.jobs.find(which, limit) if job.id in lab.ids]

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
        "since the first ended": listed(JobFilter(since=lab.instance.jobs.get(old).t_inactive)),
        "records": [shown(job) for job in lab.instance.jobs.find(JobFilter(name="one"), 1)],
    }
    for each in (low, runs):
        lab.instance.jobs.cancel(each)
        lab.instance.jobs.wait(each, 20)
    assert failed
    return seen


@case("jobs.submit")
def request_without_environment(lab: Experiment) -> Any:
    """Without an environment of its own a job gets this process's, and without a directory this one's."""
    jobid = lab.instance.jobs.submit(JobRequest(("true",)))
    lab.ids[jobid] = "plain"
    system = lab.instance.jobs.jobspec(jobid)["attributes"]["system"]
    lab.instance.jobs.wait(jobid, 20)
    return "PATH" in system["environment"], bool(system["cwd"]), lab.instance.jobs.get(jobid).name
