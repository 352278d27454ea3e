"""Jobs of the fake service: submitted once a key; each ends at once, or when the test lets it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker_config.formats.jobid import f58
from tests.client.fake_service import problem

if TYPE_CHECKING:
    from tests.client.fake_service import Answer, Request, Service

JOBS = "/v2/clusters/mc/jobs"


@dataclass
class FakeJobs:
    """The jobs of cluster mc."""

    service: Service
    by_key: dict[str, dict[str, Any]] = field(default_factory=dict)
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    ends: bool = True
    """Whether a job ends at once."""

    def __post_init__(self) -> None:
        self.service.routes |= {
            ("POST", JOBS): self.submit,
            ("POST", f"{JOBS}:submit"): self.submit_many,
            ("GET", JOBS): self.page,
        }

    def submit(self, request: Request) -> Answer:
        """Make a job, or return that of the same key."""
        return 201, self._job_of(request.headers["idempotency-key"], request.json)

    def submit_many(self, request: Request) -> Answer:
        """Make jobs, or return those of the same key. One of queue nope is refused."""
        key, found = request.headers["idempotency-key"], []
        for number, each in enumerate(request.json["jobs"]):
            if each.get("queue") == "nope":
                found.append({"status": 422, "id": None, **problem("invalid", "there is no queue nope")})
            else:
                found.append({"status": 201, **self._job_of(f"{key}/{number}", each)})
        return 207, {"results": found}

    def _job_of(self, key: str, sent: dict[str, Any]) -> dict[str, str]:
        if key not in self.by_key:
            number = 1000 + len(self.by_key)
            job = record(number, sent.get("command", ["script"]))
            self.by_key[key] = self.found[job["id"]] = job
            if self.ends:
                self.end(job["id"], int(job["name"] == "false"))
            self.service.routes |= {
                ("GET", f"{JOBS}/{job['id']}"): lambda _: (200, job),
                ("POST", f"{JOBS}/{job['id']}/cancel"): lambda _: self.cancel(job["id"]),
            }
        job = self.by_key[key]
        return {"id": job["id"], "number": job["number"]}

    def end(self, id: str, code: int = 0) -> None:  # noqa: A002 - the field's name
        """Let a job end."""
        result = "FAILED" if code else "COMPLETED"
        self.found[id].update(state="INACTIVE", result=result, returncode=code, t_inactive=9.0)

    def cancel(self, id: str) -> Answer:  # noqa: A002 - the field's name
        """Let a job end as cancelled."""
        if self.found[id]["state"] == "INACTIVE":
            return 409, problem("ended", f"job {id} has ended")
        self.found[id].update(state="INACTIVE", result="CANCELED", returncode=-128)
        return 202, self.found[id]

    def page(self, request: Request) -> Answer:
        """Return two jobs a page."""
        start = int(request.query.get("cursor", ["0"])[0])
        wanted = [each for each in reversed(self.found.values()) if _is_wanted(each, request)]
        after = start + 2
        return 200, {"jobs": wanted[start:after], "next": str(after) if wanted[after:] else None}


def _is_wanted(job: dict[str, Any], request: Request) -> bool:
    return request.query.get("state") != ["active"] or job["state"] != "INACTIVE"


def record(number: int, command: list[str]) -> dict[str, Any]:
    """Return a job that runs."""
    return {
        "id": f58(number),
        "number": str(number),
        "cluster": "mc",
        "owner": "01U",
        "name": command[0],
        "state": "RUN",
        "result": None,
        "returncode": None,
        "queue": "",
        "bank": "",
        "urgency": 16,
        "priority": 16,
        "nnodes": 1,
        "ntasks": 1,
        "ncores": 1,
        "duration": 0.0,
        "expiration": 0.0,
        "t_submit": 1.0,
        "t_run": 2.0,
        "t_cleanup": None,
        "t_inactive": None,
        "nodelist": "mc-0",
        "exception": None,
        "dependencies": [],
        "annotations": {},
        "restart_of": None,
        "burst": None,
    }
