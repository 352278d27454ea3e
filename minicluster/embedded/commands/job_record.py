"""One job of job-list as `flux jobs` shows it: its fields, their column heads, and its JSON form."""

from __future__ import annotations

import os
import pwd
import time
from typing import TYPE_CHECKING, Any

from broker_config.formats import durations, jobid
from broker_config.formats.job_states import RESULT_NAMES, STATE_NAMES
from minicluster.embedded.formats import headings

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.client import JSON

_SHORT = {"COMPLETED": "CD", "FAILED": "F", "CANCELED": "CA", "TIMEOUT": "TO"}
_ZERO = {"t_depend", "t_priority", "t_sched", "t_run", "t_cleanup", "t_inactive", "duration", "expiration"}
HEADINGS = headings(
    "id=JOBID id.dec=JOBID id.f58=JOBID userid=UID username=USER urgency=URG priority=PRI state "
    "state_single=S name cwd queue ntasks ncores duration nnodes expiration t_remaining ranks "
    "nodelist success result status status_abbrev=ST t_submit t_depend t_run t_cleanup t_inactive runtime "
    "waitstatus=WSTATUS returncode=RC contextual_info=INFO contextual_time=TIME dependencies "
    "exception.occurred exception.severity exception.type exception.note"
)
# The fields of the JSON form, in its order.
_EXPORTED = (
    "t_depend t_priority t_sched t_run t_cleanup t_inactive duration expiration name cwd queue "
    "ntasks ncores nnodes priority ranks nodelist success result waitstatus id t_submit t_remaining state "
    "username userid urgency runtime status returncode"
)


def value(job: JSON, name: str) -> Any:
    """Return the value of field `name`; empty text where the job has none."""
    compute = _COMPUTED.get(name)
    if compute is not None:
        return compute(job)
    return job.get(name.replace(".", "_"), 0.0 if name in _ZERO else "")


def _state(job: JSON) -> str:
    return STATE_NAMES.get(job.get("state", 1), "")


def _result(job: JSON) -> str:
    return RESULT_NAMES.get(job.get("result", 0), "")


def _status(job: JSON) -> str:
    return _result(job) if _state(job) == "INACTIVE" else _state(job)


def _status_abbrev(job: JSON) -> str:
    status = _status(job)
    return _SHORT.get(status, status[:1])


def _runtime(job: JSON) -> float:
    began = job.get("t_run", 0.0)
    if not began:
        return 0.0
    return float((job.get("t_cleanup") or time.time()) - began)


def _remaining(job: JSON) -> float:
    if _state(job) != "RUN":
        return 0.0
    return max(0.0, float(job.get("expiration", 0.0)) - time.time())


def _returncode(job: JSON) -> int | str:
    status = job.get("waitstatus", "")
    if isinstance(status, int):
        return -(status & 0x7F) if status & 0x7F else status >> 8
    return {"CANCELED": -128, "FAILED": 1}.get(_result(job), "")


def _info(job: JSON) -> str:
    """Return why the job waits, or where it runs."""
    state = _state(job)
    if state == "PRIORITY":
        return "priority-wait"
    if state == "DEPEND":
        return f"depends:{_dependencies(job)}"
    if state == "SCHED":
        return _pending_info(job)
    return str(job.get("nodelist", ""))


def _pending_info(job: JSON) -> str:
    estimate = (job.get("annotations") or {}).get("sched", {}).get("t_estimate")
    if estimate is not None:
        left = estimate - time.time()
        return f"eta:{'now' if left < 0 else durations.encode(left)}"
    if job.get("urgency") == 0:
        return "held"
    return "priority-hold" if job.get("priority") == 0 else ""


def _time(job: JSON) -> float:
    return (
        float(job.get("duration", 0.0)) if _state(job) in ("DEPEND", "PRIORITY", "SCHED") else _runtime(job)
    )


def _dependencies(job: JSON) -> str:
    return ",".join(job.get("dependencies", ()))


def _username(job: JSON) -> str:
    userid = job.get("userid", os.getuid())
    try:
        return pwd.getpwuid(userid).pw_name
    except KeyError:
        return str(userid)


_COMPUTED: dict[str, Callable[[JSON], Any]] = {
    "id": lambda job: jobid.f58(job["id"]),
    "id.dec": lambda job: job["id"],
    "id.f58": lambda job: jobid.f58(job["id"]),
    "state": _state,
    "state_single": lambda job: _state(job)[:1],
    "result": _result,
    "status": _status,
    "status_abbrev": _status_abbrev,
    "runtime": _runtime,
    "t_remaining": _remaining,
    "returncode": _returncode,
    "username": _username,
    "dependencies": _dependencies,
    "contextual_info": _info,
    "contextual_time": _time,
}


def exported(job: JSON) -> JSON:
    """Return the JSON form of `flux jobs --json`, with known values only."""
    result: JSON = {}
    for name in _EXPORTED.split():
        found = job["id"] if name == "id" else value(job, name)
        timed = name.startswith("t_") or name in ("runtime", "expiration")
        if found != "" and not (timed and not found):
            result[name] = found
    result["dependencies"] = job.get("dependencies", [])
    result["jobid"] = jobid.f58(job["id"])
    result["annotations"] = job.get("annotations") or {}
    result["exception"] = {"occurred": bool(job.get("exception_occurred"))}
    if job.get("exception_occurred"):
        names = ("severity", "type", "note")
        result["exception"] |= {name: job.get(f"exception_{name}", "") for name in names}
    return result
