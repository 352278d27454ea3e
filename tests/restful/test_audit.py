"""The audit log: its chain, and what never gets into it."""

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, update

from restful import audit
from restful.audit import START, AuditEntry
from restful.identity import token_format
from restful.identity.token_format import TokenKind
from restful.store.audit import AUDIT, AUDIT_HEAD, AuditRecord
from tests.restful.identity import service
from tests.restful.identity.service import within

ROW = AuditRecord(1, 1.5, "actor", "token", "address", "action", "object", "ok", "detail", START, "")
FIELDS = ["id", "at", "actor", "token", "address", "action", "object", "outcome", "detail", "previous"]


def entry(number: int = 0, **fields: str) -> AuditEntry:
    return AuditEntry(
        **{"actor": "", "token": "", "address": "", "action": "a", "object": f"o{number}", **fields}
    )


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_is_in_the_hash(field: str) -> None:
    value = getattr(ROW, field)
    changed = replace(ROW, **{field: value + 1 if isinstance(value, (int, float)) else f"{value}x"})
    assert audit.chained(changed) != audit.chained(ROW)


@given(st.text(), st.text(), st.text(), st.text())
def test_fields_are_not_confused(one: str, two: str, three: str, four: str) -> None:
    rows = [replace(ROW, object=one, detail=two), replace(ROW, object=three, detail=four)]
    assert (audit.chained(rows[0]) == audit.chained(rows[1])) == ((one, two) == (three, four))


@pytest.mark.parametrize(
    ("tamper", "broken"),
    [
        pytest.param(None, None, id="untouched"),
        pytest.param(update(AUDIT).where(AUDIT.c.id == 2).values(detail="x"), 2, id="changed"),
        pytest.param(delete(AUDIT).where(AUDIT.c.id == 2), 2, id="one deleted"),
        pytest.param(delete(AUDIT).where(AUDIT.c.id == 4), 4, id="the last deleted"),
        pytest.param(delete(AUDIT), 1, id="all deleted"),
        pytest.param(update(AUDIT).where(AUDIT.c.id == 3).values(hash="0" * 64), 3, id="a hash"),
        pytest.param(update(AUDIT_HEAD).values(id=5), 5, id="the head"),
    ],
)
def test_what_is_changed_is_found(tmp_path: Path, tamper: Any, broken: int | None) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            database = here.identities.database
            for number in range(4):
                async with database.write() as connection:
                    await audit.record(connection, entry(number), 1000.0 + number)
            if tamper is not None:
                async with database.write() as connection:
                    await connection.execute(tamper)
            async with database.read() as connection:
                return await audit.first_broken(connection)

    assert within(work()) == broken


def test_an_empty_log_is_whole(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here, here.identities.database.read() as connection:
            return await audit.first_broken(connection)

    assert within(work()) is None


def test_an_entry_is_undone_with_its_change(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            database = here.identities.database
            with contextlib.suppress(LookupError):
                async with database.write() as connection:
                    await audit.record(connection, entry(), 1000.0)
                    raise LookupError
            async with database.write() as connection:
                return (await audit.record(connection, entry(), 1000.0)).id

    assert within(work()) == 1


def test_no_secret_gets_in(tmp_path: Path) -> None:
    token = token_format.write(TokenKind.PERSONAL, b"\x05" * 32)

    async def work() -> Any:
        async with service.opened(tmp_path) as here, here.identities.database.write() as connection:
            sent = entry(object=f"GET /x?t={token}", detail=f"said {token}", address=token)
            return await audit.record(connection, sent, 1000.0)

    row = within(work())
    assert (row.object, row.detail) == ("GET /x?t=[redacted]", "said [redacted]")
    assert token not in repr(row)


def test_a_row_is_one_line_and_bounded(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here, here.identities.database.write() as connection:
            sent = entry(object="a\nb\x1b[31m\udc80", detail="x" * 10_000)
            return await audit.record(connection, sent, 1000.0)

    row = within(work())
    assert row.object == "a b [31m "
    assert len(row.detail) == audit.MAX_DETAIL
