"""The command that writes a schema's next revision."""

import sys
from pathlib import Path

import pytest
from sqlalchemy import CheckConstraint, Column, Index, MetaData, Table, Text

from minicluster.database import Schema, migrate, revise
from restful.store.metadata import METADATA as RESTFUL
from tests.database import notes

PACKAGE = "revisions_that_are_written"
METADATA = MetaData(naming_convention=RESTFUL.naming_convention)
"""A table and a column whose names are words of SQL, and an index with a condition."""
GRANTS = Table(
    "grant",
    METADATA,
    Column("cluster", Text, primary_key=True),
    Column("user", Text),
    CheckConstraint("cluster != ''", name="named"),
)
Index("uq_grant_everyone", GRANTS.c.cluster, unique=True, postgresql_where=GRANTS.c.user.is_(None))
SCHEMA = Schema("grants", METADATA, PACKAGE)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package without revisions."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)
    return folder


def test_what_it_writes_makes_the_tables(package: Path, url: str) -> None:
    async def work() -> tuple[str, list[object]]:
        file = await revise.write_revision(SCHEMA, "0001", "first tables")
        await migrate(url, SCHEMA)
        return str(file), await revise.differences(url, SCHEMA)

    assert notes.within(work()) == (f"{package}/v0001_first_tables.py", [])


def test_the_command_prints_the_file(
    package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["revise", f"{__name__}:SCHEMA", "0001", "first tables"])
    revise.main()
    assert f"{package}/v0001_first_tables.py" in capsys.readouterr().out
    assert (package / "v0001_first_tables.py").read_text().startswith('"""First tables."""\n')
