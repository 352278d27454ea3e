"""The metrics of real leads: what they say of the instance, and to whom."""

from __future__ import annotations

import json
import os
import signal
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from broker_config.settings import Command, RunMode
from metrics_api import names
from tests.lead.client import until
from tests.lead.keys import Authority

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lead.pods import Pods
    from tests.metrics_api.lead.reading import Reader

    Lead = Callable[..., tuple[Pods, Reader]]


def node_jobs(cluster: Pods, count: int, *options: str) -> None:
    """Submit jobs that take a node each, and do not end."""
    for _ in range(count):
        cluster.run("submit", "-N1", "--exclusive", *options, "sleep", "inf")


def test_nodes_are_demanded_for_what_runs_and_what_waits(lead: Lead) -> None:
    """Two of four nodes are there, and what is demanded goes back when nothing is to be done."""
    cluster, reader = lead(2, max_size=4)
    idle = reader.until(nodes_up=2)
    assert (idle["nodes_demanded"], idle["nodes_free"]) == (1, 2)
    assert (idle["min_size"], idle["max_size"], idle["nodes_expected"]) == (1, 4, 4)
    node_jobs(cluster, 3)
    busy = reader.until(nodes_demanded=3, jobs_running=2, jobs_pending=1)
    assert (busy["nodes_allocated"], busy["nodes_free"], busy["cores_free"]) == (2, 0, 0)
    node_jobs(cluster, 9)
    assert reader.until(jobs_pending=10)["nodes_demanded"] == 4
    cluster.run("cancel", "--all")
    reader.until(nodes_demanded=1, jobs_pending=0, jobs_running=0, nodes_free=2)


def test_jobs_that_ended_leave_nothing_behind(lead: Lead) -> None:
    cluster, reader = lead(2)
    reader.until(nodes_up=2)
    cluster.run("submit", "--quiet", "--cc=1-20", "true")
    cluster.run("queue", "drain")
    reader.until(nodes_demanded=1, jobs_pending=0, jobs_running=0, cores_allocated=0)
    until(lambda: reader.value(names.JOBS, state="inactive") == 20, "all 20 inactive")


def test_what_could_not_run_is_not_demanded(lead: Lead) -> None:
    """Urgency 0, a dependency that is not satisfied, a queue that is stopped: until that changes."""
    cluster, reader = lead(1, max_size=4)
    reader.until(nodes_up=1)
    first = cluster.run("submit", "-N1", "--exclusive", "--urgency=0", "sleep", "inf")
    cluster.run("submit", "-N2", "--exclusive", f"--dependency=afterany:{first}", "sleep", "inf")
    sampled = reader.until(jobs_pending=2, jobs_held=1)
    assert (sampled["nodes_demanded"], sampled["oldest_wait_seconds"]) == (1, 0)
    cluster.run("queue", "stop")
    cluster.run("job", "urgency", first, "16")
    node_jobs(cluster, 2)
    assert reader.until(jobs_held=3)["nodes_demanded"] == 1
    cluster.run("queue", "start")
    reader.until(nodes_demanded=3, jobs_held=0, jobs_running=1)
    cluster.run("cancel", first)
    reader.until(nodes_demanded=4, jobs_held=0)


def test_time_limits_make_core_seconds(lead: Lead) -> None:
    cluster, reader = lead(1, max_size=3)
    node_jobs(cluster, 1)
    reader.until(jobs_running=1)
    cluster.run("submit", "-n2", "-t", "5m", "sleep", "inf")
    cluster.run("submit", "-n2", "sleep", "inf")
    assert reader.until(jobs_pending=2)["demand_core_seconds"] == 600


def test_drained_nodes_are_not_free(lead: Lead) -> None:
    cluster, reader = lead(2)
    reader.until(nodes_free=2)
    cluster.run("resource", "drain", "1", "bad disk")
    values = reader.until(nodes_drained=1)
    assert (values["nodes_free"], values["cores_free"], values["nodes_up"]) == (1, 1, 2)


@pytest.mark.parametrize("end", ["shutdown", "program"])
def test_the_instance_ends_as_it_would(lead: Lead, end: str) -> None:
    """With its own exit code, while metrics are read and watched."""
    line = "while [ ! -e go ]; do sleep 0.1; done; exit 3"
    program = {"command": Command(line), "mode": RunMode.LAUNCHER} if end == "program" else {}
    cluster, reader = lead(1, **program)
    reader.until(nodes_up=1)
    with closing(reader.client.keep()) as connection:
        connection.request("GET", "/v1/queue?watch=true", headers=reader.client.bearer)
        events = connection.getresponse()
        assert events.readline().startswith(b"data: ")
        if end == "program":
            (cluster.directory / "go").touch()
        else:
            cluster.run("shutdown")
        events.read()  # ends
    assert cluster.wait() == (3 if end == "program" else 0)
    assert "minicluster-door" not in cluster.log_text()


def test_a_lead_server_that_was_killed_knows_the_queue_again(lead: Lead) -> None:
    """By the journal's history; the instance itself goes on."""
    cluster, reader = lead(2, max_size=4)
    reader.until(nodes_up=2)
    node_jobs(cluster, 3)
    cluster.run("submit", "-N1", "--urgency=0", "sleep", "inf")
    before = reader.until(nodes_demanded=3, jobs_running=2, jobs_held=1)
    killed = cluster.lead_server_process()
    os.kill(killed, signal.SIGKILL)
    until(lambda: cluster.lead_server_process() != killed, "another door")
    after = reader.until(nodes_demanded=3)
    steady = set(after) - {"oldest_wait_seconds"}
    assert {name: after[name] for name in steady} == {name: before[name] for name in steady}


def test_old_numbers_are_not_given(lead: Lead) -> None:
    """A lead that hangs: an error, and never a zero; then it goes on."""
    cluster, reader = lead(1, max_size=4)
    node_jobs(cluster, 3)
    reader.until(nodes_demanded=3)
    (broker,) = cluster.brokers(0)
    os.kill(broker, signal.SIGSTOP)
    try:
        until(lambda: reader.get("/v1/queue")[0] != 200, "an error")
        code, _, text = reader.get("/v1/queue")
        health, metrics = reader.get("/healthz", {}), reader.get("/metrics")
    finally:
        os.kill(broker, signal.SIGCONT)
    assert (code, health[0], metrics[0]) == (503, 503, 503)
    assert "s old, more than 5 s" in json.loads(text)["error"]
    assert "s old, more than 5 s" in health[2]
    reader.until(nodes_demanded=3)


def test_who_may_read(lead: Lead) -> None:
    """The token for metrics is for nothing else, and without one there is only /healthz."""
    cluster, reader = lead(1)
    reader.until(nodes_up=1)
    unknown = replace(cluster.lead_api, token="0" * 64)
    codes = {
        name: {path: client.ask("GET", path)[0] for path in ("/v1/queue", "/v1/status", "/nothing")}
        for name, client in (("door", cluster.lead_api), ("metrics", reader.client), ("stranger", unknown))
    }
    assert codes == {
        "door": {"/v1/queue": 200, "/v1/status": 200, "/nothing": 404},
        "metrics": {"/v1/queue": 200, "/v1/status": 403, "/nothing": 403},
        "stranger": {"/v1/queue": 401, "/v1/status": 401, "/nothing": 401},
    }
    assert reader.client.ask("POST", "/v1/drain", {"ranks": "0"})[0] == 403
    assert reader.client.ask("POST", "/v1/queue", {})[0] == 405
    assert reader.get("/metrics", {})[0] == 401
    assert reader.get("/healthz", {}) == (200, "text/plain; charset=utf-8", "ok\n")


def test_prometheus_reads_it(lead: Lead) -> None:
    """Every metric, as documented."""
    cluster, reader = lead(1, max_size=2)
    node_jobs(cluster, 2)
    reader.until(jobs_running=1, jobs_pending=1)
    code, kind, text = reader.get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert (code, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert set(families) == names.BY_NAME.keys() - names.OF_BURSTS
    (demanded,) = families[names.NODES_DEMANDED].samples
    assert demanded.value == 2


def test_document_has_its_age(lead: Lead) -> None:
    _, reader = lead(1)
    reader.until(nodes_up=1)
    document = reader.queue()
    assert document is not None
    assert set(document) == {"sampled", "age", "samples"}
    assert 0 <= document["age"] <= 5
    assert document["sampled"].endswith("Z")


def test_changes_are_reported(lead: Lead) -> None:
    """As server-sent events, each a whole document."""
    cluster, reader = lead(1, max_size=4)
    reader.until(nodes_up=1)
    with closing(reader.client.keep()) as connection:
        connection.request("GET", "/v1/queue?watch=true", headers=reader.client.bearer)
        events = connection.getresponse()
        assert events.headers["Content-Type"] == "text/event-stream"
        node_jobs(cluster, 3)
        demanded = 0.0
        while demanded != 3:
            kind, _, data = events.readline().decode().partition(": ")
            assert (kind, events.readline()) == ("data", b"\n")
            samples = json.loads(data)["samples"]
            (demanded,) = [s["value"] for s in samples if s["name"] == names.NODES_DEMANDED]


def test_certificate_may_be_rotated(lead: Lead) -> None:
    """Also with another authority, and other tokens; connections that are open stay."""
    cluster, reader = lead(1)
    reader.until(nodes_up=1)
    kept = reader.client.keep()
    kept.request("GET", "/healthz")
    kept.getresponse().read()
    authority = Authority()
    token = authority.write(cluster.secret)
    renewed = replace(cluster.lead_api, authority=authority.certificate, token=token)

    def answers() -> bool:
        try:
            return renewed.ask("GET", "/v1/queue")[0] == 200
        except OSError:
            return False

    until(answers, "an answer under the new certificate")
    kept.request("GET", "/healthz")
    assert kept.getresponse().status == 200
    kept.close()
