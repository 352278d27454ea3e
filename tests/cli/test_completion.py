"""What may stand next on a command line: for the scripts of shells, and for kubectl."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from broker_config.formats.jobid import f58, f58plain
from minicluster.backends.records import ClusterListing, ClusterSummary
from minicluster.cli import commands, main
from minicluster.cli.completion import answers
from minicluster.cli.completion.answers import split
from minicluster.instance.records import JobRequest, QueueStatus
from minicluster.local import processes
from minicluster.local.backend import LocalBackend
from minicluster.local.records import ClusterState, LocalPhase
from minicluster.remote.backend import KubernetesBackend
from tests.backends.memory_instance import MemoryInstance, MemoryQueues

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.calls import Answer

    Call = Callable[..., Answer]

KUBECONFIG = {
    "contexts": [
        {"name": "laptop", "context": {"cluster": "kind", "namespace": "research"}},
        {"name": "arn:aws:eks/lab", "context": {"cluster": "lab"}},
    ]
}


@pytest.fixture(autouse=True)
def _clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters tundra and taiga, whose supervisor is this process, and two contexts of a kubeconfig."""
    monkeypatch.setenv("MINICLUSTER_RUNTIME_DIR", str(tmp_path / "m"))
    (tmp_path / "m").mkdir(mode=0o700)
    start = processes.start_time(os.getpid())
    for name in ("tundra", "taiga"):
        state = ClusterState(
            name, os.getpid(), start, "embedded", 1, 1, LocalPhase.RUNNING, "x.yaml", time.time()
        )
        (tmp_path / "m" / name).mkdir(mode=0o700)
        (tmp_path / "m" / name / "state.json").write_text(json.dumps(dataclasses.asdict(state)))
    (tmp_path / "config").write_text(json.dumps(KUBECONFIG))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))


@pytest.fixture(autouse=True)
def _long_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the time would end this process."""
    monkeypatch.setattr(answers, "SECONDS", 100)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> MemoryInstance:
    """Jobs of every cluster: one that has ended, and one that waits."""
    instance = MemoryInstance()
    instance.jobs.submit(JobRequest(("ended",)))
    instance.jobs.submit(JobRequest(("held",), urgency=0))
    queues = [QueueStatus(name, enabled=True, started=True) for name in ("batch", "")]
    monkeypatch.setattr(MemoryQueues, "all", lambda _self: queues)
    monkeypatch.setattr(LocalBackend, "ask", lambda _self, _name, work: work(instance))
    return instance


def offered(call: Call, *words: str) -> tuple[list[str], str]:
    """Return what is offered, without descriptions, and the directive."""
    *lines, last = call("__complete", *words).out.splitlines()
    return [line.partition("\t")[0] for line in lines], last


OFFERS = [
    pytest.param(("st",), ["status"], ":4", id="a command"),
    pytest.param(("--v",), ["--version"], ":4", id="an option before a command"),
    pytest.param(("status", ""), ["taiga", "tundra"], ":4", id="a cluster"),
    pytest.param(("status", "tu"), ["tundra"], ":4", id="the rest of its name"),
    pytest.param(("status", "tundra", ""), [], ":4", id="nothing more"),
    pytest.param(("status", "--ou"), ["--output"], ":4", id="an option"),
    pytest.param(("status", "-o"), ["-o"], ":4", id="a short option"),
    pytest.param(("status", "--output", "json", "--ou"), [], ":4", id="not twice"),
    pytest.param(("status", "-o", ""), ["table", "json"], ":4", id="a choice"),
    pytest.param(("status", "--output="), ["--output=table", "--output=json"], ":4", id="behind ="),
    pytest.param(("status", "-o", "json", "tu"), ["tundra"], ":4", id="behind an option"),
    pytest.param(("status", "--on", "k"), ["kubernetes"], ":4", id="a back end"),
    pytest.param(("status", "--context", ""), ["laptop", "arn:aws:eks/lab"], ":4", id="a context"),
    pytest.param(("operator", "--context", "l"), ["laptop"], ":4", id="the operator's context"),
    pytest.param(("status", "-n", ""), ["research"], ":4", id="a namespace of a context"),
    pytest.param(("up", ""), [], ":0", id="a file"),
    pytest.param(("up", "x.yaml", "--restore", ""), [], ":0", id="a file of an option"),
    pytest.param(("up", "x.yaml", "--name", ""), [], ":4", id="another name than a cluster's"),
    pytest.param(("validate", "x.yaml", ""), [], ":0", id="several files"),
    pytest.param(("up", "--policy", "eas"), ["easy"], ":4", id="a policy"),
    pytest.param(("policies", "easy", "fcf"), ["fcfs"], ":4", id="several policies"),
    pytest.param(("up", "--placement", "bal"), ["balanced"], ":4", id="a placement"),
    pytest.param(("up", "--affinity", "b"), ["best-effort"], ":4", id="an affinity"),
    pytest.param(("up", "--profile", "n"), ["network"], ":4", id="a profile"),
    pytest.param(("up", "--policy", "easy:"), ["easy:extra="], ":6", id="a setting"),
    pytest.param(("simulate", "--policy", "easy", "--policy", "fcf"), ["fcfs"], ":4", id="an option again"),
    pytest.param(("simulate", "--workload", "ch"), ["charm"], ":0", id="a workload, or a file"),
    pytest.param(("simulate", "--from", "tu"), ["tundra"], ":0", id="a cluster, or a file"),
    pytest.param(("jobs", "--states", "fa"), ["failed"], ":4", id="a state"),
    pytest.param(("jobs", "-S", "run,pe"), ["run,pending"], ":4", id="one more state"),
    pytest.param(("cancel", "-S", "c"), [], ":4", id="a state that cannot be canceled"),
    pytest.param(("jobs", "--from", ""), [], ":0", id="a dump"),
    pytest.param(("explain", "spec.fl"), ["spec.flux"], ":6", id="a field"),
    pytest.param(("completion", ""), ["bash", "zsh", "fish"], ":4", id="a shell"),
    pytest.param(("help", "simu"), ["simulate"], ":4", id="a command for help"),
    pytest.param(("submit", "tundra", "--ta"), ["--tasks"], ":4", id="an option before the program"),
    pytest.param(("submit", "tundra", "ls", "-"), [], ":0", id="an option of the program"),
    pytest.param(("submit", "tundra", "ls", "--tasks", ""), [], ":0", id="a value of the program's"),
    pytest.param(("submit", "tundra", "--", "-"), [], ":0", id="behind --"),
    pytest.param(("run", "--", "mini-prog"), ["mini-program"], ":0", id="a program on PATH"),
    pytest.param(("run", "--", "mini-program", "x"), [], ":0", id="its arguments"),
    pytest.param(("dance", ""), [], ":4", id="behind an unknown command"),
]


@pytest.mark.parametrize(("words", "texts", "directive"), OFFERS)
def test_what_is_offered(
    call: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    texts: list[str],
    directive: str,
) -> None:
    program = tmp_path / "mini-program"
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert offered(call, *words) == (texts, directive)


def test_a_command_is_described_by_its_first_sentence(call: Call) -> None:
    assert "cancel\tCancel jobs, and print which or how many" in call("__complete", "canc").out


ENDED, WAITING = 1000, 1001


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        pytest.param(("cancel", "tundra", ""), [f58(WAITING)], id="what can be cancelled"),
        pytest.param(("wait", "tundra", ""), [f58(WAITING)], id="what can be waited for"),
        pytest.param(("jobs", "tundra", ""), [f58(ENDED), f58(WAITING)], id="what can be listed"),
        pytest.param(("urgency", "tundra", ""), [f58(WAITING)], id="what has an urgency"),
        pytest.param(
            ("urgency", "tundra", "ƒ2", ""),
            [f58(WAITING), "hold", "default", "expedite"],
            id="another one, or the urgency",
        ),
        pytest.param(("submit", "tundra", "-q", ""), ["batch"], id="a queue"),
        pytest.param(("attach", "tundra", ""), [f58(ENDED), f58(WAITING)], id="what has output"),
        pytest.param(("attach", "tundra", "f"), [f58plain(ENDED), f58plain(WAITING)], id="typed in ASCII"),
    ],
)
def test_jobs_are_offered(call: Call, jobs: MemoryInstance, words: tuple[str, ...], texts: list[str]) -> None:
    assert len(jobs.found) == 2
    assert offered(call, *words) == (texts, ":4")


@pytest.mark.parametrize("words", [("status", ""), ("--on", "kubernetes", "")], ids=["variable", "option"])
def test_the_clusters_are_those_of_the_back_end_that_is_meant(
    call: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    given = []

    def clusters(backend: KubernetesBackend) -> ClusterListing:
        given.append(backend.given["context"])
        return ClusterListing((ClusterSummary("far", "Running", 1, None, 0.0),), ())

    monkeypatch.setattr(KubernetesBackend, "clusters", clusters)
    if words[0] == "status":
        monkeypatch.setenv("MINICLUSTER_ON", "kubernetes")
    assert offered(call, "status", "--context", "lab", *words[words[0] == "status" :]) == (["far"], ":4")
    assert given == ["lab"]


def test_kubectl_gets_values_without_the_option(call: Call) -> None:
    done = call("-n", "research", "up", "--policy=fcf", program=main.complete_plugin)
    assert done.out.partition("\t")[0] == "fcfs"
    assert done.out.endswith("\n:4\n")


def test_kubectl_gets_no_command_of_this_machine(call: Call) -> None:
    assert call("ru", program=main.complete_plugin).out == ":4\n"


def test_a_back_end_that_fails_offers_nothing(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    assert call("__complete", "status", "--on", "kubernetes", "") == (0, ":4\n", "")


LINES = [
    pytest.param("minicluster sta", "sta", ["4", "status"], id="a word"),
    pytest.param("minicluster ", "", None, id="nothing yet"),
    pytest.param("minicluster up --policy=eas", "eas", ["4", "easy"], id="behind ="),
    pytest.param("minicluster up --policy=easy:ex", "ex", ["6", "extra="], id="behind a colon"),
    pytest.param("minicluster up --policy 'eas", "eas", ["4", "easy"], id="in an open quote"),
    pytest.param("minicluster status --context arn:aws:e", "e", ["4", "eks/lab"], id="a name with colons"),
    pytest.param("minicluster status 'tundra' -o j", "j", ["4", "json"], id="behind a quoted word"),
]


@pytest.mark.parametrize(("line", "part", "answer"), LINES)
def test_bash_gets_the_rest_of_a_part_of_a_word(
    call: Call, line: str, part: str, answer: list[str] | None
) -> None:
    """It takes `=` and `:` for ends of words."""
    lines = call("__complete_bash", line, part).out.splitlines()
    assert lines == (answer or ["4", *commands.ORDER])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        pytest.param("a b", ["a", "b"], id="words"),
        pytest.param("a b ", ["a", "b", ""], id="a new word"),
        pytest.param("a 'b c", ["a", "b c"], id="an open quote"),
        pytest.param('a "b c" d', ["a", "b c", "d"], id="a quote"),
        pytest.param("a b\\ ", ["a", "b "], id="a space in a word"),
        pytest.param("a #b", ["a", "#b"], id="no comment"),
    ],
)
def test_a_line_is_split_as_a_shell_splits_it(line: str, words: list[str]) -> None:
    assert split(line) == words


def test_completion_imports_only_what_it_offers() -> None:
    """Each press of the key starts a process: pydantic alone takes as long as all the rest."""
    program = "import sys; from minicluster.cli.main import run; run(); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program, "__complete", "status", ""],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("taiga")
    heavy = {"pydantic", "rich", "yaml", "kubernetes", "kopf", "aiohttp", "zmq", "queue_policies", "asyncio"}
    assert heavy & set(done.stderr.split()) == set()


def test_the_time_for_an_answer_is_limited(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster may be out of reach: the process ends then, as the signal's usual action has it."""
    limits: list[int] = []
    monkeypatch.setattr(answers.signal, "alarm", limits.append)
    call("__complete", "status", "")
    assert limits == [100, 0]
