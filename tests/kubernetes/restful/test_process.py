"""`minicluster rest-api` as a process, with the rights that it is to have and no others."""

from __future__ import annotations

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

PASSWORD = "canary-that-somebody-typed"
SECONDS = 90.0
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


@pytest.fixture(scope="module")
def replica(
    own_plane: ControlPlane | None, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replica]:
    """One that serves a MiniCluster without a lead."""
    if own_plane is None:
        pytest.skip("needs a control plane of its own, not the cluster of --kube-context")
    folder, namespace = tmp_path_factory.mktemp("rest"), f"rest-{secrets.token_hex(4)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    fleet = Fleet(folder / "leads")
    fleet.publish(api, namespace)
    operators.create(api, namespace)
    kubeconfig = rights.account(own_plane, namespace, namespace)
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
    yield Replica(process, log, words, namespace, hidden)
    process.kill()
    process.wait(SECONDS)
    api.delete(operators.path(namespace, "mc"))


def test_it_is_ready_and_has_found_the_minicluster(replica: Replica) -> None:
    assert httpx2.get(f"{replica.url}/readyz").json() == {"status": "ok"}
    assert [httpx2.get(f"{replica.probes}{each}").text for each in ("/readyz", "/healthz")] == [
        "ok\n",
        "ok\n",
    ]

    def found() -> bool:
        return 'minicluster_rest_clusters{state="away"} 1.0' in httpx2.get(f"{replica.probes}/metrics").text

    until(found, "the MiniCluster", SECONDS)
    assert f"is served as {replica.user}.mc, tenancy shared" in replica.text()


def test_a_request_has_a_line_and_is_counted(replica: Replica) -> None:
    form = {"grant_type": "password", "username": "nobody", "password": PASSWORD}
    answer = httpx2.post(f"{replica.url}/v2/oauth/token", data=form)
    assert answer.status_code == 400
    number = answer.headers["x-request-id"]
    until(lambda: f'"request": "{number}"' in replica.text(), "the line", SECONDS)
    metrics = httpx2.get(f"{replica.probes}/metrics").text
    assert 'minicluster_rest_logins_total{result="denied"} 1.0' in metrics
    assert 'minicluster_rest_requests_total{code="400",method="POST",route="/v2/oauth/token"} 1.0' in metrics


def test_a_second_one_does_not_use_the_same_file(replica: Replica) -> None:
    assert replica.url
    url = database_url(replica.words[2])
    with pytest.raises(ServeError, match=f"another process serves {url}: SQLite is for one replica"):
        only_process(url).__enter__()


def test_no_secret_is_where_others_see_it(replica: Replica) -> None:
    seen = {
        "log": replica.text(),
        "metrics": httpx2.get(f"{replica.probes}/metrics").text,
        "arguments": Path(f"/proc/{replica.process.pid}/cmdline").read_text(),
        "words": " ".join(replica.words),
        "OpenAPI": httpx2.get(f"{replica.url}/openapi.json").text,
    }
    assert [(where, each) for where, text in seen.items() for each in replica.secrets if each in text] == []


def test_it_uses_the_rights_that_it_has_and_no_others(replica: Replica, plane: ControlPlane) -> None:
    asked = [each for each in plane.requests() if each.user == replica.user and each.resource]
    assert [each for each in asked if each.code == 403] == []
    assert {(each.resource, each.verb) for each in asked} == {
        ("miniclusters", "list"), ("miniclusters", "watch"), ("secrets", "get"),
    }  # fmt: skip


def test_it_ends_at_once_and_in_good_order(replica: Replica) -> None:
    """The last test of this file."""
    assert replica.url
    replica.process.send_signal(signal.SIGTERM)
    assert replica.process.wait(18) == 0
    assert '"level": "error"' not in replica.text()
    assert "defect" not in replica.text()
