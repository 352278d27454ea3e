"""Listings of some of the jobs of a back end that none of ours is."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

import pytest

from minicluster.cli import jobs
from minicluster.instance.errors import RequestRefused
from tests.backends.memory_calls import message_of
from tests.backends.memory_instance import MemoryJobs

if TYPE_CHECKING:
    from tests.backends.memory_calls import Call

LISTED = [
    pytest.param("", ["held", "held-2"], id="active"),
    pytest.param("-a", ["done-1", "bad", "held", "held-2"], id="all"),
    pytest.param("--states sched", ["held", "held-2"], id="a state"),
    pytest.param("--state FAILED,pending", ["bad", "held", "held-2"], id="results and states"),
    pytest.param("-S inactive", ["done-1", "bad"], id="ended"),
    pytest.param("-S run", [], id="none"),
    pytest.param("-a -S failed", ["bad"], id="states and all"),
    pytest.param("-a --job-name bad", ["bad"], id="a name"),
    pytest.param("-a --job-name *d*", ["done-1", "bad", "held", "held-2"], id="a pattern"),
    pytest.param("-a --job-name [bd]*", ["done-1", "bad"], id="a set"),
    pytest.param("-a --job-name done", [], id="a part of a name"),
    pytest.param("-a -q debug", ["bad"], id="a queue"),
    pytest.param("-a --user root", ["done-1", "bad", "held", "held-2"], id="a user"),
    pytest.param("-a -u 7", [], id="another user"),
    pytest.param("--since 2h", ["held", "held-2"], id="since"),
    pytest.param("--since 1970-01-01T00:01:44Z", ["done-1", "bad", "held", "held-2"], id="ended too"),
    pytest.param("--since 1970-01-01T00:01:44Z -S completed", ["done-1"], id="since and a result"),
]


@pytest.mark.parametrize(("words", "names"), LISTED)
def test_a_listing_is_restricted(call: Call, words: str, names: list[str]) -> None:
    call("submit", "mc", "--job-name", "done-1", "true")
    call("submit", "mc", "--job-name", "bad", "--queue", "debug", "false")
    call("submit", "mc", "--urgency", "hold", "--job-name", "held", "true")
    call("submit", "mc", "--urgency", "hold", "--job-name", "held-2", "true")
    code, out, err = call("jobs", "mc", *words.split(), "-o", "json")
    assert (code, err, [row["name"] for row in json.loads(out)]) == (0, "", names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("jobs mc -S done", "for --states: 'done' is no state of a job; right would be depend, "),
        ("jobs mc ƒJF -u 5", "for JOB: either ids or options that restrict a listing"),
        ("jobs mc --since soon", "for --since: 'soon' is no time; right would be 2h, 30m, 9:30, yesterday"),
        ("jobs mc --since 7", "for --since: '7' is no time"),
        ("jobs mc --since +1h", "for --since: +1h is in the future"),
        ("jobs mc --from x.dump", "for NAME: has a meaning only without --from"),
    ],
)
def test_a_wrong_call_is_refused(call: Call, words: str, message: str) -> None:
    code, shown = message_of(call(*words.split()))
    assert (code, f"Invalid value {message}" in shown) == (2, True), shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("jobs mc -u ann", "--user ann: users of this cluster are numbers, as `minicluster jobs` shows them"),
        ("jobs mc -q fast", "--queue fast: is not there; no queue has a name"),
    ],
)
def test_what_a_cluster_does_not_have_is_named(call: Call, words: str, message: str) -> None:
    assert call(*words.split()) == (2, "", f"minicluster: {message}\n")


@pytest.mark.parametrize(
    ("most", "commands"),
    [
        pytest.param(2, [["true"], ["sleep", "1"]], id="few"),
        pytest.param(1, [None, None], id="many"),
    ],
)
def test_a_listing_of_few_jobs_has_their_commands(
    call: Call, monkeypatch: pytest.MonkeyPatch, most: int, commands: list[list[str] | None]
) -> None:
    monkeypatch.setattr(jobs, "MAX_COMMANDS", most)
    call("submit", "mc", "--urgency", "hold", "true")
    call("submit", "mc", "--urgency", "hold", "sleep", "1")
    assert [row["command"] for row in json.loads(call("jobs", "mc", "-o", "json")[1])] == commands


def test_a_command_that_may_not_be_seen_is_null(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_jobs: MemoryJobs, _jobid: int) -> object:
        raise RequestRefused("job-info.lookup", errno.EPERM, "not yours")

    monkeypatch.setattr(MemoryJobs, "jobspec", refuse)
    call("submit", "mc", "--urgency", "hold", "true")
    (row,) = json.loads(call("jobs", "mc", "-o", "json")[1])
    assert row["command"] is None
