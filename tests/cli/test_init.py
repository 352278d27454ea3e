"""`minicluster init`, and `minicluster run` without a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from minicluster.backends.port import BackendKind
from minicluster.document import loading
from minicluster.local.backend import LocalBackend

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from minicluster.backends.records import ForegroundRun
    from tests.cli.calls import Answer

    Call = Callable[..., Answer]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("--size 2 -- a.out -n 4", id="behind dashes"),
        pytest.param("--size 2 a.out -n 4", id="options end at the program"),
    ],
)
def test_init_prints_a_document(call: Call, words: str) -> None:
    done = call("init", *words.split())
    assert done.out.startswith(f"# Made by: minicluster init {words}\n")
    (cluster,) = loading.parse(done.out, source="x").clusters
    assert (cluster.spec.size, cluster.spec.containers[0].command) == (2, "a.out -n 4")


def test_init_writes_what_a_program_uses_most(call: Call) -> None:
    done = call("init", "--profile", "memory", "./stream")
    (cluster,) = loading.parse(done.out, source="x").clusters
    assert cluster.spec.profile == "memory"


def test_a_profile_that_is_misspelt_is_answered_with_the_nearest(call: Call) -> None:
    done = call("init", "--profile", "memroy", "./stream")
    assert (done.code, done.out) == (1, "")
    assert 'found the text "memroy"' in done.err
    assert 'did you mean "memory"?' in done.err


def test_init_warns_of_a_line_for_a_shell(call: Call) -> None:
    done = call("init", "--", "sort x | uniq")
    assert done.code == 0
    assert done.err == (
        "minicluster: warning: 'sort x | uniq' is taken for one program's name;"
        " a line for a shell is written -- sh -c 'sort x | uniq'"
    )


def test_init_writes_a_new_file(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    assert call("init", "--file", str(path), "a.out") == (0, f"{path}: minicluster run {path}\n", "")
    assert call("validate", str(path)).out == f"{path}: valid (a-out)\n"


def test_what_is_for_jobs_is_brought_up(call: Call, tmp_path: Path) -> None:
    """`run` would open a shell in it."""
    path = tmp_path / "mc.yaml"
    assert call("init", "--file", str(path), "--name", "mc") == (0, f"{path}: minicluster up {path}\n", "")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        pytest.param("--file there.yaml a.out", 2, "there.yaml: exists already", id="a file that is there"),
        pytest.param(
            "--file no/x.yaml a.out", 2, "no/x.yaml: cannot be written: No such file", id="no directory"
        ),
        pytest.param(
            "--name Bad a.out",
            1,
            'the command line:6: metadata.name: found the text "Bad"',
            id="a wrong name",
        ),
        pytest.param("--size 0 a.out", 2, "--size", id="no broker"),
        pytest.param("--taks 2 a.out", 2, "No such option: --taks", id="an unknown option"),
    ],
)
def test_init_refuses(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.yaml").touch()
    done = call("init", *words.split())
    assert (done.code, message in done.err) == (code, True), done.err
    assert (tmp_path / "there.yaml").read_text() == ""


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ForegroundRun]]:
    """What was to be run here: the document and the request."""
    found: list[tuple[str, ForegroundRun]] = []

    def run(text: Any, request: ForegroundRun, _reporter: object) -> int:
        found.append((text.text, request))
        return 5

    kind = BackendKind(LocalBackend, (), run)
    monkeypatch.setattr("minicluster.local.backend.KIND", kind)
    return found


@pytest.mark.parametrize(
    ("words", "size", "tasks", "command"),
    [
        pytest.param("-- a.out -n 9", 1, 1, "a.out -n 9", id="a command alone"),
        pytest.param("--tasks 4 -- a.out", 1, 4, "a.out", id="tasks"),
        pytest.param("--size 3 -q -- a.out", 3, 3, "a.out", id="brokers"),
        pytest.param("-- env -- ls", 1, 1, "env -- ls", id="dashes twice"),
    ],
)
def test_a_command_is_run_without_a_document(
    call: Call, runs: list[tuple[str, ForegroundRun]], words: str, size: int, tasks: int, command: str
) -> None:
    assert call("run", *words.split()).code == 5
    ((text, request),) = runs
    (cluster,) = loading.parse(text, source="x").clusters
    found = (cluster.spec.size, cluster.spec.tasks, cluster.spec.containers[0].command)
    assert found == (size, tasks, command)
    assert request.command == command.split()


def test_tasks_of_a_document_are_replaced(
    call: Call, runs: list[tuple[str, ForegroundRun]], tmp_path: Path
) -> None:
    (tmp_path / "x.yaml").write_text("a document")
    call("run", str(tmp_path / "x.yaml"), "--tasks", "4")
    ((text, request),) = runs
    assert (text, request.tasks) == ("a document", 4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param("", "give a document, or a command behind --", id="nothing"),
        pytest.param("--", "give a document, or a command behind --", id="dashes alone"),
        pytest.param(
            "cat x.txt",
            "cat: cannot be read: No such file or directory;"
            " to run a program without a document: minicluster run -- cat",
            id="a program where a document should be",
        ),
    ],
)
def test_run_shows_how_a_program_is_run(
    call: Call, runs: list[tuple[str, ForegroundRun]], words: str, message: str
) -> None:
    done = call("run", *words.split())
    assert (done.code, message in done.err, runs) == (2, True, []), done.err


@pytest.mark.parametrize(
    ("name", "notice"),
    [
        ("gpu", "gpu is no GPU; those have a vendor's name, such as nvidia.com/gpu"),
        ("GPUs", "GPUs is no GPU; those have a vendor's name, such as nvidia.com/gpu"),
        ("nvidia.com/gpu", ""),
        ("memory", ""),
    ],
)
def test_validate_reports_what_is_meant_for_a_gpu(call: Call, tmp_path: Path, name: str, notice: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        call("init", "a.out").out.replace(
            "image: ", f"resources: {{limits: {{{name}: 2}}}}\n      image: ", 1
        )
    )
    done = call("validate", str(path))
    expected = f"minicluster: {path}: spec.containers[0].resources: {notice}" if notice else ""
    assert (done.code, done.out, done.err) == (0, f"{path}: valid (a-out)\n", expected)


@pytest.mark.parametrize("text", [b"\x7fELF\x02\x01", b"#!/bin/sh\nhostname\n"], ids=["a binary", "a script"])
def test_run_refuses_a_program(
    call: Call, runs: list[tuple[str, ForegroundRun]], tmp_path: Path, text: bytes
) -> None:
    path = tmp_path / "hello"
    path.write_bytes(text)
    done = call("run", str(path))
    message = f"{path}: is a program, and no document: `minicluster run -- {path}`"
    assert (done.code, message in done.err, runs) == (2, True, []), done.err


def test_a_document_may_begin_as_a_script_of_ours(
    call: Call, runs: list[tuple[str, ForegroundRun]], tmp_path: Path
) -> None:
    """`./cluster.yaml` then runs it."""
    path = tmp_path / "cluster.yaml"
    path.write_text("#!/usr/bin/env -S minicluster run\n")
    call("run", str(path))
    assert [text for text, _ in runs] == ["#!/usr/bin/env -S minicluster run\n"]
