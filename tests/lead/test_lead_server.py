"""The door of a real lead: what it says of the instance, and what it does to it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_config.settings import Command, RunMode, Submit
from minicluster import __version__
from tests.lead.client import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lead.pods import Pods

POLICIES = {"embedded": "minicluster/fcfs", "flux": "fcfs"}


def test_status(three: Pods, engine: str) -> None:
    """Every field of an instance that idles."""
    status = three.lead_api.status()
    assert status == {
        "engine": engine,
        "version": "0.88.0",
        "minicluster": __version__,
        "size": 3,
        "online": "0-2",
        "drained": "",
        "drains": {},
        "busy": "",
        "running": True,
        "jobid": "",
        "queue_policy": POLICIES[engine],
        "troubles": [],
        "halted": [],
        "saving": None,
        "kept": [],
    }


def test_a_queue_that_was_stopped(three: Pods) -> None:
    """With its reason; until it is started."""
    with three.lead_api.watch() as watch:
        watch.until(halted=[])
        three.run("queue", "stop", "--message=maintenance until five")
        watch.until(halted=["maintenance until five"])
        three.run("queue", "start")
        watch.until(halted=[])


def test_a_restored_instance_reports_no_stopped_queue_before_its_queues_start(
    pods: Callable[..., Pods],
) -> None:
    """It has them from the former one, which stopped them at its end; the start script starts them."""
    cluster = pods(1, keeps_state=True).start(0)
    until(lambda: cluster.lead_api.status()["running"], "an instance that runs")
    cluster.end(0)
    cluster.start(0)
    reported: list[str] = []

    def have_started() -> bool:
        reported.extend(cluster.lead_api.status()["halted"])
        return (cluster.directory / "0" / "main-started").exists()

    until(have_started, "queues that are started")
    reported += cluster.lead_api.status()["halted"]
    assert reported == []


def test_a_new_instance_reports_no_stopped_queue_before_its_queues_start(pods: Callable[..., Pods]) -> None:
    """Those that have names begin stopped; one that is stopped by hand later on is reported."""
    cluster = pods(1, broker_toml="[queues.debug]\n").start(0)
    reported: list[str] = []

    def have_started() -> bool:
        with contextlib.suppress(OSError):  # it is not up yet
            reported.extend(cluster.lead_api.status()["halted"])
        return (cluster.directory / "0" / "main-started").exists()

    until(have_started, "queues that are started")
    reported += cluster.lead_api.status()["halted"]
    assert reported == []
    cluster.run("queue", "stop", "debug")
    until(lambda: cluster.lead_api.status()["halted"] == ["queue debug: stopped"], "the queue to be reported")


def test_brokers_come_and_go(pods: Callable[..., Pods]) -> None:
    """A watch hears of each, and why the one that left is not there."""
    cluster = pods().start(0)
    with cluster.lead_api.watch() as watch:
        assert watch.until(online="0")["troubles"] == []
        cluster.start(2)
        watch.until(online="0,2")
        cluster.start(1)
        watch.until(online="0-2")
        cluster.end(1)
        assert watch.until(online="0,2", troubles=["mc-1: offline: administrative shutdown"])


def test_running_means_that_enough_brokers_joined(pods: Callable[..., Pods]) -> None:
    """The quorum is two. The broker pushes its state and who is online apart: a report may come between."""
    cluster = pods(quorum=2).start(0)
    with cluster.lead_api.watch() as watch:
        assert not watch.until(online="0")["running"]
        cluster.start(1)
        seen = watch.until(running=True)
        assert seen["online"] == "0-1" or watch.until(online="0-1")["running"]


def test_main_job_is_named_and_its_ranks_are_busy(pods: Callable[..., Pods]) -> None:
    """By its id as people see it, and the ranks that it holds."""
    cluster = pods(size=2, quorum=2, command=Command("sleep 60"), submit=Submit(2)).start(0, 1)
    with cluster.lead_api.watch() as watch:
        watch.until(busy="0-1")
        jobid = next(each["jobid"] for each in chain([watch.last], watch) if each["jobid"])
        assert jobid.startswith("f")
        assert cluster.run("job", "id", jobid) == cluster.run("jobs", "-n", "-o", "{id.dec}")
        cluster.run("cancel", jobid)
    assert cluster.wait() != 0


def test_the_instance_ends_with_the_main_job(pods: Callable[..., Pods]) -> None:
    """The watch ends as an HTTP response ends, and the exit code is the program's."""
    line = "while [ ! -e go ]; do sleep 0.1; done; exit 3"
    cluster = pods(size=1, command=Command(line), mode=RunMode.LAUNCHER).start(0)
    with cluster.lead_api.watch() as watch:
        watch.until(running=True)
        (cluster.directory / "go").touch()
        assert all(status["size"] == 1 for status in watch)
    assert cluster.wait() == 3


def test_interactive_instance_ends_in_order(pods: Callable[..., Pods]) -> None:
    """The door is closed before, and changes nothing about how it ends."""
    cluster = pods(size=1).start(0)
    with cluster.lead_api.watch() as watch:
        watch.until(running=True)
        cluster.run("shutdown")
        assert all(status["online"] in ("0", "") for status in watch)
    assert cluster.wait() == 0


def test_drain_and_undrain(three: Pods) -> None:
    """The status tells at once, with the reason; a rank that was drained before keeps its own."""
    lead_api = three.lead_api
    assert lead_api.ask("POST", "/v1/drain", {"ranks": "2", "reason": "bad disk"}) == (200, {})
    assert lead_api.ask("POST", "/v1/drain", {"ranks": "1-2", "reason": "shrinking"}) == (200, {})
    status = lead_api.status()
    assert (status["drained"], status["drains"]) == ("1-2", {"1": "shrinking", "2": "bad disk"})
    assert lead_api.ask("POST", "/v1/undrain", {"ranks": "0-2"}) == (200, {})
    assert lead_api.status()["drained"] == ""


def test_nothing_starts_on_a_drained_rank(three: Pods) -> None:
    """That is what draining is for; what runs there goes on."""
    three.lead_api.ask("POST", "/v1/drain", {"ranks": "0-1", "reason": "test"})
    job = three.run("submit", "-N1", "sleep", "60")
    with three.lead_api.watch() as watch:
        assert watch.until(busy="2")
        three.lead_api.ask("POST", "/v1/drain", {"ranks": "2", "reason": "test"})
        watch.until(drained="0-2", busy="2")
        three.run("cancel", job)
        watch.until(drained="0-2", busy="")
    assert three.lead_api.ask("POST", "/v1/undrain", {"ranks": "0-2"}) == (200, {})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(None, 'ranks: an idset such as "2-3" is right', id="none"),
        pytest.param({"ranks": 2}, 'ranks: an idset such as "2-3" is right', id="number"),
        pytest.param({"ranks": ""}, "ranks: the idset is empty", id="empty"),
        pytest.param(
            {"ranks": "3-2"},
            "ranks: idset '3-2', character 1: range 3-2 does not ascend",
            id="descending",
        ),
        pytest.param({"ranks": "2-3"}, "ranks: idset is out of range", id="unknown rank"),
        pytest.param(
            {"ranks": "1;2"},
            "ranks: idset '1;2', character 1: '1;2' is neither an id (no leading zeros) nor a range like 0-3",
            id="no idset",
        ),
        pytest.param(
            {"ranks": "1", "reason": "a\nb"},
            "reason: a line of text of at most 1000 characters is right",
            id="lines",
        ),
        pytest.param(b"{", "the body is no JSON", id="no json"),
        pytest.param([1], "the body must be an object", id="list"),
    ],
)
def test_orders_that_make_no_sense(three: Pods, body: object, message: str) -> None:
    """Are refused with words, and change nothing."""
    assert three.lead_api.ask("POST", "/v1/drain", body) == (400, {"error": message})
    assert three.lead_api.status()["drained"] == ""


def test_a_broker_with_another_certificate_is_reported(pods: Callable[..., Pods], engine: str) -> None:
    """By its address: the handshake tells no name."""
    if engine == "flux":
        pytest.skip("real Flux's lead says nothing of a broker whose CURVE handshake fails")
    cluster = pods().start(0)
    with cluster.lead_api.watch() as watch:
        watch.until(online="0")
        cluster.start(1, MINICLUSTER_CURVE=str(cluster.certificate("another.cert")))
        watch.until(troubles=["127.0.0.1: turned away: wrong certificate"])


def test_a_lost_broker_is_reported(pods: Callable[..., Pods]) -> None:
    """By its host name."""
    cluster = pods().start(0, 1)
    with cluster.lead_api.watch() as watch:
        watch.until(online="0-1")
        cluster.processes[1].send_signal(signal.SIGKILL)  # the script, so that it starts no broker again
        cluster.wait(1)
        for pid in cluster.brokers(1):
            os.kill(pid, signal.SIGKILL)
        assert watch.until(online="0")
        status = watch.last if watch.last["troubles"] else next(iter(watch))
        assert status["troubles"][0].startswith("mc-1: lost: ")


def test_an_instance_without_the_files_runs(pods: Callable[..., Pods]) -> None:
    """And says so once."""
    cluster = pods(size=1)
    (cluster.secret / "door.key").unlink()
    cluster.start(0)
    why = f"the instance runs without the lead API: cannot read {cluster.secret}/door.key: No such file"
    cluster.wait_for_log(why)
    assert cluster.run("run", "echo", "works") == "works"
    cluster.run("shutdown")
    assert cluster.wait() == 0
    assert cluster.log_text().count("without the lead API") == 1


def test_a_port_that_is_taken_is_waited_for(pods: Callable[..., Pods]) -> None:
    """The instance runs meanwhile."""
    cluster = pods(size=1)
    with socket.create_server(("0.0.0.0", cluster.lead_api.port)):
        cluster.start(0)
        cluster.wait_for_log(
            f"minicluster-door: cannot listen on port {cluster.lead_api.port}: Address already in use"
        )
        until(lambda: cluster.run("uptime"), "an instance")
    assert cluster.lead_api.status()["size"] == 1


def test_killed_lead_server(pods: Callable[..., Pods], engine: str) -> None:
    """It comes back, and the instance goes on."""
    cluster = pods(size=1).start(0)
    cluster.lead_api.status()
    killed = cluster.lead_server_process()
    os.kill(killed, signal.SIGKILL)
    named = {"embedded": "module door", "flux": "minicluster-door: the lead server"}[engine]
    cluster.wait_for_log(f"{named} was killed by signal 9; it is started again in 0.25 s")
    assert cluster.lead_api.status()["running"]
    assert cluster.run("run", "echo", "alive") == "alive"
    cluster.run("shutdown")
    assert cluster.wait() == 0


def test_killed_lead_leaves_no_server(pods: Callable[..., Pods]) -> None:
    """Its port is free for the lead that comes next."""
    cluster = pods(size=1).start(0)
    cluster.lead_api.status()
    lead_api = cluster.lead_server_process()
    for broker in cluster.brokers(0):
        os.kill(broker, signal.SIGKILL)
    assert cluster.wait() == 137
    until(lambda: not Path(f"/proc/{lead_api}").exists(), "the end of the door")


def test_orders_leave_no_connection_behind(three: Pods) -> None:
    """Each has a connection to the broker of its own."""
    descriptors = Path(f"/proc/{three.lead_server_process()}/fd")
    three.lead_api.ask("POST", "/v1/undrain", {"ranks": "0"})
    before = len(list(descriptors.iterdir()))
    for _ in range(30):
        assert three.lead_api.ask("POST", "/v1/undrain", {"ranks": "0"}) == (200, {})
    assert len(list(descriptors.iterdir())) < before + 10


def test_no_secret_is_in_the_log_or_in_arguments(three: Pods) -> None:
    """Nor in the environment of the lead's processes."""
    three.lead_api.status()
    words = three.log_text().encode()
    for pid in (three.lead_server_process(), *three.brokers(0)):
        for file in ("cmdline", "environ"):
            words += Path(f"/proc/{pid}/{file}").read_bytes()
    assert three.lead_api.token.encode() not in words


def test_memory(pods: Callable[..., Pods]) -> None:
    """What a new door takes, shared libraries apart, is under 20 MB; what requests took, Python may keep."""
    cluster = pods(size=1).start(0)
    with cluster.lead_api.watch() as watch:
        watch.until(online="0", running=True)
    cluster.lead_api.status()
    until(lambda: private_memory(cluster.lead_server_process()) < 20_000, "less than 20 MB")


def private_memory(pid: int) -> int:
    """Return what a process has for itself alone, in kB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    sizes = dict(line.split(":", 1) for line in lines)
    return int(sizes["RssAnon"].split()[0])


def test_an_instance_in_a_job_has_no_lead_server(three: Pods, engine: str) -> None:
    """What the lead's environment says of modules is not for it."""
    if engine == "embedded":
        pytest.skip("the embedded instance names its modules in broker.toml only")
    loaded = three.run("run", "-N1", "flux", "start", "flux", "module", "list")
    assert "sched-simple" in loaded
    assert "minicluster" not in loaded


def test_many_readers(three: Pods) -> None:
    """Thirty watches at once, each with the same status."""
    with ExitStack() as stack:
        watches = [stack.enter_context(three.lead_api.watch()) for _ in range(30)]
        assert {next(iter(watch))["online"] for watch in watches} == {"0-2"}


def test_a_lead_server_that_was_just_opened_answers(pods: Callable[..., Pods]) -> None:
    """With a status, or with 503 while the broker starts; never with something that is no answer."""
    cluster = pods(size=1).start(0)
    end = time.monotonic() + 30
    codes = set()
    while codes != {200} and time.monotonic() < end:
        try:
            code, answer = cluster.lead_api.ask("GET", "/v1/status")
        except ConnectionError:
            continue
        codes = {code}
        assert (
            answer["version"] == "0.88.0"
            if code == 200
            else answer == {"error": "the broker has not answered yet"}
        )
    assert codes == {200}
