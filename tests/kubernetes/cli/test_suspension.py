"""suspend and resume on a real API server; the test plays the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.devcluster import until
from tests.kubernetes.command_line import CommandLine, Operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.devcluster import Api


@pytest.fixture
def minicluster(api: Api, namespace: str) -> Iterator[CommandLine]:
    program = CommandLine(api.access.kubeconfig, namespace, api.access.context or "")
    yield program
    program.end()


@pytest.fixture
def operator(api: Api, namespace: str) -> Operator:
    made = Operator(api, namespace)
    made.make()
    return made


def is_suspended(operator: Operator) -> bool:
    return bool(operator.api.get(operator.path())["spec"].get("suspend"))


def test_suspended_and_resumed(minicluster: CommandLine, operator: Operator) -> None:
    """Each waits until the operator has said so."""
    process = minicluster.begin("suspend", "mc")
    until(lambda: is_suspended(operator), "spec.suspend")
    operator.report_status("Suspended", "Suspended", "Suspended", "spec.suspend is set")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "cluster mc is Suspended\n"), err
    process = minicluster.begin("resume", "mc")
    until(lambda: not is_suspended(operator), "spec.suspend to go")
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "cluster mc is Running\n"), err


def test_one_that_cannot_be_saved(minicluster: CommandLine, operator: Operator) -> None:
    """It goes on, and stays asked for."""
    process = minicluster.begin("suspend", "mc")
    until(lambda: is_suspended(operator), "spec.suspend")
    operator.report_status("Running", "Suspended", "SaveFailed", "the disk is full")
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "minicluster: cluster mc: the disk is full\n")
    assert is_suspended(operator)


def test_nothing_is_waited_for_where_that_is_not_wanted(minicluster: CommandLine, operator: Operator) -> None:
    done = minicluster("suspend", "mc", "--no-wait")
    assert (done.returncode, done.stdout, is_suspended(operator)) == (
        0,
        "cluster mc is being suspended\n",
        True,
    )
    done = minicluster("resume", "mc", "--no-wait")
    assert (done.returncode, done.stdout, is_suspended(operator)) == (
        0,
        "cluster mc is being resumed\n",
        False,
    )


@pytest.mark.parametrize("command", ["suspend", "resume"])
def test_what_has_ended_stays_so(minicluster: CommandLine, operator: Operator, command: str) -> None:
    operator.report_status("Succeeded", "Succeeded", "CommandSucceeded", "the command ended with 0")
    done = minicluster(command, "mc")
    ended = "has ended (Succeeded: the command ended with 0)"
    assert (done.returncode, done.stderr) == (
        2,
        f"minicluster: cluster mc: {ended}; there is nothing to {command}\n",
    )


def test_an_absent_one(minicluster: CommandLine, namespace: str) -> None:
    done = minicluster("suspend", "nobody")
    assert (done.returncode, f"cluster nobody: there is none in namespace {namespace}" in done.stderr) == (
        1,
        True,
    )
