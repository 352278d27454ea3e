"""The commands with `--server URL`, against the fake service."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.jobid import f58
from minicluster.cli.main import run
from tests.client.fake_service import problem, running
from tests.server_backend.fake_cluster import ROOT, FakeCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCluster]:
    """Cluster mc of a server, and a token for it; MINICLUSTER_SERVER names it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MINICLUSTER_TOKEN", "mcp_user")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("MINICLUSTER_ON", raising=False)
    with running() as service:
        monkeypatch.setenv("MINICLUSTER_SERVER", service.url)
        yield FakeCluster(service)


@pytest.fixture
def call(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> Call:
    def answer(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["minicluster", *words])
        code: Any = 0
        try:
            run()
        except SystemExit as end:
            code = end.code or 0
        out, err = (each.decode() for each in capfdbinary.readouterr())
        return int(code), out, " ".join(err.replace("│", "").split())

    return answer


def test_a_job_from_submit_to_its_output(call: Call, cluster: FakeCluster) -> None:
    code, out, err = call("submit", "mc", "-n", "2", "--watch", "--", "echo", "hello")
    assert (code, out.splitlines()[1:], err) == (0, ["0: echo hello"], "")
    jobid = out.split()[0]
    assert cluster.submitted == [
        {"command": ["echo", "hello"], "tasks": 2, "cores_per_task": 1, "urgency": 16}
    ]
    assert call("attach", "mc", jobid) == (0, "0: echo hello\n", "")
    assert call("wait", "mc", jobid) == (0, f"{jobid}: COMPLETED\n", "")
    (row,) = json.loads(call("jobs", "mc", "--all", "-o", "json")[1])
    assert (row["id"], row["state"], row["command"]) == (jobid, "COMPLETED", ["echo", "hello"])
    assert row["user"] == "alice"  # as the server calls him, whoever runs the command


def test_what_the_fields_do_not_have_goes_as_a_jobspec(call: Call, cluster: FakeCluster) -> None:
    assert call("submit", "mc", "--setattr", "project=x", "--quiet", "--", "true")[0] == 0
    (sent,) = cluster.submitted
    assert sorted(sent) == ["jobspec", "urgency"]
    assert "shell" not in sent["jobspec"]["attributes"]["system"]


@pytest.mark.parametrize(("words", "wish"), [(("--burstable",), True), (("--burst-to", "far"), "far")])
def test_a_burstable_job_goes_by_its_fields(
    call: Call, cluster: FakeCluster, words: tuple[str, ...], wish: object
) -> None:
    assert call("submit", "mc", *words, "-t", "1", "--quiet", "--", "true")[0] == 0
    (sent,) = cluster.submitted
    assert (sent["command"], sent["burstable"], sent["time_limit"]) == (["true"], wish, 60)


def test_copies_go_with_one_request(call: Call, cluster: FakeCluster) -> None:
    code, out, err = call("submit", "mc", "--cc", "0-2", "--", "echo", "{cc}")
    assert (code, err) == (0, "")
    assert out.split() == [f58(jobid) for jobid in cluster.instance.found]
    assert [each["command"] for each in cluster.submitted] == [["echo", str(cc)] for cc in range(3)]
    assert [line for line in cluster.service.lines() if "jobs:submit" in line] == [f"POST {ROOT}/jobs:submit"]


def test_of_copies_those_that_were_submitted_are_named(call: Call, cluster: FakeCluster) -> None:
    code, out, err = call("submit", "mc", "--cc", "0,2", "--", "echo", "{cc}", "refused")
    assert (code, out) == (1, "")
    assert "such a job is refused" in err
    assert cluster.submitted == []


def test_a_job_is_released_and_cancelled(call: Call) -> None:
    first, second = (call("submit", "mc", "--urgency", "hold", "--", "true")[1].strip() for _ in range(2))
    assert call("urgency", "mc", first, "default") == (0, f"{first}: urgency 0 (held) → 16\n", "")
    assert call("cancel", "mc", second) == (0, f"{second}: canceled\n", "")
    code, _, err = call("cancel", "mc", first)
    assert (code, "has ended already, with COMPLETED" in err) == (2, True)


def test_clusters_are_listed(call: Call) -> None:
    code, out, _ = call("list")
    assert (code, out.splitlines()[1].split()) == (0, ["mc", "Running", "shared"])
    (row,) = json.loads(call("list", "-o", "json")[1])
    assert (row["name"], row["size"], row["created"], row["age"]) == ("mc", 2, None, "")


def test_a_status_and_a_top(call: Call) -> None:
    call("submit", "mc", "--urgency", "hold", "--", "true")
    (shown,) = json.loads(call("status", "mc", "-o", "json")[1])
    assert [shown[name] for name in ("brokers_online", "cores", "jobs_pending")] == [2, 2, 1]
    assert shown["waiting"][0]["info"] == "held: its urgency is 0"
    (sample,) = json.loads(call("top", "mc", "--once", "-o", "json")[1])
    assert (sample["nodes_up"], sample["jobs"]) == (2, {"pending": 1, "running": 0, "inactive": 0})
    assert "nodes_demanded" not in sample


def test_the_option_counts_above_the_environment(
    call: Call, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINICLUSTER_SERVER", "")
    assert call("list", "--server", cluster.service.url)[0] == 0
    code, _, err = call("list", "--on", "local", "--server", cluster.service.url)
    assert (code, "has a meaning only with --on server" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("down", "mc", "--dump", "x"), "down: is not offered for clusters of a server"),
        (("scale", "mc", "3"), "scale: is not offered for clusters of a server"),
        (("suspend", "mc"), "suspend: is not offered for clusters of a server"),
        (("logs", "mc"), "logs: is not offered for clusters of a server"),
        (("shell", "mc", "--", "true"), "shell: is not offered for clusters of a server"),
        (("jobs", "nobody"), "cluster nobody: there is none of that name that you may use"),
    ],
)
def test_what_it_cannot_is_refused_in_words(call: Call, words: tuple[str, ...], message: str) -> None:
    code, out, err = call(*words)
    assert (code > 0, out, message in err) == (True, "", True), err


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((422, problem("invalid", "tasks: is 1000 at most")), "tasks: is 1000 at most"),
        ((403, problem("quota", "1000 jobs are queued")), "1000 jobs are queued"),
        ((401, problem("unauthenticated", "The token has expired.")), "minicluster login --server"),
    ],
)
def test_a_refused_submit_has_the_services_words(
    call: Call, cluster: FakeCluster, answer: Any, message: str
) -> None:
    cluster.service.fault(f"POST {ROOT}/jobs", (200, {"reason": ""}))  # whether it could run
    cluster.service.fault(f"POST {ROOT}/jobs", answer)
    code, out, err = call("submit", "mc", "--", "true")
    assert (code, out, message in err) == (1, "", True), err
