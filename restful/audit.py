"""The audit log: who changed what, who logged in, who was refused. Append only, chained by hash.

Each row's hash is over its fields and the hash of the row before. Who changes or deletes a row must write all
later ones anew, and the head; so a head that is copied elsewhere now and then proves the log up to it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from restful.identity.token_format import redacted
from restful.store import audit as rows
from restful.store.audit import AuditRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.identity.principal import Principal
    from restful.store.audit import AuditHead

START = "0" * 64
"""What the first row has as the hash of the one before."""
MAX_DETAIL = 2000
"""Characters."""
MAX_OBJECT = 300


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What is to be recorded. Never a command or an environment; what looks like a secret is taken out."""

    actor: str
    """The user's id; empty if nobody was authenticated."""
    token: str
    """The id of his token or session."""
    address: str
    action: str
    """What was done, such as `user.create`."""
    object: str
    """To what, such as `user:01J…`."""
    outcome: str = "ok"
    """`ok`, `denied` or `failed`."""
    detail: str = ""


def by(principal: Principal, action: str, what: str, outcome: str = "ok", detail: str = "") -> AuditEntry:
    """Return the entry of something that a principal did."""
    return AuditEntry(principal.user, principal.token, principal.address, action, what, outcome, detail)


def fields(values: Mapping[str, object]) -> str:
    """Return names and values as the detail of an entry."""
    return " ".join(f"{name}={json.dumps(value, default=str)}" for name, value in values.items())


async def record(connection: AsyncConnection, entry: AuditEntry, now: float) -> AuditRecord:
    """Append an entry, in the write transaction of the change that it is about."""
    return (await record_all(connection, [entry], now))[0]


async def record_all(
    connection: AsyncConnection, entries: Sequence[AuditEntry], now: float
) -> list[AuditRecord]:
    """Append one entry or more, in the write transaction of the changes that they are about."""
    head = await rows.head(connection, START)
    found: list[AuditRecord] = []
    for each in entries:
        found.append(_after(found[-1] if found else head, each, now))
    await rows.append(connection, found)
    return found


def _after(head: AuditHead | AuditRecord, entry: AuditEntry, now: float) -> AuditRecord:
    """Return the row of an entry behind another row."""
    row = AuditRecord(
        id=head.id + 1,
        at=now,
        actor=entry.actor[:26],
        token=entry.token[:26],
        address=_clean(entry.address, 45),
        action=entry.action[:50],
        object=_clean(entry.object, MAX_OBJECT),
        outcome=entry.outcome[:20],
        detail=_clean(entry.detail, MAX_DETAIL),
        previous=head.hash,
        hash="",
    )
    return replace(row, hash=chained(row))


def chained(row: AuditRecord) -> str:
    """Return the hash of a row: over all of its fields but this one, as JSON with a fixed order."""
    fields_of_it = [
        row.previous,
        row.id,
        row.at.hex(),
        row.actor,
        row.token,
        row.address,
        row.action,
        row.object,
        row.outcome,
        row.detail,
    ]
    return hashlib.sha256(json.dumps(fields_of_it).encode()).hexdigest()


def follows(row: AuditRecord, number: int, previous: str) -> bool:
    """Return whether a row is the one after a number and a hash, and unchanged."""
    return row.id == number + 1 and row.previous == previous and row.hash == chained(row)


async def first_broken(connection: AsyncConnection) -> int | None:
    """Return the number of the first row that was changed or is missing; None if the log is whole."""
    head = await rows.last_head(connection, START)
    number, previous = 0, START
    async for row in rows.every(connection):
        if not follows(row, number, previous):
            return number + 1
        number, previous = row.id, row.hash
    return None if (number, previous) == (head.id, head.hash) else number + 1


def _clean(text: str, length: int) -> str:
    """Return a text of one line, cut, without what has the form of a secret, and without surrogates."""
    line = "".join(each if each.isprintable() else " " for each in redacted(text))
    return line[:length]
