"""What a job of `minicluster serve` is given of the service: no secret.

On one machine all jobs run as the account that serves, as the command states when it starts. What is proven
here is what a job is given: environment, arguments, open files, working directory and umask; and what the
brokers above it were started with. Files of that account are not hidden from it, and its own processes
neither: the database, the master key, and the environment that the service itself was started with. Who must
not see these needs an account of his own, or a MiniCluster on Kubernetes, where the service is elsewhere.
"""

from __future__ import annotations

import json
import sqlite3
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.devcluster.waiting import until
from tests.restful.cli.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

USER, PASSWORD = "alice", "correct horse canary"
CANARIES = {
    "DATABASE_URL": "postgresql://rest:canary-database@db/rest",
    "MINICLUSTER_TOKEN": "canary-token-of-the-environment",
    "AWS_SECRET_ACCESS_KEY": "canary-of-a-cloud",
    "KUBERNETES_TOKEN_FILE": "/var/run/canary/serviceaccount/token",
    "OIDC_CLIENT_SECRET": "canary-of-a-provider",
}
"""In the environment in which the service is started."""
SHOW = textwrap.dedent(
    """
    import json, os
    def read(path):
        try:
            with open(path, "rb") as file:
                return file.read(1 << 20).decode("latin-1")
        except OSError as error:
            return str(error)
    def link(path):
        try:
            return os.readlink(path)
        except OSError as error:
            return str(error)
    def shown(pid):
        where = f"/proc/{pid}"
        return {each: read(f"{where}/{each}") for each in ("comm", "cmdline", "environ", "mountinfo")}
    own, above, pid = os.getpid(), [], os.getppid()
    while pid > 1:
        found = shown(pid)
        if "serve" in found["cmdline"].split("\\0"):
            break
        above.append(found)
        pid = int(read(f"/proc/{pid}/stat").rpartition(")")[2].split()[1])
    descriptors = {each: link(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")}
    umask = os.umask(0)
    status = read("/proc/self/status")
    print(json.dumps({
        "environment": dict(os.environ), "own": shown(own), "above": above, "cwd": os.getcwd(),
        "descriptors": descriptors, "umask": umask, "status": status, "links": [link("/proc/self/exe")],
    }))
    """
)
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A service that was started among secrets."""
    with serving(**CANARIES) as found:
        found.add_user(USER, PASSWORD)
        yield found


@pytest.fixture(scope="module")
def secrets(served: Served) -> set[str]:
    """All that nobody may see."""
    link = served.text.partition("token=")[2].partition("\n")[0]
    master = (served.state / "master.key").read_bytes()
    return {*CANARIES.values(), link, PASSWORD, master.decode("latin-1"), master.hex()}


@pytest.fixture(scope="module")
def client(served: Served, secrets: set[str]) -> Iterator[httpx2.Client]:
    """A client that has logged in; its tokens are secrets as well."""
    form = {"grant_type": "password", "username": USER, "password": PASSWORD}
    with httpx2.Client(base_url=served.url) as made:
        tokens = made.post("/v2/oauth/token", data=form).json()
        made.headers["Authorization"] = f"Bearer {tokens['access_token']}"
        body = {"name": "ci", "scopes": ["jobs:read", "jobs:submit"]}
        personal = made.post("/v2/me/tokens", json=body).json()["token"]
        secrets |= {tokens["access_token"], tokens["refresh_token"], personal}
        made.headers["Authorization"] = f"Bearer {personal}"
        yield made


@pytest.fixture(scope="module")
def seen(client: httpx2.Client) -> dict[str, Any]:
    """What a job prints of itself and of what is above it."""
    body = {"command": ["python3", "-c", SHOW], "environment": {"MINE": "is here"}}
    where = f"/v2/clusters/mc/jobs/{client.post('/v2/clusters/mc/jobs', json=body).json()['id']}"
    until(lambda: client.get(where).json()["state"] == "INACTIVE", "the job's end")
    text = client.get(f"{where}/output", params={"stream": "stdout"}).text
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_job_is_given_no_secret(seen: dict[str, Any], secrets: set[str]) -> None:
    given = json.dumps({name: each for name, each in seen.items() if name != "above"}, ensure_ascii=False)
    assert [each for each in secrets if each in given] == []
    assert seen["environment"]["MINE"] == "is here"
    assert not [each for each in seen["environment"] if "TOKEN" in each or "SECRET" in each]


def test_what_is_above_a_job_was_started_without_secrets(seen: dict[str, Any], secrets: set[str]) -> None:
    above = seen["above"]
    text = json.dumps(above, ensure_ascii=False)
    assert [each for each in secrets if each in text] == []
    assert len(above) >= 2  # a broker, and what supervises it
    assert any("PATH=" in each["environ"] for each in above)  # it can be read, so it was looked at


def test_a_job_has_none_of_the_services_files_open(seen: dict[str, Any], served: Served) -> None:
    """Neither the database, nor the lock, nor a connection; the one socket is PMI's, to its own broker."""
    found = seen["descriptors"]
    sockets = {number for number, target in found.items() if target.startswith("socket:")}
    assert not [target for target in found.values() if str(served.state) in target]
    assert sockets <= {seen["environment"].get("PMI_FD")}
    assert len(found) - len(sockets) <= 4  # the standard ones, and the directory that is listed


def test_a_job_is_where_the_cluster_is_and_its_files_are_its_users(seen: dict[str, Any]) -> None:
    assert seen["cwd"] == str(Path.cwd())
    assert seen["umask"] & 0o022 == 0o022


def test_nothing_is_in_the_log_the_audit_and_the_refusals(
    served: Served, client: httpx2.Client, secrets: set[str], seen: dict[str, Any]
) -> None:
    refusals = [
        client.get("/v2/me", headers={"Authorization": f"Bearer {each}"}).text
        for each in secrets
        if each.isascii() and each.isprintable() and " " not in each
    ]
    refusals += [
        client.post(
            "/v2/oauth/token", data={"grant_type": "password", "username": each, "password": each}
        ).text
        for each in (PASSWORD, CANARIES["DATABASE_URL"])
    ]
    with sqlite3.connect(served.state / "serve.db") as connection:
        audit = connection.execute("SELECT * FROM audit").fetchall()
    link = served.text.partition("token=")[2].partition("\n")[0]
    written = served.text.replace(link, "")  # which is printed for who has started it
    for where in (written, repr(audit), *refusals):
        assert [each for each in secrets if each in where] == []
    assert len(audit) > 3


def test_no_secret_is_in_the_database_as_it_is(
    served: Served, secrets: set[str], client: httpx2.Client
) -> None:
    """Tokens are digests there, and keys are sealed."""
    content = b"".join(each.read_bytes() for each in served.state.glob("serve.db*"))
    found = [each for each in secrets if each.encode("latin-1") in content]
    assert found == []
