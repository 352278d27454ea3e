"""Refused logins in the audit log: who was tried, from where and how; never what was sent as a password.

A flood of them must not fill the disk. The first one of an address and a way to log in is written at once;
what follows within the minute is counted, and written as one entry behind it. Where very many addresses come
in one minute, the rest of them is one entry as well. What is written does not depend on whether a name is a
user's: nobody learns by the time that it takes which names there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from restful import audit
from restful.audit import AuditEntry
from restful.identity.addresses import counted_as

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.database import Database

MINUTE = 60
MAX_KINDS = 20
"""Of refusals in a minute that have entries of their own, two each: at most 30 MB a day, in all."""
MAX_USERS = 20
"""Whose ids an entry of several has."""


@dataclass(frozen=True, slots=True)
class RefusedLogin:
    """A login that was refused."""

    method: str
    """`password`, `link`, `provider`, `secret` or `token`."""
    reason: str
    address: str
    user: str = ""
    """The id of the user who was tried; empty: there is none."""
    name: str = ""
    """A digest of what was typed as a name, where nobody is called so: people type passwords there."""


@dataclass(slots=True)
class _Counted:
    """What followed a refusal within its minute."""

    first: RefusedLogin
    more: int = 0
    users: set[str] = field(default_factory=set)

    def count(self, refused: RefusedLogin) -> None:
        """Count another one."""
        self.more += 1
        if refused.user and len(self.users) < MAX_USERS:
            self.users.add(refused.user)


class RefusedLogins:
    """Counts in this process alone; the audit log is that of all."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now
        self._minute = 0
        self._counted: dict[tuple[str, str], _Counted] = {}
        self._others = 0

    async def note(self, refused: RefusedLogin) -> None:
        """Write a refusal, or count it. Raises DatabaseError."""
        entries = self._over()
        key = (counted_as(refused.address), refused.method)
        if key in self._counted:
            self._counted[key].count(refused)
        elif len(self._counted) >= MAX_KINDS:
            self._others += 1
        else:
            self._counted[key] = _Counted(refused)
            entries.append(_entry(refused, {}))
        await self._write(entries)

    async def flush(self) -> None:
        """Write what was counted in a minute that is over. Raises DatabaseError."""
        await self._write(self._over())

    def _over(self) -> list[AuditEntry]:
        """Begin a minute, if another one was counted last; return the entries of that one."""
        minute = int(self._now() // MINUTE)
        if minute == self._minute:
            return []
        within = datetime.fromtimestamp(self._minute * MINUTE, UTC).strftime("%Y-%m-%dT%H:%MZ")
        entries = [_summary(each, within) for each in self._counted.values() if each.more]
        if self._others:
            rest = RefusedLogin("any", "many at once", "")
            entries.append(_entry(rest, {"more": self._others, "within": within}))
        self._minute, self._counted, self._others = minute, {}, 0
        return entries

    async def _write(self, entries: list[AuditEntry]) -> None:
        if not entries:
            return
        now = self._now()
        async with self._database.write() as connection:
            for each in entries:
                await audit.record(connection, each, now)


def _summary(counted: _Counted, within: str) -> AuditEntry:
    """Return the entry of what followed: by address, with the ids of the users who were tried."""
    stated: dict[str, object] = {"more": counted.more, "within": within}
    if counted.users:
        stated["users"] = " ".join(sorted(counted.users))
    return _entry(replace(counted.first, user="", name="", reason="several"), stated)


def _entry(refused: RefusedLogin, counted: dict[str, object]) -> AuditEntry:
    stated: dict[str, object] = {"by": refused.method, "reason": refused.reason}
    if refused.name and not refused.user:
        stated["name"] = refused.name
    what = f"user:{refused.user or 'unknown'}"
    detail = audit.fields({**stated, **counted})
    return AuditEntry(refused.user, "", refused.address, "login", what, "denied", detail)
