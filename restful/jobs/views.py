"""Jobs as clients get them. Pure.

Ids are in F58 (`id`), and in decimals as a text (`number`): they exceed 2^53, up to which JavaScript counts.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field
from pydantic_core import to_json

from broker_config.formats.errors import JobIdError
from broker_config.formats.jobid import f58, parse
from broker_config.formats.jobspec import redacted, user_of
from minicluster.instance.payers import OURS, PAYER
from restful.errors import HttpProblem
from restful.jobs.seal import MARK
from restful.store import jobs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Row

    from minicluster.instance.records import BurstSummary
    from restful.store.jobs import JobRecord

JSON = dict[str, Any]
_SIGNED = {MARK, PAYER}
"""What the service marks jobs with: who has it could write it into others."""


class ExceptionView(BaseModel):
    """What ended a job, or was raised on it (RFC 21)."""

    type: str
    severity: int
    note: str


class JobView(BaseModel):
    """One job. Times are in seconds since 1970 and null before; durations in seconds, 0 without a limit."""

    id: str = Field(description="In F58 (RFC 19).", examples=["ƒ2FdCrTr"])
    number: str = Field(description="The same id in decimals.", examples=["1234567890123456789"])
    cluster: str
    owner: str | None = Field(description="The user's id; null: it was submitted inside the instance.")
    owner_name: str | None = Field(description="The user's name; null where he was deleted, too.")
    name: str
    state: str = Field(description="DEPEND, PRIORITY, SCHED, RUN, CLEANUP or INACTIVE (RFC 21).")
    result: str | None = Field(description="COMPLETED, FAILED, CANCELED or TIMEOUT; null before the end.")
    returncode: int | None = Field(description="Exit code, or the negative number of a signal.")
    queue: str
    bank: str
    urgency: int
    priority: int | None
    nnodes: int
    ntasks: int
    ncores: int
    duration: float
    expiration: float
    t_submit: float
    t_run: float | None
    t_cleanup: float | None
    t_inactive: float | None
    nodelist: str
    exception: ExceptionView | None
    dependencies: list[str]
    annotations: dict[str, Any]
    restart_of: str | None = Field(description="The job of which it is a restart.")
    burst: BurstView | None = Field(
        description="The open burst in whose queue it is; null: none, or it is in a listing."
    )


class BurstView(BaseModel):
    """A burst: nodes of another cluster that were made for jobs."""

    id: str
    slot: str = Field(description="Whose hosts it has: the name of its queue as well.")
    provider: str
    state: str


class JobPage(BaseModel):
    """A page of a listing, latest first."""

    jobs: list[JobView]
    next: str | None = Field(description="The cursor of the next page; null: it was the last one.")


@lru_cache(maxsize=1024)
def encoded_row(row: Row[Any], cluster: str, owner_name: str | None) -> bytes:
    """Return a job of a listing as JSON: most were in one before, and have not changed."""
    return _json(jobs.record(row), cluster, owner_name)


@lru_cache(maxsize=1024)
def encoded(
    record: JobRecord, cluster: str, owner_name: str | None, burst: BurstSummary | None = None
) -> bytes:
    """Return a job as JSON: many are asked for several times before they change."""
    return _json(record, cluster, owner_name, burst)


def _json(
    record: JobRecord, cluster: str, owner_name: str | None, burst: BurstSummary | None = None
) -> bytes:
    shown = view(record, cluster, owner_name)
    if burst is not None:
        shown["burst"] = {name: getattr(burst, name) for name in BurstView.model_fields}
    return to_json(shown, inf_nan_mode="null")


def view(record: JobRecord, cluster: str, owner_name: str | None) -> JSON:
    """Return a job as a client gets it."""
    result = record.result
    exception = None
    if record.exception_type:
        exception = {
            "type": record.exception_type,
            "severity": record.exception_severity,
            "note": record.exception_note,
        }
    return {
        "id": f58(record.id),
        "number": str(record.id),
        "cluster": cluster,
        "owner": record.owner or None,
        "owner_name": owner_name,
        "name": record.name,
        "state": record.state.name,
        "result": None if result is None else result.name,
        "returncode": record.returncode,
        "queue": record.queue,
        "bank": record.bank,
        "urgency": record.urgency,
        "priority": record.priority,
        "nnodes": record.nnodes,
        "ntasks": record.ntasks,
        "ncores": record.ncores,
        "duration": record.duration,
        "expiration": record.expiration,
        "t_submit": record.t_submit,
        "t_run": record.t_run or None,
        "t_cleanup": record.t_cleanup or None,
        "t_inactive": record.t_inactive or None,
        "nodelist": record.nodelist,
        "exception": exception,
        "dependencies": json.loads(record.dependencies),
        "annotations": json.loads(record.annotations),
        "restart_of": None if record.restart_of is None else f58(record.restart_of),
        "burst": None,
    }


def jobid_of(text: str) -> int:
    """Return the id that a text means, in any form of RFC 19. Raises HttpProblem "not-found"."""
    try:
        return parse(text)
    except JobIdError:
        raise absent(text) from None


def absent(text: str) -> HttpProblem:
    """Return the answer to a job that is not there; one of somebody else has the same."""
    return HttpProblem("not-found", f"there is no job {text[:60]!r} here")


def shown_jobspec(jobspec: Mapping[str, Any]) -> JSON:
    """Return a jobspec without its environment, and without what the service has marked it with."""
    shown: JSON = redacted(dict(jobspec))
    user = dict(user_of(shown))
    ours = user.pop(OURS, None)
    rest = {key: each for key, each in ours.items() if key not in _SIGNED} if isinstance(ours, dict) else {}
    if rest:
        user[OURS] = rest
    return {**shown, "attributes": {**shown["attributes"], "user": user}}
