"""Makes today's records of the status from conditions of 0.1.0, which kept them in messages alone.

No other module reads the message or the time of a stored condition; this one does where records are absent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from minicluster.document import LeadLoss, NodeLoss, ResizeStatus, SaveStatus
from minicluster.plan.constants import ConditionType, Reason
from minicluster.plan.status import restarted_jobs

if TYPE_CHECKING:
    from minicluster.document import Condition, MiniCluster, RestartedJob, Status

_LEAD_LOSS_NOTE = "it began anew when its lead's pod was lost"
_LIMIT = re.compile(r"; it goes after \d+ s at the latest$")
_SAVING = re.compile(r"saving to .* before (?:it is deleted|its pods go): (?P<stage>.*)", re.DOTALL)
_FAILED = re.compile(
    r"nothing was saved to .*?: (?P<error>.*); it is tried again at (?P<retry>\S+)", re.DOTALL
)
_ABANDONED = re.compile(r"nothing is known to be saved to .* after \d+ s(?: \((?P<error>.*)\))?; ", re.DOTALL)
_WAITING = re.compile(r"waiting for (\d+) jobs?")
_STAGES = {
    "the lead broker is told": "Ordered",
    "the dump is being written": "Writing",
    "the lead's pod was told to go, and saves before it does": "Leaving",
}
_RANKS = r"ranks? (?P<ranks>[0-9,-]+)"
_GOAL = re.compile(r"(?:growing|shrinking) to (?P<size>\d+) pods(?:: (?P<detail>.*))?", re.DOTALL)
_RETURNING = re.compile(f"{_RANKS} to get jobs again")
_BUSY = re.compile(
    f"(?:after .*\\) )?(?:waiting for the jobs on )?{_RANKS}(?: still had jobs.*|;.*)?", re.DOTALL
)
_DRAINED = re.compile(f"waiting for {_RANKS} to be drained;")
_UNKNOWN = re.compile(
    f"(?:after .*\\) )?whether jobs run on {_RANKS} is not known(?: \\((?P<error>.*)\\))?(?:;.*)?", re.DOTALL
)
_RESTARTING = re.compile(f"the jobs on {_RANKS} did not end in time")
_RESTARTED = re.compile(f"after .*\\) jobs on {_RANKS} could not finish")
_UNTIL = re.compile(r"; they go at (\S+) at the latest$")
_NAMED = re.compile(r"(\S+) as ([^\s,;]+)")
_LOST = re.compile(r"(\S+) \((.*?)\)(?=, |$)", re.DOTALL)
_MORE = re.compile(r"(\d+) more$")
_CODE = re.compile(r"the lead's pod has ended(?: with (-?\d+))?:")


def migrated(cluster: MiniCluster) -> MiniCluster:
    """Return the document with the records that its stored status lacks."""
    stored = cluster.status
    found = {each.type: each for each in stored.conditions}
    changes = {
        **_save(stored, found.get(ConditionType.SUSPENDED)),
        **_resize(stored, found.get(ConditionType.RESIZING)),
        **_node_loss(stored, found.get(ConditionType.BROKERS_READY)),
        **_lead_loss(stored, found.get(ConditionType.RUNNING)),
    }
    if not changes:
        return cluster
    jobs = [each for cause in ("Save", "Resize", "NodeLoss") for each in changes.pop(f"jobs of {cause}", ())]
    changes["restarted_jobs"] = (*stored.restarted_jobs, *jobs)
    return cluster.model_copy(update={"status": stored.model_copy(update=changes)})


def _save(stored: Status, shown: Condition | None) -> dict[str, Any]:
    if stored.save is not None or shown is None or not shown.last_transition_time:
        return {}
    started, message = shown.last_transition_time, _LIMIT.sub("", shown.message)
    match shown.reason:
        case Reason.SAVING:
            return {"save": _save_under_way(message, started)}
        case Reason.SAVE_FAILED:
            return {"save": _save_failed(message, started)}
        case Reason.NOT_SAVED:
            return {"save": _not_saved(message, started)}
        case Reason.SAVED:
            jobs, _, _ = _jobs(message, "Save")
            return {"save": SaveStatus(phase="Saved", started_at=started), "jobs of Save": jobs}
    return {}


def _save_failed(message: str, started: str) -> SaveStatus:
    failed = _FAILED.fullmatch(message)
    error, retry = (failed["error"], failed["retry"]) if failed else ("", started)
    error = "" if error == "the lead does not say why" else error
    return SaveStatus(phase="Failed", started_at=started, error=error, retry_at=retry)


def _not_saved(message: str, started: str) -> SaveStatus:
    if abandoned := _ABANDONED.match(message):
        return SaveStatus(phase="Abandoned", started_at=started, error=abandoned["error"] or "")
    return SaveStatus(phase="Lost", started_at=started, error=message.partition(": ")[2])


def _save_under_way(message: str, started: str) -> SaveStatus:
    found = _SAVING.fullmatch(message)
    stage = found["stage"] if found else "the lead broker is told"
    if waiting := _WAITING.fullmatch(stage):
        return SaveStatus(phase="Waiting", started_at=started, waiting_for=int(waiting[1]))
    phase = _STAGES.get(stage)
    if phase is None:
        return SaveStatus(phase="Unreachable", started_at=started, error=stage)
    return SaveStatus.model_validate({"phase": phase, "startedAt": started})


def _resize(stored: Status, shown: Condition | None) -> dict[str, Any]:
    if stored.resize is not None or shown is None or shown.status != "True" or not shown.last_transition_time:
        return {}
    goal = _GOAL.match(shown.message)
    size, detail = (int(goal["size"]), goal["detail"] or "") if goal else (stored.size, "")
    fields: dict[str, Any] = {
        "startedAt": shown.last_transition_time,
        "from": stored.size,
        "to": size,
        "generation": shown.observed_generation or 0,
    }
    jobs: tuple[RestartedJob, ...] = ()
    match shown.reason:
        case Reason.GROWING:
            back = _RETURNING.match(detail)
            fields |= {"phase": "Growing", "returning": back["ranks"] if back else ""}
        case Reason.JOBS_RESTARTED:
            jobs, restarted, lost = _jobs(detail, "Resize")
            fields |= {"phase": "JobsRestarted", "restarted": restarted, "lost": lost, **_drained(detail)}
        case Reason.DRAIN_TIMED_OUT:
            fields |= {"phase": "TimedOut", **_drained(detail)}
        case Reason.DRAINING:
            until = _UNTIL.search(detail)
            phase = "Restarting" if _RESTARTING.match(detail) else "Draining"
            fields |= {"phase": phase, "until": until[1] if until else None, **_drained(detail)}
        case _:
            fields["phase"] = "Shrinking"
    return {"resize": ResizeStatus.model_validate(fields), "jobs of Resize": jobs}


def _drained(detail: str) -> dict[str, Any]:
    """Return the ranks that a shrink waits for, the busy ones among them, or why these are not known."""
    for pattern in (_DRAINED, _RESTARTING, _RESTARTED):
        if found := pattern.match(detail):
            return {"leaving": found["ranks"], "busy": "" if pattern is _DRAINED else None}
    if found := _UNKNOWN.fullmatch(detail):
        return {"leaving": found["ranks"], "error": found["error"] or ""}
    if found := _BUSY.fullmatch(detail):
        return {"leaving": found["ranks"], "busy": found["ranks"]}
    return {}


def _node_loss(stored: Status, shown: Condition | None) -> dict[str, Any]:
    if stored.node_loss is not None or shown is None or shown.status != "False":
        return {}
    _, mark, became = shown.message.partition("; of the jobs that ran there: ")
    if shown.reason != Reason.JOBS_RESTARTED or not mark:
        return {}
    jobs, restarted, lost = _jobs(f"; {became}", "NodeLoss")
    return {"node_loss": NodeLoss(restarted=restarted, lost=lost), "jobs of NodeLoss": jobs}


def _lead_loss(stored: Status, shown: Condition | None) -> dict[str, Any]:
    if stored.lead_loss is not None or shown is None:
        return {}
    if shown.reason == Reason.LEAD_LOST:
        ended = _CODE.match(shown.message)
        if ended is None:
            return {"lead_loss": LeadLoss(cause="PodGone")}
        code = int(ended[1]) if ended[1] else None
        return {"lead_loss": LeadLoss(cause="PodEnded", exit_code=code)}
    if _LEAD_LOSS_NOTE in shown.message:
        return {"lead_loss": LeadLoss(cause="PodGone", is_over=True)}
    return {}


def _jobs(
    text: str, cause: Literal["Save", "Resize", "NodeLoss"]
) -> tuple[tuple[RestartedJob, ...], int, int]:
    """Return the jobs in a message, and how many were restarted and lost in all."""
    _, _, again = text.partition("; started again: ")
    again, _, gone = again.partition("; lost: ") if again else ("", "", text.partition("; lost: ")[2])
    restarted = tuple((old, new) for old, new in _NAMED.findall(again))
    lost = tuple((job, why) for job, why in _LOST.findall(gone))
    jobs = restarted_jobs.records(cause, restarted, lost)
    return jobs, len(restarted) + _more(again), len(lost) + _more(gone)


def _more(text: str) -> int:
    found = _MORE.search(text)
    return int(found[1]) if found else 0
