"""Jobs: the projection of the instances' journals, which outlives them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    String,
    Table,
    Text,
    bindparam,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from broker_config.formats.job_states import JobResult, JobState
from restful.store.metadata import METADATA

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sqlalchemy import Select
    from sqlalchemy.ext.asyncio import AsyncConnection

NOBODY = ""
"""The owner of a job that no request of ours is behind."""
INACTIVE = int(JobState.INACTIVE)
SUBMITTED = int(JobState.DEPEND)
"""The status of a job of which nothing is known but that it was submitted."""

JOBS = Table(
    "job",
    METADATA,
    Column("cluster", String(26), primary_key=True),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("instance", String(26), primary_key=True),
    Column("owner", String(26), nullable=False),
    Column("request", String(26), nullable=False),
    Column("status", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("queue", String(255), nullable=False),
    Column("bank", String(255), nullable=False),
    Column("urgency", Integer, nullable=False),
    Column("priority", BigInteger),
    Column("nnodes", Integer, nullable=False),
    Column("ntasks", Integer, nullable=False),
    Column("ncores", Integer, nullable=False),
    Column("duration", Double, nullable=False),
    Column("expiration", Double, nullable=False),
    Column("t_submit", Double, nullable=False),
    Column("t_listed", Double, nullable=False),
    Column("t_run", Double, nullable=False),
    Column("t_cleanup", Double, nullable=False),
    Column("t_inactive", Double, nullable=False),
    Column("nodelist", Text, nullable=False),
    Column("returncode", Integer),
    Column("exception_type", String(64), nullable=False),
    Column("exception_severity", Integer, nullable=False),
    Column("exception_note", Text, nullable=False),
    Column("dependencies", Text, nullable=False),
    Column("annotations", Text, nullable=False),
    Column("restart_of", BigInteger),
    Column("charged_until", Double, nullable=False),
)
_ORDER = (JOBS.c.t_listed, JOBS.c.id)
# A page of a listing is a range of one of these: by owner or not, by status, name or queue or not.
_INDEXES = tuple(
    Index(f"ix_job_{whose}_{what}", JOBS.c.cluster, *owner, *column, *_ORDER)
    for whose, owner in (("all", ()), ("owner", (JOBS.c.owner,)))
    for what, column in (
        ("time", ()),
        ("status", (JOBS.c.status,)),
        ("name", (JOBS.c.name,)),
        ("queue", (JOBS.c.queue,)),
    )
)
_BY_REQUEST = Index("ix_job_request", JOBS.c.request)


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job. Times are in seconds since 1970, durations in seconds; 0.0: not yet, or no limit."""

    cluster: str
    """The cluster's id."""
    instance: str
    id: int
    owner: str = NOBODY
    """The user's id."""
    request: str = ""
    """The id of the request that submitted it; empty: it was submitted inside the instance."""
    status: int = int(JobState.NEW)
    """Its state's bit, and once it is inactive that of its result as well: one number to search by."""
    name: str = ""
    queue: str = ""
    bank: str = ""
    urgency: int = 16
    priority: int | None = None
    nnodes: int = 0
    """Those that it has; before it runs those that it was reckoned with."""
    ntasks: int = 0
    ncores: int = 0
    duration: float = 0.0
    expiration: float = 0.0
    t_submit: float = 0.0
    t_listed: float = 0.0
    """Its `t_submit` as first known here. It does not change: listings keep their order between pages."""
    t_run: float = 0.0
    t_cleanup: float = 0.0
    t_inactive: float = 0.0
    nodelist: str = ""
    returncode: int | None = None
    exception_type: str = ""
    exception_severity: int = 0
    exception_note: str = ""
    dependencies: str = "[]"
    """A JSON list."""
    annotations: str = "{}"
    """A JSON object."""
    restart_of: int | None = None
    """The job that it is a restart of, by the same owner."""
    charged_until: float = field(default=0.0, compare=False)
    """Until when its use is in the usage."""

    @property
    def state(self) -> JobState:
        """Return its state."""
        return JobState.INACTIVE if self.status & INACTIVE else JobState(self.status)

    @property
    def result(self) -> JobResult | None:
        """Return how it ended; None before."""
        return JobResult(self.status - INACTIVE) if self.status > INACTIVE else None

    @property
    def active(self) -> bool:
        """Return whether it has not ended."""
        return not self.status & INACTIVE


NAMES = tuple(each.name for each in fields(JobRecord))
_KEY = (JOBS.c.cluster, JOBS.c.instance, JOBS.c.id)
_FIXED = ("cluster", "instance", "id", "owner", "request", "bank", "restart_of", "t_listed")
"""What the journal does not change: it knows no owners, and a submit may have noted one meanwhile."""
_WRONG = (
    (JOBS.c.request == bindparam("row_id")) & (JOBS.c.id != bindparam("jobid")) & JOBS.c.restart_of.is_(None)
)
_DISOWN = update(JOBS).where(_WRONG).values(owner=NOBODY, request="")
SELECTED = tuple(JOBS.c[name] for name in NAMES)


def channel(cluster: str) -> str:
    """Return on what changes of a cluster's jobs are announced: who writes to JOBS does that."""
    return f"jobs:{cluster}"


def status_of(state: JobState, result: JobResult | None) -> int:
    """Return the number for a state and a result."""
    return INACTIVE + int(result or 0) if state == JobState.INACTIVE else int(state)


def record(row: Any) -> JobRecord:
    """Return the record of a row of SELECTED."""
    return JobRecord(*row)


def values(found: JobRecord) -> dict[str, Any]:
    """Return the columns of a record."""
    return {name: getattr(found, name) for name in NAMES}


async def put(connection: AsyncConnection, records: Iterable[JobRecord]) -> None:
    """Write jobs, new ones and known ones; of these all but the owner and the place in listings."""
    rows = [values(each) for each in records]
    if rows:
        await connection.execute(_upsert(connection.dialect.name, exclude=_FIXED), rows)


async def submitted(connection: AsyncConnection, records: Iterable[JobRecord]) -> None:
    """Write jobs that were submitted just now; where the journal was faster, their owner alone."""
    await connection.execute(
        _upsert(
            connection.dialect.name,
            exclude=tuple(name for name in NAMES if name not in ("owner", "request", "bank")),
        ),
        [values(each) for each in records],
    )


@cache
def _upsert(dialect_name: str, exclude: tuple[str, ...]) -> Any:
    dialect = postgresql if dialect_name == "postgresql" else sqlite
    made = dialect.insert(JOBS)
    changed = {name: made.excluded[name] for name in NAMES if name not in exclude}
    return made.on_conflict_do_update(index_elements=list(_KEY), set_=changed)


def of_ids(cluster: str, ids: Collection[int]) -> Select[Any]:
    """Return the query for the jobs of ids: each of one, or of several instances that a cluster had."""
    return select(*SELECTED).where((JOBS.c.cluster == cluster) & JOBS.c.id.in_(ids))


async def by_ids(
    connection: AsyncConnection, cluster: str, instance: str, ids: Collection[int]
) -> dict[int, JobRecord]:
    """Return jobs of one instance by their ids."""
    if not ids:
        return {}
    same = (JOBS.c.cluster == cluster) & (JOBS.c.instance == instance) & JOBS.c.id.in_(ids)
    return {row.id: record(row) for row in await connection.execute(select(*SELECTED).where(same))}


async def ids(connection: AsyncConnection, cluster: str, instance: str) -> set[int]:
    """Return the ids of all jobs of an instance."""
    mine = (JOBS.c.cluster == cluster) & (JOBS.c.instance == instance)
    return set((await connection.scalars(select(JOBS.c.id).where(mine))).all())


async def of_requests(connection: AsyncConnection, row_ids: Collection[str]) -> dict[str, list[JobRecord]]:
    """Return each request's job and its restarts, oldest first."""
    found: dict[str, list[JobRecord]] = {each: [] for each in row_ids}
    if found:
        theirs = select(*SELECTED).where(JOBS.c.request.in_(found)).order_by(JOBS.c.id)
        for row in await connection.execute(theirs):
            found[row.request].append(record(row))
    return found


async def latest(connection: AsyncConnection, cluster: str, instance: str, limit: int) -> list[JobRecord]:
    """Return the jobs of an instance that were submitted last."""
    mine = (JOBS.c.cluster == cluster) & (JOBS.c.instance == instance)
    found = select(*SELECTED).where(mine).order_by(JOBS.c.t_listed.desc(), JOBS.c.id.desc()).limit(limit)
    return [record(row) for row in await connection.execute(found)]


ACTIVE_STATES = tuple(int(each) for each in JobState if int(each) < INACTIVE and int(each).bit_count() == 1)


async def active(connection: AsyncConnection, cluster: str) -> list[JobRecord]:
    """Return the jobs of a cluster that have not ended."""
    mine = (JOBS.c.cluster == cluster) & JOBS.c.status.in_(ACTIVE_STATES)
    return [record(row) for row in await connection.execute(select(*SELECTED).where(mine))]


async def disown(connection: AsyncConnection, found: Mapping[str, int]) -> None:
    """Take from its owner every job that claims a request whose job is another one: the one given."""
    await connection.execute(_DISOWN, [{"row_id": row_id, "jobid": jobid} for row_id, jobid in found.items()])
