"""`minicluster serve` as a process, over a cluster of one broker in directories of its own."""

import asyncio
import contextlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from minicluster.database import open_database
from restful.cli.state import StateDirectory
from restful.identity.identities import open_identities
from restful.identity.master_key import load_master_key
from restful.identity.principal import Role
from restful.identity.settings import IdentitySettings
from restful.store import users
from restful.store.schema import SCHEMA
from restful.store.users import UserKind, UserRecord, UserState
from tests.devcluster.waiting import until
from tests.local.local_machine import Machine

START_TIMEOUT = 120.0
END_TIMEOUT = 40.0
_URL = re.compile(r"is served at (\S+)")


@dataclass
class Served:
    """A service's process, and what it has written."""

    machine: Machine
    state: Path
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    reader: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @property
    def text(self) -> str:
        """All that it has written so far."""
        return "".join(self.lines)

    @property
    def url(self) -> str:
        """Where it is."""
        return _URL.findall(self.text)[0]

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(self.process.stderr)

    def await_start(self) -> None:
        """Wait until it serves."""
        until(lambda: _URL.search(self.text) or self.process.poll() is not None, "service", START_TIMEOUT)
        assert self.process.poll() is None, self.text

    def end(self) -> int:
        """Ask it to end, and return its exit code, once all that it has written was read."""
        self.process.terminate()
        code = self.process.wait(END_TIMEOUT)
        self.reader.join(END_TIMEOUT)
        return code

    def close(self) -> None:
        """End it whatever it does, and close its pipes."""
        self.process.kill()
        with self.process:
            self.reader.join(END_TIMEOUT)

    def add_user(self, name: str, password: str) -> None:
        """Store a user who may log in."""
        asyncio.run(_add_user(StateDirectory(self.state), name, password))


async def _add_user(directory: StateDirectory, name: str, password: str) -> None:
    database = await open_database(directory.database, SCHEMA)
    settings = IdentitySettings(argon2_memory=8, argon2_passes=1)
    identities = open_identities(database, settings, time.time, load_master_key(directory.master_key))
    async with identities.passwords.slot():
        hashed = await identities.passwords.hash(password)
    user = UserRecord(
        id=identities.new_id(), name=name, kind=UserKind.USER, role=Role.USER, state=UserState.ACTIVE,
        epoch=0, created=time.time(), password=hashed,
    )  # fmt: skip
    async with identities.change() as connection:
        await users.add(connection, user)
    await database.close()


@contextlib.contextmanager
def serving(*options: str, directory: Path | None = None, **environment: str) -> Iterator[Served]:
    """Give a service that is started with more variables, and leave nothing of it and of its cluster.

    It is started in `directory`; None: in that of the tests.
    """
    folder = Path(tempfile.mkdtemp(prefix="mcs-", dir="/tmp"))  # a short path: sockets allow 107 bytes
    machine = Machine(folder / "m", "embedded", environment)
    words = ("serve", "--engine", "embedded", "--state", folder / "s", "--listen", "127.0.0.1:0", *options)
    served = Served(machine, folder / "s", machine.start(*words, cwd=directory))
    try:
        served.await_start()
        yield served
    finally:
        served.close()
        for row in machine.rows("list"):
            machine.call("down", row["name"])
        left = machine.left()
        shutil.rmtree(folder, ignore_errors=True)
    assert left == ([], [])
