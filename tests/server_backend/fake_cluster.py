"""Cluster mc of a fake service: the routes of its jobs, nodes and queues, over an instance in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker_config.formats.jobid import f58, parse
from minicluster.instance.errors import JobInactive, JobNotFound
from minicluster.instance.records import JobFilter, JobRequest, JobResult, JobState
from tests.backends.memory_instance import MemoryInstance, MemoryNodes
from tests.client.fake_service import problem

if TYPE_CHECKING:
    from minicluster.instance.records import Job
    from tests.client.fake_service import Answer, Request, Service

ROOT = "/v2/clusters/mc"
CLUSTER = {"name": "mc", "namespace": "", "tenancy": "shared", "owner": None, "state": "ready", "reason": ""}
ABSENT: Answer = (404, problem("not-found", "there is no such thing here"))
AMOUNT = {"nodes": 2, "cores": 2, "gpus": 0}


@dataclass
class FakeCluster:
    """The routes."""

    service: Service
    instance: MemoryInstance = field(default_factory=lambda: MemoryInstance(nodes=MemoryNodes(2)))
    submitted: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.service.other = self.job
        self.service.routes |= {
            ("GET", "/v2/clusters"): lambda _: (200, {"clusters": [CLUSTER]}),
            ("GET", ROOT): lambda _: (200, CLUSTER),
            ("GET", f"{ROOT}/nodes"): lambda _: (200, _nodes()),
            ("GET", f"{ROOT}/queues"): lambda _: (200, {"queues": [_queue()]}),
            ("GET", f"{ROOT}/stats"): lambda _: (200, self.stats()),
            ("GET", f"{ROOT}/jobs"): self.page,
            ("POST", f"{ROOT}/jobs"): self.submit,
            ("POST", f"{ROOT}/jobs:submit"): self.submit_many,
            ("POST", f"{ROOT}/jobs:validate"): self.validate,
            ("POST", f"{ROOT}/jobs:cancel"): self.cancel_many,
        }

    def submit(self, request: Request) -> Answer:
        """Submit a job."""
        return 201, self._submitted(request.json)

    def submit_many(self, request: Request) -> Answer:
        """Submit jobs, but those whose last word is refused."""
        return 207, {"results": [self._outcome(each) for each in request.json["jobs"]]}

    def _outcome(self, sent: dict[str, Any]) -> dict[str, Any]:
        if sent["command"][-1] == "refused":
            return {"status": 422, "id": None, **problem("invalid", "such a job is refused")}
        return {"status": 201, **self._submitted(sent)}

    def _submitted(self, sent: dict[str, Any]) -> dict[str, str]:
        self.submitted.append(sent)
        jobid = self.instance.jobs.submit(_request(sent))
        return {"id": f58(jobid), "number": str(jobid)}

    def validate(self, request: Request) -> Answer:
        """Answer whether it could run."""
        reason = self.instance.jobs.unsatisfiable(_request(request.json))
        return 200, {"feasible": not reason, "reason": reason, "jobspec": {}}

    def cancel_many(self, request: Request) -> Answer:
        """Cancel jobs."""
        for each in request.json["ids"]:
            self.instance.jobs.cancel(parse(each))
        return 207, {"results": [{"id": each, "status": 202, "detail": ""} for each in request.json["ids"]]}

    def page(self, request: Request) -> Answer:
        """Return all jobs as one page."""
        states = JobState(0)
        for name in request.query.get("state", ()):
            states |= JobState[name.upper()]
        found = self.instance.jobs.find(JobFilter(states=states or None))
        return 200, {"jobs": [_view(each) for each in found], "next": None}

    def stats(self) -> dict[str, Any]:
        """Return the numbers of jobs."""
        jobs = self.instance.found.values()
        pending = sum(each.result is None for each in jobs)
        return {"own": {"pending": pending, "running": 0, "inactive": len(jobs) - pending}, "all": None}

    def job(self, request: Request) -> Answer:
        """Answer about one job."""
        words = request.path.removeprefix(f"{ROOT}/jobs/").split("/")
        if not request.path.startswith(f"{ROOT}/jobs/") or parse(words[0]) not in self.instance.found:
            return ABSENT
        try:
            return self._act(parse(words[0]), words[1:], request)
        except JobInactive:
            return 409, problem("ended", f"job {words[0]} has ended")
        except JobNotFound:
            return ABSENT

    def _act(self, jobid: int, words: list[str], request: Request) -> Answer:
        jobs = self.instance.jobs
        match request.method, words:
            case "GET", []:
                return 200, _view(jobs.get(jobid))
            case "GET", ["jobspec"]:
                return 200, jobs.jobspec(jobid)
            case "GET", ["output"]:
                with jobs.output(jobid) as chunks:
                    return 200, b"".join(
                        _event(
                            each.stream, {"task": each.task, "text": each.data.decode()}, str(each.sequence)
                        )
                        for each in chunks
                    ) + _event("end", {"state": "inactive", "result": "completed", "returncode": 0}, "end")
            case "POST", ["cancel"]:
                shown = _view(jobs.get(jobid))
                jobs.cancel(jobid)
                return 202, shown
            case "POST", ["urgency"]:
                number = request.json["urgency"]
                return 200, {"urgency": number, "before": jobs.set_urgency(jobid, number)}
        return ABSENT


def _event(name: str, data: dict[str, Any], number: str) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\nid: {number}\n\n".encode()


def _request(sent: dict[str, Any]) -> JobRequest:
    command = sent["jobspec"]["tasks"][0]["command"] if "jobspec" in sent else sent["command"]
    names = ("tasks", "nodes", "urgency", "queue", "name")
    return JobRequest(tuple(command), **{name: sent[name] for name in names if name in sent})


def _view(job: Job) -> dict[str, Any]:
    result = job.result
    return {
        "id": f58(job.id),
        "number": str(job.id),
        "cluster": "mc",
        "owner": "01U",
        "owner_name": "alice",
        "name": job.name,
        "state": job.state.name,
        "result": JobResult(result).name if result else None,
        "returncode": job.returncode,
        "urgency": job.urgency,
        "ntasks": job.ntasks,
        "ncores": job.ncores,
        "t_submit": job.t_submit,
        "t_run": job.t_run or None,
        "t_inactive": job.t_inactive or None,
        "exception": None,
        "dependencies": [],
        "annotations": {},
    }


def _nodes() -> dict[str, Any]:
    nodes = [
        {"host": f"mc-{rank}", "rank": rank, "state": "full", "allocated": False, "drained": None}
        for rank in (0, 1)
    ]
    empty = dict.fromkeys(AMOUNT, 0)
    return {"nodes": nodes, "resources": {"all": AMOUNT, "up": AMOUNT, "free": AMOUNT, "allocated": empty}}


def _queue() -> dict[str, Any]:
    return {"name": "default", "enabled": True, "started": True, "disable_reason": "", "stop_reason": ""}
