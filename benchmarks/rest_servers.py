"""The servers that benchmarks/rest.py measures: ours and flux-restful-api, over the same instance."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from engines import resident, wait_for

from broker_config.formats.job_states import JobResult, JobState
from minicluster.database import open_database
from restful.cli.state import StateDirectory
from restful.identity import personal_tokens
from restful.identity.identities import open_identities
from restful.identity.master_key import load_master_key
from restful.identity.personal_tokens import TokenWish
from restful.identity.principal import Role
from restful.identity.scopes import OF_USERS, GrantRole
from restful.identity.settings import IdentitySettings
from restful.store import clusters, groups, jobs, tokens, users
from restful.store.groups import EVERY_CLUSTER, GrantRecord
from restful.store.jobs import JobRecord, status_of
from restful.store.schema import SCHEMA
from restful.store.tokens import CredentialKind
from restful.store.users import UserKind, UserRecord, UserState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engines import Instance

HERE = Path(__file__).parent
CLUSTER = "mc"
PASSWORD = "a long password for measuring"
MEMORY = 4 << 30
"""Bytes of data that a server may have: a leak ends it, and not the machine."""
BATCH = 5000
REFERENCE_USER = "fluxuser"


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers."""

    host: str
    port: int
    pid: int

    @property
    def memory(self) -> float:
        """Its resident memory in MB (10^6 bytes)."""
        return resident(self.pid)

    def ask(self, method: str, path: str, token: str = "", **more: Any) -> Any:
        """Send a request and return the JSON of its answer. `json` or `form` is the body."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None
        if "json" in more:
            data, headers["Content-Type"] = json.dumps(more["json"]).encode(), "application/json"
        elif "form" in more:
            data = urlencode(more["form"]).encode()
        url = f"http://{self.host}:{self.port}{path}"
        sent = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(sent, timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read()[:500]!r}") from error

    @property
    def target(self) -> dict[str, Any]:
        """Where a load goes to."""
        return {"host": self.host, "port": self.port}


@dataclass(frozen=True, slots=True)
class User:
    """A user of ours, with a personal token."""

    id: str
    name: str
    token: str


@contextlib.contextmanager
def _running(command: list[str], **more: Any) -> Iterator[subprocess.Popen[str]]:
    limited = ["prlimit", f"--data={MEMORY}", *command]
    process = subprocess.Popen(limited, text=True, **more)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@contextlib.contextmanager
def ours(instance: Instance, state: Path) -> Iterator[Server]:
    """Serve an instance."""
    command = [sys.executable, str(HERE / "rest_service.py"), str(state), instance.uri]
    with _running(command, env=instance.environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = urlsplit(process.stdout.readline().strip())
        if url.hostname is None or url.port is None:
            raise SystemExit("our service did not start")
        server = Server(url.hostname, url.port, process.pid)
        if not wait_for(lambda: _is_ready(server)):
            raise SystemExit("our service does not become ready")
        yield server


def _is_ready(server: Server) -> bool:
    with contextlib.suppress(OSError, SystemExit):
        return bool(server.ask("GET", "/readyz")["status"] == "ok")
    return False


def add_users(state: Path, count: int) -> list[User]:
    """Store users with a password and a token each, who may use every cluster."""
    return asyncio.run(_add_users(StateDirectory(state), count))


async def _add_users(directory: StateDirectory, count: int) -> list[User]:
    database = await open_database(directory.database, SCHEMA)
    identities = open_identities(
        database, IdentitySettings(), time.time, load_master_key(directory.master_key)
    )
    async with identities.passwords.slot():
        hashed = await identities.passwords.hash(PASSWORD)
    found = []
    async with identities.change() as connection:
        for number in range(count):
            user = UserRecord(
                identities.new_id(), f"user{number}", UserKind.USER, Role.USER, UserState.ACTIVE, 0,
                time.time(), password=hashed,
            )  # fmt: skip
            await users.add(connection, user)
            wish = TokenWish("benchmark", OF_USERS, 86_400.0)
            token = personal_tokens.made(identities, user.id, wish, CredentialKind.PERSONAL)
            await tokens.add(connection, token.record)
            found.append(User(user.id, user.name, token.text))
        if not await groups.grants(connection):
            grant = GrantRecord(identities.new_id(), EVERY_CLUSTER, GrantRole.USE, time.time())
            await groups.add_grant(connection, grant)
    await database.close()
    return found


def add_jobs(state: Path, owner: str, count: int) -> None:
    """Store jobs that have ended, as if the user had had them in the last weeks."""
    asyncio.run(_add_jobs(StateDirectory(state), owner, count))


async def _add_jobs(directory: StateDirectory, owner: str, count: int) -> None:
    database = await open_database(directory.database, SCHEMA)
    async with database.read() as connection:
        cluster = await clusters.by_name(connection, CLUSTER)
    assert cluster is not None
    results = (JobResult.COMPLETED,) * 7 + (JobResult.FAILED, JobResult.CANCELED, JobResult.TIMEOUT)
    now = time.time()
    for first in range(0, count, BATCH):
        records = [
            JobRecord(
                cluster.id,
                cluster.instance,
                10**15 + number,
                owner,
                f"R{number}",
                status_of(JobState.INACTIVE, results[number % 10]),
                f"solve-{number % 1000}",
                "batch" if number % 3 else "debug",
                nnodes=1 + number % 4,
                ntasks=4,
                ncores=4,
                duration=3600.0,
                t_submit=now - 30.0 * (count - number),
                t_listed=now - 30.0 * (count - number),
                t_run=now - 30.0 * (count - number) + 5,
                t_cleanup=now - 30.0 * (count - number) + 60,
                t_inactive=now - 30.0 * (count - number) + 61,
                nodelist="mc-[0-3]",
                returncode=0,
            )
            for number in range(first, min(count, first + BATCH))
        ]
        async with database.write() as connection:
            await jobs.put(connection, records)
    await database.close()


@contextlib.contextmanager
def reference(instance: Instance, checkout: Path, python: Path, folder: Path) -> Iterator[tuple[Server, str]]:
    """Serve an instance by flux-restful-api, with a login; yield it with an access token."""
    code = folder / "reference"
    shutil.copytree(checkout, code, ignore=shutil.ignore_patterns(".git"))
    names = {"FLUX_REQUIRE_AUTH": "1", "FLUX_USER": REFERENCE_USER, "FLUX_TOKEN": PASSWORD}
    bindings = subprocess.run(
        ["flux", "env", "printenv", "PYTHONPATH"], env=instance.environment, capture_output=True, text=True,
        check=True,
    ).stdout.strip()  # fmt: skip
    env = {
        **instance.environment, **names, "FLUX_SECRET_KEY": "measured", "PYTHONPATH": f"{bindings}:{code}",
        "FLUX_NUMBER_NODES": "1",
    }  # fmt: skip
    for words in (["-c", "import app.main"], ["app/db/init_db.py", "init"]):
        done = subprocess.run(
            [str(python), *words], cwd=code, env=env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"the reference does not start: {done.stderr[-1000:]}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [
        str(python), "-m", "uvicorn", "app.main:app", "--host", "127.0.0.1", "--port", str(port),
        "--workers", "1", "--no-access-log", "--log-level", "error",
    ]  # fmt: skip
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with _running(command, cwd=code, env=env, **silent) as process:  # it prints each job: a pipe would fill
        server = Server("127.0.0.1", port, process.pid)
        form = {"username": REFERENCE_USER, "password": PASSWORD}

        def token() -> str:
            return str(server.ask("POST", "/v1/login/access-token", form=form)["access_token"])

        def answers() -> bool:
            with contextlib.suppress(OSError, SystemExit):
                return bool(token())
            return False

        if not wait_for(answers):
            raise SystemExit("the reference does not answer")
        yield server, token()
