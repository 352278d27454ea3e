"""Which kubeconfigs are used, and which are refused with words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from burst.providers.kubernetes.access import CheckedAccess
from minicluster.kube_client.errors import AccessError
from tests.burst.providers.kubernetes.fake_api import kubeconfig

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://127.0.0.1:1"
EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": ["/tmp/it-ran"]}
REFUSED: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "exec": ({"exec": EXEC}, {}, "`exec` runs a program, which is refused"),
    "auth-provider": (
        {"auth-provider": {"name": "gcp"}},
        {},
        "`auth-provider` runs a plug-in, which is refused",
    ),
    "token-file": ({"tokenFile": "/etc/shadow"}, {}, "`tokenFile` names a file, which is refused; `token`"),
    "certificate": (
        {"client-certificate": "a.crt"},
        {},
        "`client-certificate-data` would be right",
    ),
    "key": ({"client-key": "/etc/key"}, {}, "`client-key-data` would be right"),
    "authority": (
        {"token": "t"},
        {"certificate-authority": "/etc/ca"},
        "`certificate-authority-data` would be right",
    ),
}


def test_a_token_inside_is_used(tmp_path: Path) -> None:
    found = CheckedAccess(str(kubeconfig(tmp_path, URL))).connect()
    assert (found.server, found.token) == (URL, "a-token-that-nobody-may-read")
    assert "nobody-may-read" not in repr(found)


@pytest.mark.parametrize("name", REFUSED)
def test_what_runs_or_reads_something_else_is_refused(tmp_path: Path, name: str) -> None:
    user, cluster, message = REFUSED[name]
    path = kubeconfig(tmp_path, URL, user, **cluster)
    with pytest.raises(AccessError, match=f"kubeconfig {path}: .*{message}") as raised:
        CheckedAccess(str(path)).connect()
    assert "kubectl config view --flatten" in str(raised.value)


def test_what_other_contexts_have_does_not_matter(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, URL)
    text = path.read_text().replace("users:", "users:\n- name: other\n  user: {exec: {command: touch}}")
    path.write_text(text)
    assert CheckedAccess(str(path), "far").connect().server == URL


def test_a_file_is_checked_at_each_connection(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, URL)
    access = CheckedAccess(str(path))
    access.connect()
    kubeconfig(tmp_path, URL, {"exec": EXEC})
    with pytest.raises(AccessError, match="runs a program"):
        access.connect()


def test_a_kubeconfig_that_is_none_is_refused_with_words(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with pytest.raises(AccessError, match="cannot be read: No such file"):
        CheckedAccess(str(path)).connect()
    for text, message in (
        ("{", "is no YAML"),
        ("[]", "it has no current context; name one of its own in the settings"),
        ("- a", "has no contexts, clusters and users as it should"),
        ("contexts: [{name: a}]\ncurrent-context: a", "lacks 'context'"),
        ("contexts: []\ncurrent-context: a", "its contexts have no 'a', but nothing"),
    ):
        path.write_text(text)
        with pytest.raises(AccessError, match=message):
            CheckedAccess(str(path)).connect()
    kubeconfig(tmp_path, URL)
    with pytest.raises(AccessError, match="its contexts have no 'near', but far"):
        CheckedAccess(str(path), "near").connect()


def test_without_a_kubeconfig_the_pods_own_account_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """And never a file that the environment names."""
    monkeypatch.setenv("KUBECONFIG", "/somebody/elses")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(AccessError, match="in a pod, \\$KUBERNETES_SERVICE_HOST"):
        CheckedAccess().connect()
