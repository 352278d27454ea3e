"""Commands that are given a program: which options are theirs, and which are the program's."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.backends import documents as texts
from minicluster.cli.main import run
from minicluster.cli.plugin import ordered
from minicluster.local import documents
from minicluster.local.backend import LocalBackend
from minicluster.local.errors import UsageProblem
from minicluster.remote.backend import KubernetesBackend

if TYPE_CHECKING:
    from minicluster.instance.records import JobRequest

SUBMITTED = [
    pytest.param("train echo -n 2 hi there", 1, "echo -n 2 hi there", id="an option of submit's name"),
    pytest.param("train sh -c true", 1, "sh -c true", id="another type of value"),
    pytest.param("-n 2 train -- sleep 30", 2, "sleep 30", id="before the name"),
    pytest.param("train -n 2 -- sleep 30", 2, "sleep 30", id="before the dashes"),
    pytest.param("train -n 2 sleep --help", 2, "sleep --help", id="before the program"),
    pytest.param("train --tasks=3 -c1 mpirun -n 4 ./a.out", 3, "mpirun -n 4 ./a.out", id="joined values"),
    pytest.param("-n 2 -- python train.py -n 4", 2, "python train.py -n 4", id="dashes and no name"),
    pytest.param("train -- -n 4", 1, "-n 4", id="a program like an option"),
    pytest.param("train env -- ls", 1, "env -- ls", id="dashes of the program"),
    pytest.param("train -- env -- ls", 1, "env -- ls", id="dashes twice"),
    pytest.param("train ls -", 1, "ls -", id="a dash"),
]


class Recorder:
    """Stands for a cluster's instance, and keeps what was submitted."""

    def __init__(self) -> None:
        self.requests: list[JobRequest] = []
        self.clusters = [SimpleNamespace(name="train")]

    def ask(self, name: str, work: Any) -> Any:
        """Be the cluster train."""
        assert name == "train"
        return work(self)

    @property
    def jobs(self) -> Recorder:
        """Its own jobs: it is that part of the port as well."""
        return self

    def unsatisfiable(self, _request: JobRequest) -> str:
        """Take every job for possible."""
        return ""

    def submit(self, request: JobRequest) -> int:
        """Keep a request."""
        self.requests.append(request)
        return 1


def _end(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.delenv("MINICLUSTER_ON", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "argv", ["minicluster", *words])
    with pytest.raises(SystemExit) as end:
        run()
    return int(end.value.code or 0)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Every cluster, here and on Kubernetes."""
    made = Recorder()
    for backend in (LocalBackend, KubernetesBackend):
        monkeypatch.setattr(backend, "ask", made.ask)
        monkeypatch.setattr(backend, "clusters", lambda _self: SimpleNamespace(clusters=made.clusters))
    monkeypatch.setattr(LocalBackend, "job_environment", lambda _self, _name: {})
    return made


@pytest.mark.parametrize("options", [(), ("--on", "kubernetes")], ids=["here", "kubernetes"])
@pytest.mark.parametrize(("words", "tasks", "command"), SUBMITTED)
def test_what_is_behind_the_program_is_the_programs(
    monkeypatch: pytest.MonkeyPatch,
    recorder: Recorder,
    options: tuple[str, ...],
    words: str,
    tasks: int,
    command: str,
) -> None:
    assert _end(monkeypatch, "submit", *options, *words.split()) == 0
    (request,) = recorder.requests
    assert (request.tasks, request.command) == (tasks, tuple(command.split()))
    assert (request.environment is None) == bool(options)


def test_kubectls_options_stay_before_the_program(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder
) -> None:
    words = ordered(["-n", "research", "submit", "train", "echo", "-n", "2"])
    assert _end(monkeypatch, words[0], "--on", "kubernetes", *words[1:], "--on", "local") == 0
    assert recorder.requests[0].command == ("echo", "-n", "2", "--on", "local")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param("submit mc --taks 2 prog", "No such option: --taks", id="unknown, after the name"),
        pytest.param("submit --taks 2 mc prog", "No such option: --taks", id="unknown, before the name"),
        pytest.param("submit mc -n", "Option '-n' requires an argument", id="no value"),
        pytest.param(
            "submit mc -n two prog", "Invalid value for '--tasks' / '--ntasks' / '-n'", id="wrong value"
        ),
        pytest.param("submit mc -n 2", "Missing argument 'COMMAND...'", id="no program"),
        pytest.param("submit -n 2", "Missing argument 'NAME'", id="nothing"),
        pytest.param("shell mc --frob ls", "No such option: --frob", id="shell"),
        pytest.param("run x.yaml --frob ls", "No such option: --frob", id="run"),
    ],
)
def test_a_wrong_option_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    recorder: Recorder,
    words: str,
    message: str,
) -> None:
    assert _end(monkeypatch, *words.split()) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert recorder.requests == []


def test_a_cluster_is_named_before_the_dashes_where_there_are_several(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], recorder: Recorder
) -> None:
    recorder.clusters.append(SimpleNamespace(name="other"))
    assert _end(monkeypatch, "submit", "--", "python", "train.py") == 2
    shown = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert "Invalid value for NAME: is needed: up are train, other; see `minicluster list`" in shown
    assert recorder.requests == []


@pytest.mark.parametrize("words", ["mc flux jobs --on x", "mc -- flux jobs --on x"])
def test_shell_passes_options_on(monkeypatch: pytest.MonkeyPatch, recorder: Recorder, words: str) -> None:
    given: list[Any] = []

    def shell(_self: object, *words: object) -> int:
        given.append(words)
        return 0

    monkeypatch.setattr(KubernetesBackend, "shell", shell)
    assert _end(monkeypatch, "shell", "--on", "kubernetes", *words.split()) == 0
    assert given == [("mc", ["flux", "jobs", "--on", "x"])]
    assert recorder.requests == []


@pytest.mark.parametrize("words", ["--size 2 echo --size 3 -q", "--size 2 -- echo --size 3 -q"])
def test_run_passes_options_on(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    given: list[Any] = []

    def refuse(_source: Any, **request: Any) -> None:
        given.append(request)
        raise UsageProblem("enough")

    monkeypatch.setattr(texts, "read", lambda path: texts.DocumentText("", path))
    monkeypatch.setattr(documents, "parse", lambda *_: None)
    monkeypatch.setattr(documents, "with_request", refuse)
    assert _end(monkeypatch, "run", "x.yaml", *words.split()) == 2
    assert given == [{"size": 2, "tasks": None, "command": ["echo", "--size", "3", "-q"]}]
