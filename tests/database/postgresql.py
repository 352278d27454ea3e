"""A PostgreSQL of the test run's own: on a UNIX socket in a temporary directory, with a password.

Its programs are the machine's (package `postgresql`). PostgreSQL refuses to run as root: for root it runs as
the user that comes with the package. It ends with the process that started it, however that ends, and its
files go with it.
"""

import asyncio
import itertools
import os
import pwd
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import asyncpg

from tests.devcluster import debian
from tests.devcluster.errors import HarnessError
from tests.devcluster.waiting import until

PACKAGE = "postgresql"
ACCOUNT = "postgres"
VERSIONS = Path("/usr/lib/postgresql")
NO_SERVICE = Path("/etc/postgresql-common/createcluster.d/no-main-cluster.conf")
SETTINGS = {
    "fsync": "off",  # what is lost with the machine was a test's
    "full_page_writes": "off",
    "max_connections": "40",
    "shared_buffers": "16MB",
}
SECONDS = 240.0
# Its standard input ends with the process that started it.
REMOVE = """\
cat >/dev/null
read -r pid rest <"$1/data/postmaster.pid" &&
    [ "$(readlink "/proc/$pid/cwd")" = "$1/data" ] && kill -QUIT "$pid"
until rm -rf "$1"; do sleep 0.1; done
"""


class Server:
    """A server that was started; its databases are those of a user without further rights."""

    user = "rest"

    def __init__(self, programs: Path, address: str = "", clients: str = "") -> None:
        """Start it. With an address it listens there too, at its usual port, for the clients of a network."""
        self.programs = programs
        self._numbers = itertools.count(1)
        self.password = secrets.token_hex(8)
        self.folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
        self._data = self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._remover = subprocess.Popen(
            ["sh", "-c", REMOVE, "sh", self.folder], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        words = self.folder / "password"
        words.write_text(self.password)
        if os.geteuid() == 0:
            account = pwd.getpwnam(ACCOUNT)
            for each in (self.folder, words):
                os.chown(each, account.pw_uid, account.pw_gid)
        options = ["--no-sync", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", f"--pwfile={words}"]
        self._run("initdb", f"--username={ACCOUNT}", *options, "--pgdata", self._data)
        self._address = address
        if address:
            with (self._data / "pg_hba.conf").open("a") as rules:
                rules.write(f"host all {self.user} {clients} scram-sha-256\n")
        self.start()
        self._execute(f"CREATE ROLE {self.user} LOGIN PASSWORD '{self.password}'")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        own = {"listen_addresses": self._address, "unix_socket_directories": str(self.folder)}
        settings = {**SETTINGS, **own}
        options = [f"--{name}={value}" for name, value in settings.items()]
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*_as_account(), self.programs / "postgres", "-D", self._data, *options],
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        until(self._ready, "PostgreSQL to answer", SECONDS)

    @property
    def pid(self) -> int:
        """The process that all others of it are children of; 0 where it was killed."""
        return self._process.pid if self._process is not None else 0

    def kill(self) -> None:
        """End it as a crash does: all its processes at once, without a word to its clients."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(SECONDS)
            self._process = None

    def remove(self) -> None:
        """End it, and remove its files."""
        self.kill()
        assert self._remover.stdin is not None
        self._remover.stdin.close()
        self._remover.wait(SECONDS)

    def database(self) -> str:
        """Return the URL of a new database, with its password."""
        name = f"t{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name} OWNER {self.user}")
        return self.url(f"{self.user}:{self.password}", name)

    def url(self, user: str, database: str) -> str:
        """Return the URL of a database for a user, who may have a password behind a colon."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def _ready(self) -> bool:
        """Return whether it answers; raise HarnessError where it has ended."""
        if self._process is None or self._process.poll() is not None:
            raise HarnessError(f"PostgreSQL does not start: {(self.folder / 'log').read_text()[-1000:]}")
        state = self._data / "postmaster.pid"
        return state.exists() and "ready" in state.read_text()

    def _run(self, program: str, *words: str | Path) -> None:
        argv = [*_as_account(), self.programs / program, *words]
        done = subprocess.run(argv, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise HarnessError(f"{program} failed: {done.stderr[-1000:]}")

    def _execute(self, statement: str) -> None:
        async def work() -> None:
            connection = await asyncpg.connect(self.url(f"{ACCOUNT}:{self.password}", "postgres"))
            await connection.execute(statement)
            await connection.close()

        asyncio.run(work())


def serving() -> Iterator[Server]:
    """Give a server until the end; raise MissingProgramsError where there is none to be had."""
    server = Server(programs())
    try:
        yield server
    finally:
        server.remove()


def programs(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the programs; under CI=true they are installed, without a service."""
    if environ.get("CI") == "true" and os.geteuid() == 0 and _missing():
        NO_SERVICE.parent.mkdir(parents=True, exist_ok=True)
        NO_SERVICE.write_text("create_main_cluster = false\n")
    debian.require(_missing, "a PostgreSQL for tests needs", environ)
    return _folders()[-1]


def _missing() -> list[str]:
    return [] if _folders() else [PACKAGE]


def _folders() -> list[Path]:
    """Return the folders with a server of the machine, the newest version last."""
    found = [each.parent for each in VERSIONS.glob("*/bin/initdb")]
    return sorted(found, key=lambda folder: int(folder.parent.name))


def _as_account() -> list[str]:
    """Return what has a program end with this process, and run as somebody else where this is root."""
    other = [f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups"] if os.geteuid() == 0 else []
    return ["setpriv", *other, "--pdeathsig=QUIT"]
