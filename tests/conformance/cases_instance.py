"""The instance itself: resources, queues, brokers, numbers, saving, ending."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from minicluster.instance.errors import InstanceGone
from minicluster.instance.records import JobFilter, JobState
from tests.conformance.cases import Experiment, case, shown
from tests.conformance.laboratory import eventually

TWO_QUEUES = """
[queues.batch]
[queues.debug]
[policy.jobspec.defaults.system]
queue = "batch"
"""


@case("nodes.resources", "nodes.drain", "nodes.undrain")
def resources_idle_used_and_drained(lab: Experiment) -> Any:
    on, seen = lab.instance, {}
    seen["idle"] = asdict(on.nodes.resources())
    runs = lab.running("runs", cores_per_task=2, gpus_per_task=1)
    seen["used"] = asdict(on.nodes.resources())
    on.nodes.drain("0", "maintenance of it")
    seen["draining"] = asdict(on.nodes.resources())
    on.jobs.cancel(runs)
    on.jobs.wait(runs, 20)
    eventually(lambda: not on.nodes.resources().allocated.cores, "the cores are free again")
    seen["drained"] = asdict(on.nodes.resources())
    on.nodes.undrain("mc-0")
    seen["again"] = asdict(on.nodes.resources())
    return seen


@case("nodes.by_queue")
def resources_by_queue_without_bursts(lab: Experiment) -> Any:
    found = lab.instance.nodes.by_queue()
    return asdict(found.ordinary), dict(found.bursts)


@case("nodes.drain", "nodes.undrain")
def drained_brokers_get_no_jobs(lab: Experiment) -> Any:
    lab.instance.nodes.drain("mc-1")
    one = lab.ended(lab.submit("one", "true"))
    jobid = lab.submit("both", "true", nodes=2, tasks=2)
    lab.settles(jobid, JobState.SCHED)
    waits = lab.job(jobid)["state"]
    lab.instance.nodes.undrain("1")
    return waits, one["nodelist"], lab.ended(jobid)["nodelist"]


@case("nodes.drain", "nodes.undrain")
def refused_drains(lab: Experiment) -> Any:
    on = lab.instance
    on.nodes.drain("1", "first")
    seen = {
        "again": lab.refusal(lambda: on.nodes.drain("1", "second")),
        "no such rank": lab.refusal(lambda: on.nodes.drain("7")),
        "no such host": lab.refusal(lambda: on.nodes.drain("elsewhere")),
        "no list": lab.refusal(lambda: on.nodes.drain("mc-["))[0],
        "undrain what is not drained": lab.refusal(lambda: on.nodes.undrain("0")),
        "undrain no such rank": lab.refusal(lambda: on.nodes.undrain("9")),
        "reason": [drain.reason for drain in on.nodes.resources().drains],
    }
    on.nodes.undrain("1")
    return seen


@case("queues.all", "queues.stop", "queues.start")
def queue_stopped_and_started(lab: Experiment) -> Any:
    on = lab.instance
    before = [asdict(queue) for queue in on.queues.all()]
    on.queues.stop(reason="a pause")
    stopped = [asdict(queue) for queue in on.queues.all()]
    jobid = lab.submit("waits", "true")
    lab.settles(jobid, JobState.SCHED)
    waits = lab.job(jobid)
    on.queues.start()
    after = [asdict(queue) for queue in on.queues.all()]
    return before, stopped, waits, after, lab.ended(jobid)["result"]


@case("queues.stop", "queues.start")
def refused_queues(lab: Experiment) -> Any:
    on = lab.instance
    return [lab.refusal(lambda: on.queues.stop("nope")), lab.refusal(lambda: on.queues.start("nope"))]


@case("queues.wait_idle", fresh=True)
def idle_with_jobs_waiting(lab: Experiment) -> Any:
    on = lab.instance
    nothing = on.queues.wait_idle(5)
    runs = lab.running("runs")
    pending = lab.submit("held", "true", urgency=0)
    lab.settles(pending, JobState.SCHED)
    busy = lab.refusal(lambda: on.queues.wait_idle(0.05))
    on.jobs.cancel(runs)
    return nothing, busy, on.queues.wait_idle(20)


@case("queues.stats", fresh=True)
def numbers_of_jobs(lab: Experiment) -> Any:
    before = asdict(lab.instance.queues.stats())
    lab.done("fine", "true")
    lab.done("fails", "false")
    lab.done("late", "sleep", "60", duration=0.2)
    runs, other = lab.running("runs"), lab.running("other")
    lab.instance.jobs.cancel(other)
    lab.instance.jobs.wait(other, 20)
    pending = lab.submit("held", "true", urgency=0)
    lab.submit("after", "true", dependencies=(f"afterok:{pending}",))
    lab.settles(pending, JobState.SCHED)
    eventually(lambda: lab.instance.queues.stats().depend == 1, "one job depends")
    stats = lab.instance.queues.stats()
    assert runs
    return before, asdict(stats), stats.pending, stats.running


@case(
    "queues.all", "queues.stop", "queues.start", "queues.stats", "jobs.submit", "jobs.find", extra=TWO_QUEUES
)
def named_queues(lab: Experiment) -> Any:
    on = lab.instance
    before = [asdict(queue) for queue in on.queues.all()]
    on.queues.start()
    on.queues.stop("debug", "only one")
    stopped = [asdict(queue) for queue in on.queues.all()]
    usual = lab.done("usual", "true")
    waits = lab.submit("waits", "true", queue="debug")
    lab.settles(waits, JobState.SCHED)
    seen = {
        "before": before,
        "stopped": stopped,
        "refused": lab.refusal(lambda: lab.submit("x", "true", queue="nope")),
        "listed": [shown(job) for job in on.jobs.find(JobFilter(queue="debug"))],
        "usual": lab.job(usual),
        "stats": asdict(on.queues.stats()),
    }
    on.queues.start()
    return seen, lab.ended(waits)["result"], [queue.started for queue in on.queues.all()]


@case("nodes.brokers", fresh=True)
def brokers_up_and_lost(lab: Experiment) -> Any:
    before = [asdict(broker) for broker in lab.instance.nodes.brokers()]
    lab.lab.kill_broker(1)
    eventually(lambda: lab.instance.nodes.brokers()[1].state != "full", "the overlay misses broker 1")
    eventually(lambda: lab.instance.nodes.resources().offline.nodes, "broker 1 is offline")
    after = [asdict(broker) for broker in lab.instance.nodes.brokers()]
    return before, after, asdict(lab.instance.nodes.resources())


@case("jobs.events", "jobs.wait", fresh=True)
def job_on_a_lost_broker(lab: Experiment) -> Any:
    runs = lab.running("runs", nodes=2, tasks=2)
    lab.lab.kill_broker(1)
    ended = lab.ended(runs)
    return ended, [event for event in lab.events(runs) if event[0] == "exception"]


@case("life.attributes", "engine", "uri", "links")
def broker_attributes(lab: Experiment) -> Any:
    attributes = lab.instance.life.attributes()
    names = (
        "rank", "size", "hostlist", "hostname", "instance-level", "rundir", "local-uri", "broker.boot-method",
        "log-stderr-level", "broker.quorum",
    )  # fmt: skip
    assert lab.instance.engine == lab.lab.engine
    assert lab.instance.uri == lab.lab.uri
    assert lab.instance.links.rpc("attr.get", {"name": "size"})["value"] == attributes["size"]
    present = [
        name for name in ("version", "broker.pid", "broker.starttime", "security.owner") if name in attributes
    ]
    return {name: attributes.get(name) for name in names}, present


@case("life.dump", "jobs.find", "queues.stats", fresh=True)
def dump_and_restore(lab: Experiment) -> Any:
    """Nothing is lost: ids, states, attributes, output and eventlogs; what waited runs later."""
    on, dump = lab.instance, str(lab.lab.folder / "dump.tar")
    done = lab.done("done", "sh", "-c", "echo kept; exit 3", attributes={"color": "red"})
    at_rest = lab.submit("held", "true", urgency=0, attributes={"color": "blue"})
    after = lab.submit("after", "true", dependencies=(f"afterany:{at_rest}",))
    eventually(lambda: on.queues.stats().depend == 1 and on.queues.stats().sched == 1, "both wait")
    on.queues.stop()
    pending = on.queues.wait_idle(10)
    events = lab.events(done)
    on.life.dump(dump)
    assert lab.fresh is not None
    with Experiment.on(lab.fresh("", f"-Scontent.restore={dump}")) as later:
        later.ids = lab.ids
        eventually(lambda: later.instance.queues.stats().total == 3, "all jobs are known again")
        seen = {
            "pending": pending,
            "done": {**later.job(done), "annotations": "not kept by Flux"},
            "same events": later.events(done) == events,
            "output": later.output(done),
            "held": later.job(at_rest),
        }
        later.instance.queues.start()
        later.instance.jobs.set_urgency(at_rest, 16)
        return {**seen, "ends": [later.ended(each)["result"] for each in (at_rest, after)]}


@case("life.shutdown", "life.dump", fresh=True)
def shutdown_with_a_dump(lab: Experiment) -> Any:
    dump = lab.lab.folder / "end.tar"
    pending = lab.submit("held", "true", urgency=0)
    lab.settles(pending, JobState.SCHED)
    lab.instance.queues.stop()
    lab.instance.life.shutdown(str(dump))
    codes = [broker.wait(20) for broker in lab.lab.brokers.values()]
    lab.lab.brokers.clear()
    gone = lab.refusal(lab.instance.queues.stats)[0]
    assert lab.fresh is not None
    with Experiment.on(lab.fresh("", f"-Scontent.restore={dump}")) as later:
        later.ids = lab.ids
        return dump.stat().st_size > 0, codes, gone, later.job(pending)["state"]


@case("life.dump")
def refused_dump(lab: Experiment) -> Any:
    return lab.refusal(lambda: lab.instance.life.dump("/no/such/folder/dump.tar"))[0]


@case("close")
def closed_connection(lab: Experiment) -> Any:
    other = lab.lab.connect()
    stream = other.jobs.events(follow=True)
    other.close()
    other.close()
    try:
        rest = len([event.name for event in stream if event.id in lab.ids])
    except InstanceGone:
        rest = 0
    return lab.refusal(other.queues.stats)[0], rest


@case("queues.stats", fresh=True)
def lead_that_is_killed(lab: Experiment) -> Any:
    pending = lab.submit("held", "true", urgency=0)
    stream = lab.instance.jobs.events(pending, follow=True)
    first = next(stream).name
    lab.lab.kill_broker(0)
    ended = lab.refusal(lambda: list(stream))[0]
    return first, ended, lab.refusal(lab.instance.queues.stats)[0]


@case("queues.update", "jobs.get", extra=TWO_QUEUES)
def moved_to_another_queue(lab: Experiment) -> Any:
    on, pending = lab.instance, lab.submit("moved", "true", queue="debug", duration=60)
    lab.settles(pending, JobState.SCHED)
    on.queues.update(pending, queue="batch", duration=90.5)
    moved = lab.job(pending)
    refusals = [
        lab.refusal(lambda: on.queues.update(pending, queue="batch")),
        lab.refusal(lambda: on.queues.update(pending, queue="nope")),
        lab.refusal(lambda: on.queues.update(pending, duration=-1)),
    ]
    on.queues.start("batch")
    return moved, refusals, lab.ended(pending), lab.events(pending)


@case("queues.update")
def time_limit_of_a_running_job(lab: Experiment) -> Any:
    on, runs = lab.instance, lab.running("limited", duration=600)
    on.queues.update(runs, duration=0)
    unlimited = on.jobs.get(runs).expiration
    on.queues.update(runs, duration=2)
    return unlimited, lab.refusal(lambda: on.queues.update(runs, queue="nope")), lab.ended(runs)


@case("queues.update")
def update_of_what_does_not_wait(lab: Experiment) -> Any:
    on, done = lab.instance, lab.done("done", "true")
    return {
        "no such job": lab.refusal(lambda: on.queues.update(77, duration=5)),
        "an ended one": lab.refusal(lambda: on.queues.update(done, duration=5)),
    }
