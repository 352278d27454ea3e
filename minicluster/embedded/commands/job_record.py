"""One job of job-list as `flux jobs` shows it: its fields, their column heads, and its JSON form."""

from __future__ import annotations

import json
import os
import pwd
import signal
import time
from typing import TYPE_CHECKING, Any

from minicluster.embedded import jobid
from minicluster.embedded.formats import fsd, headings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.embedded.client import JSON

STATES = {1: "NEW", 2: "DEPEND", 4: "PRIORITY", 8: "SCHED", 16: "RUN", 32: "CLEANUP", 64: "INACTIVE"}
RESULTS = {1: "COMPLETED", 2: "FAILED", 4: "CANCELED", 8: "TIMEOUT"}
_SHORT = {"COMPLETED": "CD", "FAILED": "F", "CANCELED": "CA", "TIMEOUT": "TO"}
_EMOJI = {
    "DEPEND": "🛑", "PRIORITY": "🚦", "SCHED": "📅", "RUN": "🏃", "CLEANUP": "🗑",
    "COMPLETED": "😀", "FAILED": "💩", "CANCELED": "💥", "TIMEOUT": "⌛",
}  # fmt: skip
_ZERO = {"t_depend", "t_priority", "t_sched", "t_run", "t_cleanup", "t_inactive", "duration", "expiration"}
HEADINGS = headings(
    "id=JOBID id.dec=JOBID id.hex=JOBID id.f58=JOBID id.f58plain=JOBID id.kvs=JOBID id.dothex=JOBID "
    "userid=UID username=USER urgency=URG priority=PRI state state_single=S name cwd queue project bank "
    "ntasks ncores duration nnodes expiration t_remaining ranks nodelist success result "
    "result_abbrev=RS status status_abbrev=ST status_emoji=STATUS t_submit t_depend t_priority t_sched "
    "t_run t_cleanup t_inactive runtime waitstatus=WSTATUS returncode=RC contextual_info=INFO "
    "contextual_time=TIME inactive_reason=INACTIVE-REASON exception.occurred exception.severity "
    "exception.type exception.note dependencies annotations annotations.* sched sched.* user user.* "
    "annotations.sched.resource_summary=RESOURCES sched.resource_summary=RESOURCES uri"
)
# The attributes of job-list behind the fields that are no attribute themselves.
_NEEDS = {
    **dict.fromkeys(("id", "id.dec", "id.hex", "id.f58", "id.f58plain", "id.kvs", "id.dothex"), ""),
    **dict.fromkeys(("status", "status_abbrev", "status_emoji"), "state result"),
    "state_single": "state",
    "result_abbrev": "result",
    "username": "userid",
    "returncode": "waitstatus result",
    "runtime": "t_run t_cleanup",
    "t_remaining": "state expiration",
    "contextual_time": "state duration t_run t_cleanup",
    "contextual_info": "state dependencies annotations urgency priority nodelist",
    "inactive_reason": "state result waitstatus exception_type exception_note exception_severity",
}
# What the JSON form holds, in its order.
_EXPORTED = (
    "t_depend t_priority t_sched t_run t_cleanup t_inactive duration expiration name cwd queue project bank "
    "ntasks ncores nnodes priority ranks nodelist success result waitstatus id t_submit t_remaining state "
    "username userid urgency runtime status returncode"
)


def attributes(fields: Iterable[str]) -> list[str]:
    """What to ask job-list for, so that `fields` can be shown."""
    wanted: set[str] = set()
    for field in fields:
        needed = _NEEDS.get(field)
        root = field.split(".", maxsplit=1)[0]
        if needed is None and root in ("annotations", "sched", "user", "uri"):
            needed = "annotations"
        wanted.update((needed if needed is not None else field.replace(".", "_")).split())
    return sorted(wanted)


def value(job: JSON, name: str) -> Any:
    """The value of field `name`; empty text where the job has none."""
    compute = _COMPUTED.get(name)
    if compute is not None:
        return compute(job)
    if name.startswith("exception."):
        return job.get(name.replace(".", "_"), "")
    root, _dot, path = name.partition(".")
    if path or root in ("annotations", "sched", "user"):
        return _annotation(job, root, path)
    return job.get(name, 0.0 if name in _ZERO else "")


def _annotation(job: JSON, root: str, path: str) -> Any:
    found: Any = job.get("annotations") or {}
    for key in ([] if root == "annotations" else [root]) + (path.split(".") if path else []):
        found = found.get(key, "") if isinstance(found, dict) else ""
    return (json.dumps(found) if found else "") if isinstance(found, dict) else found


def _state(job: JSON) -> str:
    return STATES.get(job.get("state", 1), "")


def _result(job: JSON) -> str:
    return RESULTS.get(job.get("result", 0), "")


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
    """What matters about the job in its state: why it waits, or where it runs."""
    state = _state(job)
    if state == "PRIORITY":
        return "priority-wait"
    if state == "DEPEND":
        return f"depends:{_dependencies(job)}"
    if state == "SCHED":
        return _pending_info(job)
    return str(job.get("nodelist", ""))


def _pending_info(job: JSON) -> str:
    estimate = _annotation(job, "sched", "t_estimate")
    if isinstance(estimate, int | float):
        left = estimate - time.time()
        return f"eta:{'now' if left < 0 else fsd(left)}"
    if job.get("urgency") == 0:
        return "held"
    return "priority-hold" if job.get("priority") == 0 else ""


def _time(job: JSON) -> float:
    return (
        float(job.get("duration", 0.0)) if _state(job) in ("DEPEND", "PRIORITY", "SCHED") else _runtime(job)
    )


def _dependencies(job: JSON) -> str:
    return ",".join(job.get("dependencies", ()))


def _reason(job: JSON) -> str:
    """Why the job ended."""
    result, kind, text = _result(job), job.get("exception_type"), job.get("exception_note")
    if result == "TIMEOUT":
        return "Timeout"
    if result == "CANCELED":
        return f"Canceled: {text}" if kind == "cancel" and text else "Canceled"
    if result == "FAILED" and kind and kind != "exec" and job.get("exception_severity") == 0:
        return f"Exception: type={kind}" + (f" note={text}" if text else "")
    return _exit_reason(_returncode(job)) if result else ""


def _exit_reason(code: int | str) -> str:
    named = {126: "Command invoked cannot execute", 127: "command not found", 128: "Invalid argument to exit"}
    if isinstance(code, int) and code > 128:
        return signal.strsignal(code - 128) or f"Signaled {code - 128}"
    return named.get(code, f"Exit {code}") if isinstance(code, int) else ""


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
    "id.f58plain": lambda job: jobid.f58plain(job["id"]),
    "id.kvs": lambda job: jobid.kvs(job["id"]),
    "id.dothex": lambda job: jobid.dothex(job["id"]),
    "id.hex": lambda job: hex(job["id"]),
    "state": _state,
    "state_single": lambda job: _state(job)[:1],
    "result": _result,
    "result_abbrev": lambda job: _SHORT.get(_result(job), ""),
    "status": _status,
    "status_abbrev": _status_abbrev,
    "status_emoji": lambda job: _EMOJI.get(_status(job), ""),
    "runtime": _runtime,
    "t_remaining": _remaining,
    "returncode": _returncode,
    "username": _username,
    "dependencies": _dependencies,
    "contextual_info": _info,
    "contextual_time": _time,
    "inactive_reason": _reason,
    "uri": lambda job: _annotation(job, "user", "uri"),
}


def exported(job: JSON) -> JSON:
    """The JSON form: known values only, as `flux jobs --json` writes them."""
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
