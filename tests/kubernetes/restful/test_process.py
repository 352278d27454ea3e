"""`minicluster rest-api` as a process, with the rights that it is to have and no others."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from minicluster.lead_client.purpose_keys import JOBS
from restful.cli.errors import ServeError
from restful.kubernetes import administration
from restful.kubernetes.process import only_process
from restful.kubernetes.settings import database_url
from tests.devcluster.waiting import until
from tests.forked import Forked
from tests.kubernetes import operators
from tests.kubernetes.restful import rights
from tests.kubernetes.restful.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.devcluster import Api, ControlPlane
    from tests.devcluster.audit import Request

PASSWORD = "canary-that-somebody-typed"
SECONDS = 240.0
COUNTERS = (
    'minicluster_rest_logins_total{result="denied"}',
    'minicluster_rest_requests_total{code="400",method="POST",route="/v2/oauth/token"}',
)
_SERVED = re.compile(r'"served at (http://\S+)"')
_METRICS = re.compile(r"/readyz are served on (\S+?)\"")


@dataclass
class Replica:
    """A process, its log, and what must be in no place where others see it."""

    process: Forked
    log: Path
    words: list[str]
    user: str
    secrets: list[str]

    def text(self) -> str:
        """Return what it has logged."""
        return self.log.read_text()

    def address(self, pattern: re.Pattern[str]) -> str:
        """Return an address that it has logged."""
        assert self.process.poll() is None, self.text()
        found = pattern.search(self.text())
        return found[1] if found else ""

    @property
    def url(self) -> str:
        """Where it is served."""
        return until(lambda: self.address(_SERVED), "the service", SECONDS)

    @property
    def probes(self) -> str:
        """Where its probes are."""
        return f"http://{self.address(_METRICS)}"


def environment(kubeconfig: Path) -> dict[str, str]:
    """Return the environment of a process."""
    found = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    found.pop("KUBERNETES_SERVICE_HOST", None)
    return found


@contextlib.contextmanager
def serving(plane: ControlPlane | None, api: Api, folder: Path) -> Iterator[Replica]:
    """Give one that serves a MiniCluster without a lead."""
    if plane is None:
        pytest.skip("needs a control plane of its own, not the cluster of --kube-context")
    namespace = f"rest-{secrets.token_hex(4)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    fleet = Fleet(folder / "leads")
    fleet.publish(api, namespace)
    operators.create(api, namespace)
    kubeconfig = rights.account(plane, namespace, namespace)
    key = folder / "master.key"
    key.write_bytes(secrets.token_bytes(16).hex().encode())
    key.chmod(0o440)
    (folder / "url").write_text(f"sqlite:///{folder}/state/rest.db")
    administration.migrate_database(f"file:{folder}/url")
    words = ["rest-api", "--database", f"file:{folder}/url", "--master-key", str(key)]
    words += ["--listen", "127.0.0.1:0", "--tokens-secret", f"{namespace}/minicluster-jobs"]
    words += ["--log-format", "json", "--log-level", "debug"]
    log = folder / "log"
    log.touch()
    process = Forked(words, environment(kubeconfig), Path(os.devnull), log, log)
    hidden = [key.read_text(), fleet.authority.purpose(JOBS).key.hex(), PASSWORD]
    try:
        yield Replica(process, log, words, namespace, hidden)
    finally:
        process.kill()
        process.wait(SECONDS)
        api.delete(operators.path(namespace, "mc"))


@pytest.fixture(scope="module")
def replica(
    own_plane: ControlPlane | None, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replica]:
    """One for all tests of this file but those that end it."""
    with serving(own_plane, api, tmp_path_factory.mktemp("rest")) as found:
        yield found


def denied(replica: Replica) -> httpx2.Response:
    """Try to log in, again where one that failed before is to be waited for; return the answer."""
    form = {"grant_type": "password", "username": "nobody", "password": PASSWORD}

    def tried() -> httpx2.Response | None:
        answer = httpx2.post(f"{replica.url}/v2/oauth/token", data=form)
        return None if answer.status_code == 429 else answer

    answer = until(tried, "a login that is tried", SECONDS, interval=1.0)
    assert answer.status_code == 400
    return answer


def counted(replica: Replica, counter: str) -> float:
    """Return what a counter has; 0 before it is there."""
    metrics = httpx2.get(f"{replica.probes}/metrics").text.splitlines()
    return sum(float(each.rpartition(" ")[2]) for each in metrics if each.startswith(f"{counter} "))


def await_minicluster(replica: Replica) -> None:
    """Wait until the MiniCluster is found, whatever others there are."""
    line, counter = (
        f"is served as {replica.user}.mc, tenancy shared",
        'minicluster_rest_clusters{state="away"}',
    )
    until(lambda: line in replica.text() and counted(replica, counter) >= 1, "the MiniCluster", SECONDS)


def test_it_is_ready_and_has_found_the_minicluster(replica: Replica) -> None:
    assert httpx2.get(f"{replica.url}/readyz").json() == {"status": "ok"}
    assert [httpx2.get(f"{replica.probes}{each}").text for each in ("/readyz", "/healthz")] == [
        "ok\n",
        "ok\n",
    ]
    await_minicluster(replica)


def test_a_request_has_a_line_and_is_counted(replica: Replica) -> None:
    assert replica.url
    before = [counted(replica, each) for each in COUNTERS]
    number = denied(replica).headers["x-request-id"]
    until(lambda: f'"request": "{number}"' in replica.text(), "the line", SECONDS)
    assert [counted(replica, each) for each in COUNTERS] == [each + 1 for each in before]


def test_a_second_one_does_not_use_the_same_file(replica: Replica) -> None:
    assert replica.url
    url = database_url(replica.words[2])
    with pytest.raises(ServeError, match=f"another process serves {url}: SQLite is for one replica"):
        only_process(url).__enter__()


def test_no_secret_is_where_others_see_it(replica: Replica) -> None:
    number = denied(replica).headers["x-request-id"]
    until(lambda: f'"request": "{number}"' in replica.text(), "the line about a password", SECONDS)
    seen = {
        "log": replica.text(),
        "metrics": httpx2.get(f"{replica.probes}/metrics").text,
        "arguments": Path(f"/proc/{replica.process.pid}/cmdline").read_text(),
        "words": " ".join(replica.words),
        "OpenAPI": httpx2.get(f"{replica.url}/openapi.json").text,
    }
    assert [(where, each) for where, text in seen.items() for each in replica.secrets if each in text] == []


def test_it_uses_the_rights_that_it_has_and_no_others(replica: Replica, plane: ControlPlane) -> None:
    allowed = {("miniclusters", "list"), ("miniclusters", "watch"), ("secrets", "get")}
    asked: list[Request] = []

    def used() -> bool:
        asked[:] = [each for each in plane.requests() if each.user == replica.user and each.resource]
        return {(each.resource, each.verb) for each in asked} >= allowed

    until(used, "a request for each right", SECONDS)
    assert [each for each in asked if each.code == 403] == []
    assert {(each.resource, each.verb) for each in asked} == allowed


def test_it_ends_at_once_and_in_good_order(own_plane: ControlPlane | None, api: Api, tmp_path: Path) -> None:
    with serving(own_plane, api, tmp_path) as replica:
        assert replica.url
        await_minicluster(replica)
        replica.process.send_signal(signal.SIGTERM)
        assert replica.process.wait(60) == 0
        assert '"level": "error"' not in replica.text()
        assert "defect" not in replica.text()
