"""PostgreSQL: how a password is found, what is said of a server that refuses, and of one that is killed."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select, text

from minicluster.database import Database, DatabaseAway, DatabaseError
from tests.database import notes
from tests.database.postgresql import Server


async def _use(url: str) -> None:
    async with notes.opened(url) as database:
        await notes.add(database, "one")


def _without_password(server: Server, passfile: Path | None = None) -> str:
    url = server.database().replace(f":{server.password}", "")
    return f"{url}&passfile={passfile}" if passfile else url


def _passfile(server: Server, folder: Path, mode: int = 0o600) -> Path:
    path = folder / "passwords"
    path.write_text(f"*:*:*:{server.user}:{server.password}\n")
    path.chmod(mode)
    return path


@pytest.mark.parametrize("where", ["option", "environment"])
def test_a_password_may_be_in_a_file(
    where: str, postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _passfile(postgresql, tmp_path)
    if where == "environment":
        monkeypatch.setenv("PGPASSFILE", str(path))
    url = _without_password(postgresql, path if where == "option" else None)
    assert notes.within(_use(url)) is None


def test_a_file_with_passwords_that_others_may_read_is_refused(postgresql: Server, tmp_path: Path) -> None:
    path = _passfile(postgresql, tmp_path, 0o640)
    with pytest.raises(DatabaseError, match=rf"passwords {path} is open to others: chmod 600 {path}$"):
        notes.within(_use(_without_password(postgresql, path)))


def test_a_file_with_passwords_that_is_not_there_is_named(postgresql: Server, tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match=r"the file with passwords .*/gone: No such file or directory$"):
        notes.within(_use(_without_password(postgresql, tmp_path / "gone")))


def _wrong_password(server: Server) -> str:
    return server.database().replace(server.password, "sesame")


def _no_database(server: Server) -> str:
    return server.url(f"{server.user}:{server.password}", "nowhere")


def _no_server(server: Server) -> str:
    return f"postgresql://rest:sesame@/rest?host={server.folder}/gone"


def _wrong_option(server: Server) -> str:
    return server.database() + "&sslmode=perhaps"


def _owned_by_another(server: Server) -> str:
    return server.url(f"{server.user}:{server.password}", "postgres")


@pytest.mark.parametrize(
    ("url", "kind", "words"),
    [
        pytest.param(
            _wrong_password, DatabaseError, "refused the user or the password: see the URL", id="password"
        ),
        pytest.param(_no_database, DatabaseError, "is not there: its server has no database", id="database"),
        pytest.param(_no_server, DatabaseAway, "cannot be reached: No such file or directory", id="server"),
        pytest.param(
            _wrong_option, DatabaseError, "an option of its URL is not right: `sslmode`", id="option"
        ),
        pytest.param(_owned_by_another, DatabaseError, "refused a right: its user must own", id="right"),
    ],
)
def test_a_server_that_refuses_is_named(
    url: Callable[[Server], str],
    kind: type[DatabaseError],
    words: str,
    postgresql: Server,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(kind) as caught:
        notes.within(_use(url(postgresql)))
    message = str(caught.value)
    assert type(caught.value) is kind
    assert words in message
    assert postgresql.password not in message + caplog.text
    assert "sesame" not in message + caplog.text


async def _killed(server: Server, database: Database, *further: str) -> None:
    """Kill a server amid a transaction, and go on with that."""
    async with database.write() as connection:
        await connection.execute(notes.NOTES.insert(), {"text": "lost"})
        server.kill()
        for each in further:
            await connection.execute(notes.NOTES.insert(), {"text": each})


def test_who_writes_sees_what_was_committed_while_he_waited(postgresql: Server) -> None:
    """Whatever isolation the server's owner has made the default."""
    url = postgresql.database()

    async def work() -> tuple[str, list[str]]:
        async with notes.opened(url) as database, database.write() as connection:
            statement = "ALTER DATABASE {} SET default_transaction_isolation TO 'repeatable read'"
            name = await connection.scalar(text("SELECT quote_ident(current_database())"))
            await connection.execute(text(statement.format(name)))
        async with notes.opened(url) as database, database.write() as first:
            default = await first.scalar(text("SHOW default_transaction_isolation"))
            second = asyncio.create_task(_found(url))
            await first.execute(notes.NOTES.insert(), [{"text": "one"}])
            async with notes.waiting(url, 5.0) as beside:
                while not await _waiting(beside):
                    await asyncio.sleep(0)
        return str(default), await second

    assert notes.within(work()) == ("repeatable read", ["one"])


async def _found(url: str) -> list[str]:
    async with notes.waiting(url, 30.0) as database, database.write() as connection:
        return list((await connection.scalars(select(notes.NOTES.c.text))).all())


async def _waiting(database: Database) -> bool:
    """Return whether a transaction waits for the lock of those who write."""
    here = "(SELECT oid FROM pg_database WHERE datname = current_database())"
    found = f"SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = {here}"
    async with database.read() as connection:
        return bool(await connection.scalar(text(f"SELECT EXISTS ({found})")))


def test_a_server_killed_amid_a_transaction_does_none_of_it(postgresql: Server) -> None:
    async def work(url: str) -> list[str]:
        async with notes.opened(url) as database:
            await notes.add(database, "before")
            with pytest.raises(DatabaseAway, match=r"/t\d+ (cannot be reached|is starting or ending)"):
                await _killed(postgresql, database, "lost as well")
            with pytest.raises(DatabaseAway, match="cannot be reached: "):
                await notes.texts(database)
            postgresql.start()
            await notes.add(database, "after")
            return await notes.texts(database)

    assert notes.within(work(postgresql.database())) == ["before", "after"]


def test_a_server_killed_before_a_commit_leaves_nothing(postgresql: Server) -> None:
    async def work(url: str) -> list[str]:
        async with notes.opened(url) as database:
            with pytest.raises(DatabaseAway, match=r"/t\d+ (cannot be reached|is starting or ending)"):
                await _killed(postgresql, database)
            postgresql.start()
            return await notes.texts(database)

    assert notes.within(work(postgresql.database())) == []


def test_a_pool_replaces_connections_of_a_server_that_started_again(postgresql: Server) -> None:
    async def work(url: str) -> list[str]:
        async with notes.opened(url) as database:
            await notes.add(database, "before")
            postgresql.kill()
            postgresql.start()
            await notes.add(database, "after")
            return await notes.texts(database)

    assert notes.within(work(postgresql.database())) == ["before", "after"]
