"""What each asker gets: a table a kind of route, to be read by people.

`own`: an object of one's own, and of nobody else. `all`: anybody's. `ok`: always. A number is the status that
refuses always. What is refused as somebody else's has the same answer, byte for byte, as what is not there:
`absent` has its status, where `nil` is 200 and nothing. `no`: 403 at one's own, else as what is not there.

Who shows nothing good gets 401, and on the page 303, the way to the login; PUBLIC is for anybody.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from restful.clusters.spec import Tenancy
from tests.restful.authorization.routes import Kind
from tests.restful.authorization.users import Asker

UNPROVEN = (
    *(Asker.NONE, Asker.EXPIRED, Asker.REVOKED, Asker.DISABLED),
    *(Asker.ENDED, Asker.OUTDATED, Asker.MIXED),
)
LIVE = (Kind.JOB_STREAM, Kind.CLUSTER_STREAM)
"""For these a browser's cookie is good as well, as EventSource sends no header."""
NARROW = (Kind.SELF, Kind.SELF_TOKENS, Kind.SELF_LOGIN, Kind.OWN_CREDENTIAL)
"""All that a token without scopes at clusters is good for."""
OTHERWISE = (Asker.CHIEF, Asker.ROBOT)
OPEN = (Kind.PUBLIC, Kind.PAGE_OPEN)
WITHOUT_ROW = {*OPEN, Kind.PAGE_REFUSED}
"""The same for all askers."""

COMMON = """
kind                 | absent | owner | login | reader | ungranted | bystander | operator | admin | client
self                 | 404    | ok    | ok    | ok     | ok        | ok        | ok       | ok    | ok
self, scope tokens   | 404    | ok    | ok    | 403    | ok        | ok        | ok       | ok    | ok
self, by a login     | 404    | 403   | ok    | 403    | 403       | 403       | 403      | 403   | 403
own credential       | 404    | own   | own   | 403    | own       | own       | own      | own   | own
admin                | 404    | 403   | 403   | 403    | 403       | 403       | 403      | all   | 403
admin, by a login    | 404    | 403   | 403   | 403    | 403       | 403       | 403      | 403   | 403
clusters             | 404    | ok    | ok    | ok     | ok        | ok        | ok       | ok    | ok
scopes beyond        | 404    | 403   | 422   | 403    | 403       | 403       | 403      | 403   | 403
everybody's use      | 404    | 403   | 403   | 403    | 403       | ok        | ok       | ok    | 403
v1, stop             | 404    | 410   | 410   | 410    | 410       | 410       | 410      | 410   | 410
page                 | 404    | ok    | ok    | ok     | ok        | ok        | ok       | ok    | ok
page, form           | 404    | ok    | ok    | ok     | ok        | ok        | ok       | ok    | ok
page, own credential | 404    | own   | own   | own    | own       | own       | own      | own   | own
page, forged         | 404    | 403   | 403   | 403    | 403       | 403       | 403      | 403   | 403
page, admin          | 404    | 403   | 403   | 403    | 403       | 403       | 403      | all   | 403
page, admin, again   | 404    | 403   | 403   | 403    | 403       | 403       | 403      | ok    | 403
"""
"""The same whatever the clusters are."""

AS_ADMIN = """
kind              | chief | robot
self, by a login  | ok    | 403
admin, by a login | all   | 403
scopes beyond     | ok    | 403
"""
"""What differs for an admin who is known otherwise than by a personal token."""

SHARED = """
kind                 | absent | owner | login | reader | ungranted | bystander | operator | admin | client
cluster              | 404    | own   | own   | own    | 404       | own       | own      | all   | own
cluster, live        | 404    | own   | own   | own    | 404       | own       | own      | all   | own
submit               | 404    | own   | own   | 403    | 404       | own       | own      | all   | own
job, read            | 404    | own   | own   | own    | 404       | own       | all      | all   | own
job, live            | 404    | own   | own   | own    | 404       | own       | all      | all   | own
job, change          | 404    | own   | own   | 403    | 404       | own       | all      | all   | own
jobs, change         | 404    | own   | own   | 403    | 404       | own       | all      | all   | own
submit behind a job  | 422    | own   | own   | 403    | 404       | own       | all      | all   | own
others' jobs         | 404    | no    | no    | no     | 404       | no        | own      | all   | no
others' jobs, change | 404    | no    | no    | 403    | 404       | no        | own      | all   | no
others' use          | 404    | 403   | 403   | 403    | 403       | no        | own      | all   | 403
high urgency         | 404    | no    | no    | 403    | 404       | no        | all      | all   | no
operate              | 404    | 403   | 403   | 403    | 403       | no        | own      | all   | 403
v1, list             | 404    | ok    | ok    | ok     | 404       | ok        | ok       | 409   | ok
v1, submit           | 404    | ok    | ok    | 403    | 404       | ok        | ok       | 409   | ok
v1, read             | nil    | own   | own   | own    | 404       | own       | all      | 409   | own
v1, live             | 404    | own   | own   | own    | 404       | own       | all      | 409   | own
v1, cancel           | 400    | own   | own   | 403    | 404       | own       | all      | 409   | own
v1 named, list       | 404    | own   | own   | own    | 404       | own       | own      | all   | own
v1 named, submit     | 404    | own   | own   | 403    | 404       | own       | own      | all   | own
v1 named, read       | nil    | own   | own   | own    | nil       | own       | all      | all   | own
v1 named, live       | 404    | own   | own   | own    | 404       | own       | all      | all   | own
v1 named, cancel     | 400    | own   | own   | 403    | 400       | own       | all      | all   | own
page, submit         | 404    | own   | own   | own    | nil       | own       | own      | all   | own
page, job, change    | 404    | own   | own   | own    | 404       | own       | all      | all   | own
page, jobs, change   | nil    | own   | own   | own    | 404       | own       | all      | all   | own
page, operate        | 404    | no    | no    | no     | 404       | no        | own      | all   | no
page, job            | 404    | own   | own   | own    | 404       | own       | all      | all   | own
page, live           | 404    | own   | own   | own    | 404       | own       | own      | all   | own
page, others, live   | 404    | no    | no    | no     | 404       | no        | own      | all   | no
"""
"""Everybody who was granted it uses one cluster. Somebody else's cluster is granted to him alone."""

OWN = """
kind                 | absent | owner | login | reader | ungranted | bystander | operator | admin | client
cluster              | 404    | own   | own   | own    | own       | own       | all      | all   | own
cluster, live        | 404    | own   | own   | own    | own       | own       | all      | all   | own
submit               | 404    | own   | own   | 403    | own       | own       | all      | all   | own
job, read            | 404    | own   | own   | own    | own       | own       | all      | all   | own
job, live            | 404    | own   | own   | own    | own       | own       | all      | all   | own
job, change          | 404    | own   | own   | 403    | own       | own       | all      | all   | own
jobs, change         | 404    | own   | own   | 403    | own       | own       | all      | all   | own
submit behind a job  | 404    | own   | own   | 403    | own       | own       | all      | all   | own
others' jobs         | 404    | no    | no    | no     | no        | no        | all      | all   | no
others' jobs, change | 404    | no    | no    | 403    | no        | no        | all      | all   | no
others' use          | 404    | 403   | 403   | 403    | 403       | no        | all      | all   | 403
high urgency         | 404    | no    | no    | 403    | no        | no        | all      | all   | no
operate              | 404    | 403   | 403   | 403    | 403       | no        | all      | all   | 403
v1, list             | 404    | ok    | ok    | ok     | ok        | ok        | 409      | 409   | ok
v1, submit           | 404    | ok    | ok    | 403    | ok        | ok        | 409      | 409   | ok
v1, read             | nil    | own   | own   | own    | own       | own       | 409      | 409   | own
v1, live             | 404    | own   | own   | own    | own       | own       | 409      | 409   | own
v1, cancel           | 400    | own   | own   | 403    | own       | own       | 409      | 409   | own
v1 named, list       | 404    | own   | own   | own    | own       | own       | all      | all   | own
v1 named, submit     | 404    | own   | own   | 403    | own       | own       | all      | all   | own
v1 named, read       | nil    | own   | own   | own    | own       | own       | all      | all   | own
v1 named, live       | 404    | own   | own   | own    | own       | own       | all      | all   | own
v1 named, cancel     | 400    | own   | own   | 403    | own       | own       | all      | all   | own
page, submit         | 404    | own   | own   | own    | own       | own       | all      | all   | own
page, job, change    | 404    | own   | own   | own    | own       | own       | all      | all   | own
page, jobs, change   | 404    | own   | own   | own    | own       | own       | all      | all   | own
page, operate        | 404    | no    | no    | no     | no        | no        | all      | all   | no
page, job            | 404    | own   | own   | own    | own       | own       | all      | all   | own
page, live           | 404    | own   | own   | own    | own       | own       | all      | all   | own
page, others, live   | 404    | no    | no    | no     | no        | no        | all      | all   | no
"""
"""Everybody has a cluster of his own, also who was granted none."""


class Expected(NamedTuple):
    """The answers for an object of one's own, for somebody else's, and for what is not there."""

    own: str
    other: str
    absent: str


def expected(tenancy: Tenancy, kind: Kind, asker: Asker) -> Expected:
    """Return what an asker gets. Raises KeyError for a kind without a row."""
    if kind in OPEN:
        return Expected("any", "any", "any")
    if kind is Kind.PAGE_REFUSED:
        return Expected("403", "403", "403")  # before anybody looks who it is
    if asker in UNPROVEN and not (asker is Asker.MIXED and kind in LIVE):
        status = "303" if kind.startswith("page") else "401"
        return Expected(status, status, status)
    if asker is Asker.NARROW and not kind.startswith("page") and kind not in NARROW:
        return Expected("403", "403", "403")
    cells = _table(COMMON).get(kind) or _table(SHARED if tenancy is Tenancy.SHARED else OWN)[kind]
    column = "owner" if asker in {Asker.MIXED, Asker.NARROW} else asker
    if asker in OTHERWISE:
        return _cell(_table(AS_ADMIN).get(kind, {}).get(asker, cells[Asker.ADMIN]), cells["absent"])
    return _cell(cells[column], cells["absent"])


def of_clusters(kind: Kind) -> bool:
    """Return whether what is expected depends on the tenancy."""
    return kind in _table(SHARED)


def is_as_admin(kind: Kind, asker: Asker) -> bool:
    """Return whether an admin's answers are the same however he is known: ADMIN asks for all of them."""
    return asker in OTHERWISE and (of_clusters(kind) or kind.startswith("page"))


def kinds(tenancy: Tenancy) -> list[str]:
    """Return the kinds that have a row: those of all tenancies, and those of this one."""
    return [*_table(COMMON), *_table(SHARED if tenancy is Tenancy.SHARED else OWN)]


@cache
def _table(text: str) -> dict[str, dict[str, str]]:
    """Return the cells by kind, then by column."""
    names, *rows = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    return {row[0]: dict(zip(names, row, strict=True)) for row in rows}


def _cell(text: str, absent: str) -> Expected:
    """Return the answers that a cell stands for."""
    match text.split():
        case ["own"]:
            return Expected("ok", absent, absent)
        case ["no"]:
            return Expected("403", absent, absent)
        case ["all"]:
            return Expected("ok", "ok", absent)
        case [one]:
            return Expected(one, one, one)
        case _:
            raise ValueError(f"{text!r} is no cell")
