"""`minicluster operator`: from options to the record that the operator is started with."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from minicluster.cli.main import run
from minicluster.kube_client.access import Access
from minicluster.operator.settings import OperatorSettings
from minicluster.plan.objects.keys import Generations

Start = Callable[..., OperatorSettings]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "kubeconfig"
    contexts = [
        {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "research"}},
        {"name": "plain", "context": {"cluster": "c", "user": "u"}},
    ]
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": contexts,
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, kubeconfig: Path) -> Iterator[Start]:
    """Call the command, and return what the operator would have been started with."""
    for name in ("POD_NAME", "POD_NAMESPACE", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    seen: list[OperatorSettings] = []
    stand_in = ModuleType("minicluster.operator.process")
    stand_in.run = lambda settings: seen.append(settings) or 7  # type: ignore[attr-defined]
    stand_in.installed_lease = lambda _access: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)
    import minicluster.operator  # noqa: PLC0415

    monkeypatch.setattr(minicluster.operator, "process", stand_in, raising=False)

    def call(*options: str) -> OperatorSettings:
        words = ["minicluster", "operator", "--kubeconfig", str(kubeconfig), *options]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            run()
        assert end.value.code == 7, "the exit code is the operator's"
        return seen[-1]

    return call


def test_a_laptops_operator_manages_its_contexts_namespace(start: Start, kubeconfig: Path) -> None:
    settings = start()
    assert settings.identity
    assert replace(settings, identity="") == OperatorSettings(
        access=Access(str(kubeconfig), ""),
        namespaces=("research",),
        lease=("research", "minicluster-operator"),
        listen=("127.0.0.1", 0),
        log_format="text",
        log_level="info",
        identity="",
    )


OPTIONS = [
    pytest.param("--context plain", "namespaces", ("default",), id="context"),
    pytest.param("-n b -n a -n b", "namespaces", ("b", "a"), id="several-namespaces"),
    pytest.param("-n b -n a", "lease", ("b", "minicluster-operator"), id="lease-in-the-first"),
    pytest.param("-A", "namespaces", (), id="all-namespaces"),
    pytest.param("-A", "lease", ("research", "minicluster-operator"), id="lease-in-its-own"),
    pytest.param("--lease flux/one", "lease", ("flux", "one"), id="a-named-lease"),
    pytest.param("--no-leader-election", "lease", None, id="no-leader-election"),
    pytest.param("--token-generation jobs=2", "generations", Generations(jobs=2), id="token-generation"),
    pytest.param(
        "--token-generation jobs=2 --token-generation metrics=3",
        "generations",
        Generations(metrics=3, jobs=2),
        id="several-token-generations",
    ),
    pytest.param("", "granularity", "none", id="no-granularity"),
    pytest.param("--granularity scale", "granularity", "scale", id="granularity"),
    pytest.param("--granularity scale", "granularity_override", False, id="documents-do-not-choose"),
    pytest.param("--granularity-override", "granularity_override", True, id="documents-choose"),
    pytest.param("--listen :9090", "listen", ("", 9090), id="every-address"),
    pytest.param("--listen [::1]:0", "listen", ("::1", 0), id="ipv6"),
    pytest.param("--log-format json", "log_format", "json", id="log-format"),
    pytest.param("--log-level debug", "log_level", "debug", id="log-level"),
]


@pytest.mark.parametrize(("options", "field", "value"), OPTIONS)
def test_an_option_sets_its_field(start: Start, options: str, field: str, value: object) -> None:
    assert getattr(start(*options.split()), field) == value


def test_in_a_pod_its_own_names_count(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAME", "operator-0")
    monkeypatch.setenv("POD_NAMESPACE", "flux-system")
    settings = start("--all-namespaces")
    assert (settings.lease, settings.own_namespace, settings.identity.split("_")[0]) == (
        ("flux-system", "minicluster-operator"),
        "flux-system",
        "operator-0",
    )


def test_two_operators_never_have_one_identity(start: Start) -> None:
    assert start().identity != start().identity


WRONG = [
    pytest.param("-A -n x", "give --namespace or --all-namespaces, not both", id="namespaces"),
    pytest.param("--token-generation jobs", "jobs: needed is metrics=N, jobs=N or burst=N", id="no number"),
    pytest.param("--token-generation jobs=0", "jobs=0: needed is metrics=N, jobs=N", id="number from 1"),
    pytest.param("--token-generation all=2", "all=2: needed is metrics=N, jobs=N", id="no purpose"),
    pytest.param("--lease a/b --no-leader-election", "give --lease or --no-leader-election", id="election"),
    pytest.param("--lease here", "here: needed is NAMESPACE/NAME", id="lease"),
    pytest.param("--lease a/b/c", "a/b/c: needed is NAMESPACE/NAME", id="lease-with-more"),
    pytest.param(
        "--granularity scal", "'scal' is not one of 'none', 'scale', 'granularity'", id="granularity"
    ),
    pytest.param("--listen 8080", "8080: needed is ADDRESS:PORT", id="no-address"),
    pytest.param("--listen ::1:80", "::1:80: needed is ADDRESS:PORT", id="ipv6-without-brackets"),
    pytest.param("--listen a:99999", "a:99999: needed is ADDRESS:PORT", id="port"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_a_wrong_call_reports_what_would_be_right(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: str, message: str
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "argv", ["minicluster", "operator", *options.split()])
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 2
    assert message in " ".join(capsys.readouterr().err.replace("│", "").split())
