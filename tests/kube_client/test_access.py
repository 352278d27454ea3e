"""From a kubeconfig to how a server is spoken to; what cannot be done is said, never left out in silence."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from minicluster.kube_client import service_account
from minicluster.kube_client.access import Access
from minicluster.kube_client.errors import AccessError

SERVER = "https://api.example.org:6443"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def access(folder: Path, user: dict[str, Any] | None = None, **cluster: Any) -> Access:
    """Return the access by a kubeconfig with such a cluster and user."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return Access(str(path))


CONNECTIONS = [
    pytest.param({}, {}, "insecure", False, id="certificates are checked"),
    pytest.param({"insecure-skip-tls-verify": True}, {}, "insecure", True, id="unless that is refused"),
    pytest.param({}, {"token": "t"}, "token", "t", id="a token"),
    pytest.param({}, {"token": "t"}, "scheme", "Bearer", id="a token's scheme"),
    pytest.param({"proxy-url": "http://proxy:3128"}, {}, "proxy_url", "http://proxy:3128", id="a proxy"),
    pytest.param({}, {}, "proxy_url", None, id="no proxy"),
]


@pytest.mark.parametrize(("cluster", "user", "field", "value"), CONNECTIONS)
def test_what_the_kubeconfig_has_counts(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], field: str, value: object
) -> None:
    assert getattr(access(tmp_path, user, **cluster).connect(), field) == value


PROXIES = [
    pytest.param({"HTTPS_PROXY": "http://proxy:1"}, "http://proxy:1", id="for https"),
    pytest.param({"HTTP_PROXY": "http://proxy:1"}, None, id="for http only"),
    pytest.param({"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": ".example.org"}, None, id="but not there"),
]


@pytest.mark.parametrize(("environment", "proxy"), PROXIES)
def test_the_environments_proxies_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], proxy: str | None
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert access(tmp_path).connect().proxy_url == proxy


def test_the_kubeconfigs_proxy_counts_though_it_is_that_for_http_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    assert access(tmp_path, **{"proxy-url": "http://proxy:3128"}).connect().proxy_url == "http://proxy:3128"


UNSUPPORTED = [
    pytest.param({"proxy-url": "socks5://proxy:1080"}, "only http ones", id="another proxy"),
    pytest.param({"tls-server-name": "other.example.org"}, "tls-server-name", id="another name"),
]


@pytest.mark.parametrize(("cluster", "words"), UNSUPPORTED)
def test_what_is_not_supported_is_reported(tmp_path: Path, cluster: dict[str, Any], words: str) -> None:
    with pytest.raises(AccessError) as caught:
        access(tmp_path, **cluster).connect()
    assert (SERVER in str(caught.value), words in str(caught.value)) == (True, True)


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pretend that this process runs in a pod; return its folder of the service account."""
    for name, text in {"token": "t\n", "ca.crt": "authority", "namespace": "science\n"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(service_account, "FOLDER", tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return tmp_path


def test_in_a_pod_the_service_account_counts(pod: Path) -> None:
    found = Access().connect()
    assert (found.server, found.headers(), found.ca_path, found.default_namespace) == (
        "https://10.0.0.1:443",
        {"Authorization": "Bearer t"},
        str(pod / "ca.crt"),
        "science",
    )
    assert Access().namespace() == "science"


def test_in_a_pod_a_kubeconfig_that_is_given_comes_first(pod: Path) -> None:
    assert access(pod, {"token": "mine"}).connect().server == SERVER


def test_in_a_pod_the_environments_proxies_count(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    assert Access().connect().proxy_url == "http://proxy:1"
    monkeypatch.setenv("NO_PROXY", "10.0.0.1")
    assert Access().connect().proxy_url is None


def test_an_ipv6_address_is_bracketed(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert Access().connect().server == "https://[fd00::1]:443"


def test_a_pod_without_a_namespace_file_is_in_default(pod: Path) -> None:
    (pod / "namespace").unlink()
    assert Access().namespace() == "default"


@pytest.mark.parametrize("name", ["token", "ca.crt"])
def test_a_pod_without_a_service_account_gets_the_reason(pod: Path, name: str) -> None:
    (pod / name).unlink()
    with pytest.raises(AccessError, match=f"automountServiceAccountToken false.*{name}"):
        Access().connect()


@pytest.mark.parametrize("name", ["token", "ca.crt"])
def test_a_pod_with_an_empty_file_gets_the_reason(pod: Path, name: str) -> None:
    (pod / name).write_text("")
    with pytest.raises(AccessError, match=f"{name} is empty"):
        Access().connect()


def test_a_pod_whose_variables_are_unset_gets_their_names(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "")
    with pytest.raises(AccessError, match=r"\$KUBERNETES_SERVICE_PORT must be set"):
        Access().connect()
