"""What this machine says to a document before anything starts: too many brokers, GPUs, settings, dumps."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from minicluster.backends.documents import DocumentText
from minicluster.backends.records import ForegroundRun
from minicluster.cli.reporting import PlainReporter
from minicluster.local import backend, connection, documents, launch, prompt, site, state_directory
from minicluster.local.errors import SizeRefused, UsageProblem
from minicluster.local.preparation import prepare
from minicluster.local.site import Engine
from minicluster.local.state_directory import ClusterDirectory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DOCUMENT = """\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {name: mc}
spec:
  size: SIZE
  flux: {scheduler: SCHEDULER}
  containers: [{image: x, command: a, resources: {limits: LIMITS}}]
"""


def document(limits: str = "{}", scheduler: str = "{}", size: int = 1) -> str:
    """Return a document."""
    text = DOCUMENT.replace("LIMITS", limits).replace("SCHEDULER", scheduler)
    return text.replace("SIZE", str(size))


@pytest.fixture
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "cores_of_machine", lambda: 2)


@pytest.mark.usefixtures("_two_cores")
@pytest.mark.parametrize(
    ("size", "oversubscribe"),
    [pytest.param(128, False, id="as many as it should have"), pytest.param(100_000, True, id="as asked")],
)
def test_brokers_are_started(size: int, oversubscribe: bool) -> None:
    site.check_brokers(size, oversubscribe=oversubscribe)  # raises nothing
    assert site.MAX_BROKERS_PER_CORE == 64


@pytest.mark.usefixtures("_two_cores")
def test_too_many_brokers_are_refused_with_what_would_be_right() -> None:
    with pytest.raises(SizeRefused) as refusal:
        site.check_brokers(129, oversubscribe=False)
    assert str(refusal.value) == (
        "129 brokers are too many for 2 cores: each is a process, and this machine should have at most 128."
        " Take fewer with --size, or start them all the same with --oversubscribe"
    )


NOTICES = [
    pytest.param("{}", 1, 0, "", id="none asked for"),
    pytest.param("{amd.com/gpu: 2}", 1, 2, "", id="as many here"),
    pytest.param(
        "{nvidia.com/gpu: 8}",
        1,
        0,
        "each broker schedules 8 GPUs (nvidia.com/gpu) because the document asks for them;"
        " this machine has none, and brokers do not share them out",
        id="none here",
    ),
    pytest.param(
        "{amd.com/gpu: 1}",
        2,
        2,
        "each broker schedules 1 GPU (amd.com/gpu) because the document asks for them;"
        " this machine has 2, and brokers do not share them out",
        id="two brokers",
    ),
]


@pytest.mark.parametrize(("limits", "size", "devices", "notice"), NOTICES)
def test_gpus_are_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limits: str, size: int, devices: int, notice: str
) -> None:
    for number in range(devices):
        (tmp_path / f"nvidia{number}").touch()
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(site, "DEVICES", tmp_path)
    cluster = documents.parse(document(limits, size=size), "x.yaml").cluster
    assert site.gpu_notice(cluster) == notice


@pytest.mark.usefixtures("_two_cores")
@pytest.mark.parametrize(
    "start",
    [
        pytest.param(lambda given: launch.up(given, PlainReporter()), id="up"),
        pytest.param(lambda given: backend.run(given, ForegroundRun(), PlainReporter()), id="run"),
    ],
)
def test_too_many_brokers_are_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, start: Callable[[DocumentText], object]
) -> None:
    monkeypatch.setattr(state_directory, "create", None)
    with pytest.raises(SizeRefused, match=r"^100000 brokers are too many for 2 cores: "):
        start(DocumentText(document(size=100_000), "x.yaml"))


def _prepare(
    tmp_path: Path, engine: str, text: str = document(), restore: str = "", decisions: str = ""
) -> None:
    directory = ClusterDirectory(tmp_path / "mc")
    directory.config.mkdir(parents=True)
    parsed = documents.parse(text, "x.yaml")
    made = prepare(
        parsed,
        directory,
        Engine(engine, "/x/flux"),
        tmp_path,
        print,
        restore=restore,
        decisions=decisions,
    )
    with made.ports:
        pass


def test_gpus_are_noticed_before_a_broker_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(site, "DEVICES", tmp_path)
    _prepare(tmp_path, "embedded", document("{nvidia.com/gpu: 8}"))
    assert (
        "(nvidia.com/gpu) because the document asks for them; this machine has none"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        pytest.param(
            "{queuePolicy: easy, settings: {gap: 6}}", "queue policy easy: unknown setting", id="name"
        ),
        pytest.param("{queuePolicy: easy, settings: {extra: 6}}", "it must be true or false", id="value"),
    ],
)
def test_settings_that_a_policy_has_not_are_refused_before_a_broker_starts(
    tmp_path: Path, scheduler: str, message: str
) -> None:
    """The name alone may be that of a policy of Fluxion, so the document is valid."""
    with pytest.raises(UsageProblem, match=message):
        _prepare(tmp_path, "embedded", document(scheduler=scheduler))


@pytest.mark.parametrize(
    ("engine", "scheduler"),
    [
        pytest.param("flux", "{queuePolicy: easy, settings: {gap: 6}}", id="Fluxion's"),
        pytest.param("embedded", "{queuePolicy: easy, settings: {extra: true}}", id="ours"),
    ],
)
def test_other_settings_are_not_refused(tmp_path: Path, engine: str, scheduler: str) -> None:
    _prepare(tmp_path, engine, document(scheduler=scheduler))
    assert (tmp_path / "mc" / "etc" / "broker.toml").exists()


def test_what_is_no_dump_is_refused_before_a_broker_starts(tmp_path: Path) -> None:
    (tmp_path / "ds.yaml").write_text("a: 1")
    with pytest.raises(UsageProblem, match=r"--restore /.*/ds\.yaml: no dump, or one that is truncated"):
        _prepare(tmp_path, "embedded", restore=str(tmp_path / "ds.yaml"))


def test_an_engines_dump_is_refused_by_the_other_engine(tmp_path: Path) -> None:
    (tmp_path / "saved.dump").write_bytes(b"SQLite format 3\0" + bytes(84))
    with pytest.raises(UsageProblem, match=r"--restore .*saved\.dump"):
        _prepare(tmp_path, "flux", restore=str(tmp_path / "saved.dump"))


def test_decisions_are_recorded_by_the_brokers_configuration(tmp_path: Path) -> None:
    _prepare(tmp_path, "embedded", document(scheduler="{queuePolicy: easy}"), decisions="/x/log")
    ours = tomllib.loads((tmp_path / "mc" / "etc" / "broker.toml").read_text())["minicluster"]
    assert (ours["queue-policy"], ours["decisions"]) == ("easy", "/x/log")


def test_real_flux_records_no_decisions(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem) as error:
        _prepare(tmp_path, "flux", decisions="/x/log")
    assert str(error.value) == "--decisions: real Flux records none; --engine embedded does"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none/log", "--decisions none/log: there is no directory none"),
        (".", "--decisions .: cannot be written; needed is the name of a file"),
    ],
    ids=["no directory", "a directory"],
)
def test_decisions_that_cannot_be_written_are_refused_before_a_broker_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    given = DocumentText(document(), "x.yaml")
    with pytest.raises(UsageProblem) as error:
        launch.up(given, PlainReporter(), decisions=path)
    assert str(error.value) == message


def test_a_port_is_the_brokers_alone_before_and_while_they_run() -> None:
    """Else it could be given to a program that begins between the choice and the broker's start."""
    with contextlib.ExitStack() as ports:
        (chosen,) = site.endpoints(("here",), None, ports)
        address = (site.ADDRESS, int(chosen.bind.rpartition(":")[2]))
        with socket.socket() as rival, pytest.raises(OSError, match="Address already in use"):
            rival.bind(address)
        with socket.create_server(address, reuse_port=False) as broker:  # with SO_REUSEADDR, as brokers
            assert broker.getsockname() == address
    with socket.socket() as heir:
        heir.bind(address)


def test_ports_beyond_what_a_process_may_have_open_are_not_reserved() -> None:
    with contextlib.ExitStack() as ports:
        chosen = site.endpoints(("here",) * (site.MAX_RESERVED_PORTS + 1), None, ports)
        with socket.socket() as rival:
            rival.bind((site.ADDRESS, int(chosen[0].bind.rpartition(":")[2])))


@pytest.mark.parametrize("own", ["", "true"], ids=["no command", "a command"])
def test_a_prompt_has_the_clusters_name_once(monkeypatch: pytest.MonkeyPatch, own: str) -> None:
    """Also after bash's start files have set it anew."""
    monkeypatch.setenv("PROMPT_COMMAND", own)
    shown = subprocess.run(
        ["bash", "-c", 'PS1="> "; eval "$PROMPT_COMMAND"; eval "$PROMPT_COMMAND"; echo "$PS1"'],
        env=prompt.variables("mc"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "(mc) > \n"


def test_a_prompt_of_sh_has_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PS1", "> ")
    assert prompt.variables("mc")["PS1"] == "(mc) > "


def test_a_shell_in_a_cluster_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shell = tmp_path / "shell"
    shell.write_text(f"#!{sys.executable}\nimport os\nprint(os.environ['PS1'])\n")
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    monkeypatch.setenv("PS1", "> ")
    monkeypatch.setattr(connection, "environment", lambda _name: dict(os.environ))
    assert backend.LocalBackend({}, PlainReporter()).shell("mc", ()) == 0
    assert capfd.readouterr().out == "(mc) > \n"
