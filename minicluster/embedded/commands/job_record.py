"""One job of job-list as `flux jobs` shows it: its fields, their column heads, and its JSON form."""

from __future__ import annotations

import os
import pwd
import signal
import time
from typing import TYPE_CHECKING, Any

from broker_config.formats import durations, jobid
from broker_config.formats.job_states import RESULT_NAMES, STATE_NAMES
from minicluster.embedded.commands import named_formats
from minicluster.embedded.formats import headings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from minicluster.embedded.client import JSON
    from minicluster.embedded.formats import OutputFormat

_SHORT = {"COMPLETED": "CD", "FAILED": "F", "CANCELED": "CA", "TIMEOUT": "TO"}
_WORDS = {126: "Command invoked cannot execute", 127: "command not found", 128: "Invalid argument to exit"}
_ZERO = {"t_depend", "t_priority", "t_sched", "t_run", "t_cleanup", "t_inactive", "duration", "expiration"}
HEADINGS = headings(
    "id=JOBID id.dec=JOBID id.f58=JOBID userid=UID username=USER urgency=URG priority=PRI state "
    "state_single=S name cwd queue ntasks ncores duration nnodes expiration t_remaining ranks "
    "nodelist success result status status_abbrev=ST t_submit t_depend t_run t_cleanup t_inactive runtime "
    "waitstatus=WSTATUS returncode=RC inactive_reason=INACTIVE-REASON contextual_info=INFO "
    "contextual_time=TIME dependencies "
    "exception.occurred exception.severity exception.type exception.note"
)
_HEAD = "{id.f58:>12} ?:{queue:<8.8} +:{username:<8} {name:<10.10+} "
_SIZE = " {ntasks:>6} {nnodes:>6h} "
FORMATS = {
    "default": _HEAD + "{status_abbrev:>2.2}" + _SIZE + "{contextual_time!F:>8h} {contextual_info}",
    "long": _HEAD + "{status:>9.9}" + _SIZE + "{t_submit!d:%b%d %R::>12} {t_remaining!F:>12h} "
    "{contextual_time!F:>8h} {contextual_info}",
    "deps": "{id.f58:>12} ?:{queue:<8.8} {name:<10.10+} "
    "{urgency:<3} {priority:<12} {state:<8.8} {dependencies}",
    "endreason": _HEAD + "{status_abbrev:>2.2} {t_inactive!d:%b%d %R::>12h} {inactive_reason}",
}
"""The formats that -o names."""
# The fields of the JSON form, in its order.
_EXPORTED = (
    "t_depend t_priority t_sched t_run t_cleanup t_inactive duration expiration name cwd queue "
    "ntasks ncores nnodes priority ranks nodelist success result waitstatus id t_submit t_remaining state "
    "username userid urgency runtime status returncode"
)


def layout(options: argparse.Namespace, named: Mapping[str, str]) -> OutputFormat:
    """Return the format that -o gives or names, or end the command."""
    return named_formats.chosen(options, named, HEADINGS, value, "Error in user format: {}")


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


def _inactive_reason(job: JSON) -> str:
    """Return how a job ended; empty while it is active."""
    result = _result(job) if _state(job) == "INACTIVE" else ""
    kind, note = job.get("exception_type", ""), job.get("exception_note", "")
    if result == "CANCELED":
        return f"Canceled: {note}" if kind == "cancel" and note else "Canceled"
    if result == "FAILED" and kind not in ("", "exec") and job.get("exception_severity") == 0:
        return f"Exception: type={kind}" + (f" note={note}" if note else "")
    return _ending(job) if result in ("COMPLETED", "FAILED") else result.capitalize()


def _ending(job: JSON) -> str:
    code = _returncode(job)
    if code in _WORDS:
        return _WORDS[int(code)]
    if isinstance(code, int) and code > 128:
        return signal.strsignal(code - 128) or f"Signaled {code - 128}"
    return f"Exit {code}"


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
    return ",".join(_dependency(each) for each in job.get("dependencies", ()))


def _dependency(text: str) -> str:
    """Return a dependency as a user reads it: a begin time as day and time of day."""
    kind, _, value = text.partition("=")
    if kind != "begin-time":
        return text
    begin, now = time.localtime(float(value)), time.localtime()
    day = "" if begin[:3] == now[:3] else time.strftime("%b%d-", begin)
    return f"begin@{day}{time.strftime('%H:%M:%S' if begin.tm_sec else '%H:%M', begin)}"


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
    "inactive_reason": _inactive_reason,
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
