"""Which jobs a listing has: from a query's texts to a statement that reads one page by an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, select, true, tuple_, union_all

from broker_config.formats.job_states import JobResult, JobState, result_of, state_of
from restful.clusters.projection import CLOCKS_DIFFER
from restful.errors import FieldError, HttpProblem
from restful.store.jobs import INACTIVE, JOBS, NOBODY, SELECTED, status_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import ColumnElement, Select

    from restful.jobs.cursor import PagePosition

EVERYBODY = "*"
NOBODYS = "nobody"
_STATES = "depend, priority, sched, run, cleanup, inactive, pending, running, active"
_RESULTS = "completed, failed, canceled, timeout"
_SINGLE = (JobState.DEPEND, JobState.PRIORITY, JobState.SCHED, JobState.RUN, JobState.CLEANUP)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which jobs. What is None or empty does not restrict."""

    owner: str | None = None
    """A user's id; NOBODY for jobs of nobody; None for everybody's."""
    statuses: tuple[int, ...] = ()
    """As `JobRecord.status`, in ascending order."""
    name: str = ""
    """With * for any text, and ? for any character."""
    queue: str = ""
    since: float = 0.0
    """Submitted then or later, in seconds since 1970."""
    until: float = 0.0
    """Submitted before; 0.0: until now."""

    def texts(self, cluster: str) -> list[str]:
        """Return all of it as texts, for the code of a cursor."""
        statuses = ",".join(map(str, self.statuses))
        owner = "*" if self.owner is None else f"={self.owner}"
        return [cluster, owner, statuses, self.name, self.queue, self.since.hex(), self.until.hex()]


def statuses_of(states: Iterable[str], results: Iterable[str]) -> tuple[int, ...]:
    """Return the statuses of jobs that have one of these states, or one of these results. Raises problem."""
    found: set[int] = set()
    for name in states:
        try:
            group = state_of(name)
        except KeyError:
            raise _unknown("state", name, _STATES) from None
        found |= {int(each) for each in _SINGLE if each & group}
        if group & JobState.INACTIVE:
            found |= {INACTIVE, *(status_of(JobState.INACTIVE, each) for each in JobResult)}
    for name in results:
        try:
            found.add(status_of(JobState.INACTIVE, result_of(name)))
        except KeyError:
            raise _unknown("result", name, _RESULTS) from None
    return tuple(sorted(found))


def _unknown(field: str, name: str, known: str) -> HttpProblem:
    message = f"{name[:40]!r} is no {field} of a job; there are {known}"
    return HttpProblem("invalid", f"{field}: {message}", (FieldError(field, message),))


def words(texts: Iterable[str]) -> list[str]:
    """Return the words of texts with commas between them."""
    return [word for text in texts for word in text.split(",") if word]


def page(
    cluster: str, filters: Filters, behind: PagePosition | None, limit: int, *, sqlite: bool
) -> Select[Any]:
    """Return the statement of the jobs behind a position, latest first."""
    by_status = filters.statuses and not filters.name
    arms = [(each,) for each in filters.statuses] if by_status else [filters.statuses]
    selects = [_arm(cluster, filters, arm, behind, limit, sqlite=sqlite) for arm in arms]
    if len(selects) == 1:
        return selects[0]
    union = union_all(*(select(each.subquery()) for each in selects)).subquery()
    return select(union).order_by(union.c.t_listed.desc(), union.c.id.desc()).limit(limit)


def _arm(
    cluster: str,
    filters: Filters,
    statuses: tuple[int, ...],
    behind: PagePosition | None,
    limit: int,
    *,
    sqlite: bool,
) -> Select[Any]:
    """Return the statement of one range of an index."""
    found = select(*SELECTED).where(condition(cluster, filters, statuses, sqlite=sqlite))
    if behind is not None:
        found = found.where(tuple_(JOBS.c.t_listed, JOBS.c.id) < tuple_(*behind))
    return found.order_by(JOBS.c.t_listed.desc(), JOBS.c.id.desc()).limit(limit)


def condition(
    cluster: str, filters: Filters, statuses: tuple[int, ...], *, sqlite: bool
) -> ColumnElement[bool]:
    """Return what jobs have in common."""
    wanted: list[ColumnElement[bool]] = [JOBS.c.cluster == cluster]
    if filters.owner is not None:
        wanted.append(JOBS.c.owner == filters.owner)
    if len(statuses) == 1:
        wanted.append(JOBS.c.status == statuses[0])
    elif statuses:
        wanted.append(JOBS.c.status.in_(statuses))
    if filters.name:
        wanted.append(_named(filters.name, sqlite=sqlite))
    if filters.queue:
        wanted.append(JOBS.c.queue == filters.queue)
    if filters.since:
        wanted += [JOBS.c.t_submit >= filters.since, JOBS.c.t_listed >= filters.since - CLOCKS_DIFFER]
    if filters.until:
        wanted += [JOBS.c.t_submit < filters.until, JOBS.c.t_listed < filters.until + CLOCKS_DIFFER]
    return and_(true(), *wanted)


def _named(name: str, *, sqlite: bool) -> ColumnElement[bool]:
    if "*" not in name and "?" not in name:
        return JOBS.c.name == name
    if sqlite:
        return JOBS.c.name.op("GLOB", is_comparison=True)(name.replace("[", "[[]"))
    escaped = "".join(f"\\{each}" if each in "%_\\" else each for each in name)
    return JOBS.c.name.like(escaped.replace("*", "%").replace("?", "_"), escape="\\")


def owner_of(asked: str, user: str, *, everybody: bool) -> str | None:
    """Return whose jobs a query asks for: by default the user's own. Raises HttpProblem "forbidden"."""
    if asked in ("", user):
        return user
    if not everybody:
        raise HttpProblem("forbidden", "owner: others' jobs need the scope jobs:read:all")
    return {EVERYBODY: None, NOBODYS: NOBODY}.get(asked, asked)


def filters_of(query: Mapping[str, Any], owner: str | None) -> Filters:
    """Return the filters of a query's values. Raises HttpProblem."""
    return Filters(
        owner,
        statuses_of(words(query.get("state", ())), words(query.get("result", ()))),
        query.get("name", ""),
        query.get("queue", ""),
        query.get("since") or 0.0,
        query.get("until") or 0.0,
    )
