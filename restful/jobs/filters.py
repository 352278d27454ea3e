"""Which jobs a listing has: from a query's texts to a statement that reads one page by an index."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Double,
    Integer,
    Text,
    and_,
    bindparam,
    func,
    select,
    true,
    tuple_,
    union_all,
)

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
FEW = 200
"""Jobs of a page that are read in less time than another thread takes to begin, beside many requests."""
_LIMIT = bindparam("limit", type_=Integer)
_BEHIND = (bindparam("t_listed", type_=Double), bindparam("id", type_=BigInteger))
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


class JobQuery(NamedTuple):
    """A statement, and what it has for its parameters."""

    statement: Select[Any]
    values: dict[str, Any]


class _Shape(NamedTuple):
    """What the statements of all queries with the same kinds of conditions have in common."""

    owner: bool
    statuses: int
    """How many."""
    name: str
    """Empty, "same" or "pattern"."""
    queue: bool
    since: bool
    until: bool
    sqlite: bool


def page(
    cluster: str, filters: Filters, behind: PagePosition | None, limit: int, *, sqlite: bool
) -> JobQuery:
    """Return the query of the jobs behind a position, latest first."""
    values = _values(cluster, filters, sqlite=sqlite) | {"limit": limit}
    if behind is not None:
        values |= behind._asdict()
    return JobQuery(_page(_shape(filters, sqlite=sqlite), behind=behind is not None), values)


def count(cluster: str, filters: Filters, *, sqlite: bool) -> JobQuery:
    """Return the query of how many jobs there are."""
    statement = _count(_shape(filters, sqlite=sqlite))
    return JobQuery(statement, _values(cluster, filters, sqlite=sqlite))


def reads_few(filters: Filters, limit: int) -> bool:
    """Return whether a page is what one range of an index has, of which nothing is passed over."""
    kinds = (filters.statuses, filters.name, filters.queue, filters.since or filters.until)
    return sum(map(bool, kinds)) <= 1 and not _is_pattern(filters.name) and limit <= FEW


def _shape(filters: Filters, *, sqlite: bool) -> _Shape:
    name = ("pattern" if _is_pattern(filters.name) else "same") if filters.name else ""
    return _Shape(
        filters.owner is not None, len(filters.statuses), name, bool(filters.queue), bool(filters.since),
        bool(filters.until), sqlite,
    )  # fmt: skip


def _values(cluster: str, filters: Filters, *, sqlite: bool) -> dict[str, Any]:
    """Return what the conditions of a query are compared with."""
    found: dict[str, Any] = {"cluster": cluster}
    if filters.owner is not None:
        found["owner"] = filters.owner
    found |= {f"status{number}": each for number, each in enumerate(filters.statuses)}
    if filters.name:
        found["name"] = _pattern(filters.name, sqlite=sqlite) if _is_pattern(filters.name) else filters.name
    if filters.queue:
        found["queue"] = filters.queue
    if filters.since:
        found |= {"since": filters.since, "listed_since": filters.since - CLOCKS_DIFFER}
    if filters.until:
        found |= {"until": filters.until, "listed_until": filters.until + CLOCKS_DIFFER}
    return found


@lru_cache(maxsize=256)
def _page(shape: _Shape, *, behind: bool) -> Select[Any]:
    """Return a statement. It is made once: that takes several times as long as to run it."""
    statuses = range(shape.statuses)
    arms = [[each] for each in statuses] if shape.statuses and not shape.name else [list(statuses)]
    selects = [_arm(shape, arm, behind=behind) for arm in arms]
    if len(selects) == 1:
        return selects[0]
    union = union_all(*(select(each.subquery()) for each in selects)).subquery()
    return select(union).order_by(union.c.t_listed.desc(), union.c.id.desc()).limit(_LIMIT)


def _arm(shape: _Shape, statuses: list[int], *, behind: bool) -> Select[Any]:
    """Return the statement of one range of an index."""
    found = select(*SELECTED).where(_condition(shape, statuses))
    if behind:
        found = found.where(tuple_(JOBS.c.t_listed, JOBS.c.id) < tuple_(*_BEHIND))
    return found.order_by(JOBS.c.t_listed.desc(), JOBS.c.id.desc()).limit(_LIMIT)


@lru_cache(maxsize=256)
def _count(shape: _Shape) -> Select[Any]:
    return select(func.count()).select_from(JOBS).where(_condition(shape, list(range(shape.statuses))))


def _condition(shape: _Shape, statuses: list[int]) -> ColumnElement[bool]:
    """Return what jobs have in common; of the statuses those of these numbers."""
    wanted: list[ColumnElement[bool]] = [JOBS.c.cluster == bindparam("cluster")]
    if shape.owner:
        wanted.append(JOBS.c.owner == bindparam("owner"))
    if len(statuses) == 1:
        wanted.append(JOBS.c.status == bindparam(f"status{statuses[0]}"))
    elif statuses:
        wanted.append(JOBS.c.status.in_([bindparam(f"status{each}", type_=Integer) for each in statuses]))
    if shape.name:
        wanted.append(_named(like=shape.name == "pattern", sqlite=shape.sqlite))
    if shape.queue:
        wanted.append(JOBS.c.queue == bindparam("queue"))
    if shape.since:
        wanted += [JOBS.c.t_submit >= bindparam("since"), JOBS.c.t_listed >= bindparam("listed_since")]
    if shape.until:
        wanted += [JOBS.c.t_submit < bindparam("until"), JOBS.c.t_listed < bindparam("listed_until")]
    return and_(true(), *wanted)


def _named(*, like: bool, sqlite: bool) -> ColumnElement[bool]:
    name = bindparam("name", type_=Text)
    if not like:
        return JOBS.c.name == name
    if sqlite:
        return JOBS.c.name.op("GLOB", is_comparison=True)(name)
    return JOBS.c.name.like(name, escape="\\")


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


def _pattern(name: str, *, sqlite: bool) -> str:
    """Return a name with * and ? as the database has them."""
    if sqlite:
        return name.replace("[", "[[]")
    escaped = "".join(f"\\{each}" if each in "%_\\" else each for each in name)
    return escaped.replace("*", "%").replace("?", "_")


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
