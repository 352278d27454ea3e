"""How brokers start, and what they say when they cannot."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.broker import launcher
from minicluster.embedded.client import BrokerClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def flux(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("bin with 'quotes' and spaces")
    path = f"{launcher.write_bin(folder).parent}:{os.environ['PATH']}"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        env = {key: value for key, value in os.environ.items() if not key.startswith(("FLUX_", "PMI_"))}
        return subprocess.run(
            ["flux", *arguments],
            env={**env, "PATH": path, "SHELL": "/bin/sh"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("program", "output", "code"),
    [
        pytest.param(["echo a  b; exit 4"], "a b\n", 4, id="one word is a line for the shell"),
        pytest.param(["printf", "%s|", "a  b", "$HOME"], "a  b|$HOME|", 0, id="several words pass unchanged"),
        pytest.param(["sh", "-c", "kill -9 $$"], "", 137, id="killed"),
        pytest.param(["nosuchcommand", "x"], "", 127, id="not found"),
        pytest.param(["flux getattr size"], "1\n", 0, id="a broker without configuration is alone"),
    ],
)
def test_initial_program(
    flux: Callable[..., subprocess.CompletedProcess[str]], program: list[str], output: str, code: int
) -> None:
    """The broker ends with its program's exit code."""
    done = flux("broker", *program)
    assert (done.stdout, done.returncode) == (output, code)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-c", "/nonexistent.toml"], "Config file error: /nonexistent.toml: No such file or directory"),
        (["-Sfoo=bar"], "broker: foo: unknown attribute"),
        (["-Sbroker.quorum=x"], "broker.quorum attribute: 'x' is not a number from 1 to 1"),
        (["-Srundir=/proc/x"], "rundir error creating /proc/x"),
        (["-Sstatedir=/proc/x"], "statedir /proc/x: cannot write there"),
        (["-Stbon.connect_timeout=5q"], "tbon.connect_timeout: '5q' is no duration; right would be 5s"),
        (
            ["-Slog-stderr-level=9"],
            "log-stderr-level: '9' is no level; right would be 0 (emerg) to 7 (debug)",
        ),
        (["--frob"], "unknown option --frob"),
        (["-c"], "option -c needs a value"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_bad_options(
    flux: Callable[..., subprocess.CompletedProcess[str]], arguments: list[str], message: str
) -> None:
    """A wrong option ends the broker with 1 and a message that names it."""
    done = flux("broker", *arguments, *([] if arguments == ["-c"] else ["true"]))
    assert done.returncode == 1
    assert message in done.stderr


def test_port_taken(make_instance: Callable[..., object]) -> None:
    """A lead whose port is taken says which endpoint."""
    instance = make_instance(2)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", instance.port))
        taken.listen()
        instance.start(0, "true")
        assert instance.code(0) == 1
    assert (
        f"error binding to tcp://127.0.0.1:{instance.port}: Address already in use"
        in instance.log(0).read_text()
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        pytest.param(
            lambda path: path.chmod(0o644),
            "readable by group/other; its mode must be 0400 or 0600",
            id="mode",
        ),
        pytest.param(lambda path: path.unlink(), "No such file or directory", id="absent"),
        pytest.param(lambda path: path.write_text("metadata\n"), "Error loading certificate", id="broken"),
    ],
)
def test_certificate(
    make_instance: Callable[..., object], spoil: Callable[[Path], object], message: str
) -> None:
    """A certificate that Flux would refuse is refused, by its path."""
    instance = make_instance(2)
    spoil(instance.certificate)
    instance.start(0, "true")
    assert instance.code(0) == 1
    log = instance.log(0).read_text()
    assert str(instance.certificate) in log
    assert message in log


def test_unknown_host(make_instance: Callable[..., object]) -> None:
    """A broker that [bootstrap] does not list says so."""
    instance = make_instance(2)
    instance.start(7)
    assert instance.code(7) == 1
    assert "mc-7 not found in hosts" in instance.log(7).read_text()


def test_quorum(make_instance: Callable[..., object]) -> None:
    """With broker.quorum the program runs although hosts are absent."""
    instance = make_instance(3)
    with instance.start(0, "-Sbroker.quorum=1", "flux resource list -no '{state} {nnodes}'") as lead:
        output = lead.stdout.read().decode()
    assert "down 2" in output


def test_clean_end(make_instance: Callable[..., object]) -> None:
    """When the lead's program ends, followers exit 0 and the lead with the program's code."""
    instance = make_instance(3)
    for rank in (1, 2):
        instance.start(rank)
    instance.start(0, "exit 7")
    assert [instance.code(rank) for rank in (0, 1, 2)] == [7, 0, 0]
    assert not list(instance.directory.glob("*/local-*"))


def test_lead_terminated(make_instance: Callable[..., object]) -> None:
    """SIGTERM on the lead ends its program first, whose code it ends with; its followers may come back."""
    instance = make_instance(2)
    instance.start(1)
    instance.start(0, "sh", "-c", "trap 'exit 5' TERM; flux getattr size; while :; do sleep 0.05; done")
    assert instance.brokers[0].stdout.readline() == b"2\n"
    assert instance.end(0) == 5
    assert instance.code(1) == 1
    assert "the lead was told to go, and may come back" in instance.log(1).read_text()


def test_lead_terminated_while_clients_listen(make_instance: Callable[..., object]) -> None:
    """Clients of a lead that ends are hung up on, and nothing else is said about them."""
    instance = make_instance(2)
    instance.start(0, "-Sbroker.rc2_none", "-Sbroker.quorum=1", "-Slog-stderr-level=3")
    instance.wait(instance.online, "the lead's socket")
    with BrokerClient(instance.uri) as client:
        client.call("job-manager.events-journal", {"full": True}, lambda *_answer: None, streaming=True)
        client.rpc("attr.get", {"name": "size"})
        assert instance.end(0) == 0
    assert instance.log(0).read_text() == ""


def test_a_follower_passes_the_journal_on(make_instance: Callable[..., object]) -> None:
    """The lead's own clients and a follower's hear the same of a job."""
    instance = make_instance(2).up()
    items = []
    with (
        BrokerClient(instance.uri) as lead,
        BrokerClient(f"local://{instance.directory}/1/local-1") as follower,
    ):
        journals = [each.stream("job-manager.events-journal", {"full": False}) for each in (lead, follower)]
        assert [next(journal)["id"] for journal in journals] == [-1, -1]
        instance.flux("run", "true")
        for journal in journals:
            received = []
            while not (received and received[-1]["events"][-1]["name"] == "clean"):
                received.append(next(journal))
            items.append(
                {
                    "events": [event["name"] for item in received for event in item["events"]],
                    "jobspec": next(item["jobspec"] for item in received if "jobspec" in item),
                    "R": next(item["R"] for item in received if "R" in item),
                }
            )
    assert items[0] == items[1]
    assert items[0]["jobspec"]["tasks"][0]["command"] == ["true"]
    assert "environment" not in items[0]["jobspec"]["attributes"]["system"]


def test_who_gathers_the_journal_gets_what_is_counted(make_instance: Callable[..., object]) -> None:
    """It hears of the first event, then of nothing for a long time, and of all before the counts come."""
    instance = make_instance(2).up()
    received: list[tuple[int, list[str]]] = []
    events = ["submit", "alloc", "clean"]
    request = {"full": False, "allow": dict.fromkeys(events, 1), "gather": 1000}
    with BrokerClient(instance.uri) as client:

        def receive(item: dict[str, Any], _: object) -> None:
            received.append((item["id"], [event["name"] for event in item["events"]]))

        client.call("job-manager.events-journal", request, receive, streaming=True)
        for _ in range(2):
            instance.flux("run", "true")
        client.rpc("attr.get", {"name": "size"})
        (sentinel, first), early = received, len(received)
        assert (sentinel, first[1][0], first[1][-1] != "clean") == ((-1, []), "submit", True)
        states = client.rpc("job-list.job-stats")["job_states"]
    rest, second = received[early:]
    assert (rest[0], first[1] + rest[1], second[1]) == (first[0], events, events)
    assert states["inactive"] == 2


def test_socket_is_the_owners(make_instance: Callable[..., object]) -> None:
    """The local socket admits nobody else by its mode, too."""
    instance = make_instance(2)
    instance.start(0, "-Sbroker.rc2_none")
    path = instance.directory / "0" / "local-0"
    instance.wait(path.exists, "socket")
    assert path.stat().st_mode & 0o777 == 0o600


def test_restart_on_statedir(make_instance: Callable[..., object]) -> None:
    """A lead that comes back on its state directory knows its jobs and runs new ones."""
    instance = make_instance(2)
    for word in ("one", "two"):
        instance.start(0, "-Sbroker.quorum=1", f"flux run echo {word}; flux jobs -ano '{{name}}'")
        with instance.brokers.pop(0) as lead:
            output = lead.stdout.read().decode().split()
    assert output == ["two", "echo", "echo"]


def test_sub_instance(make_instance: Callable[..., object]) -> None:
    """A job that runs `flux broker` on two nodes is an instance of size 2 on exactly these hosts."""
    instance = make_instance(3).up()
    script = "for a in size hostlist instance-level; do flux getattr $a; done; flux run -N2 -n2 echo in"
    done = instance.flux("run", "-N2", "-n2", "flux", "broker", script)
    assert (sorted(done.stdout.split()), done.returncode) == (["1", "2", "in", "in", "mc-[0-1]"], 0)


def test_two_node_job_in_a_batch_job(make_instance: Callable[..., object]) -> None:
    """`flux submit -N2` starts a task on each of the batch job's nodes."""
    instance = make_instance(3).up()
    script = "flux submit --quiet --watch -N2 printenv FLUX_TASK_RANK"
    job = instance.flux("batch", "-N2", "--output=kvs", "--wrap", *script.split()).stdout.strip()
    assert sorted(instance.flux("job", "attach", job).stdout.split()) == ["0", "1"]


def test_test_instance(flux: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """`flux start -s3` runs its program in an instance of three brokers and ends with its code."""
    done = flux("start", "-s3", "flux run -N3 -n3 sh -c 'echo $FLUX_JOB_NNODES'; exit 6")
    assert (done.stdout, done.returncode) == ("3\n3\n3\n", 6)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_before_quorum(make_instance: Callable[..., object], signum: int) -> None:
    """A lead that still waits for brokers ends at once, with 128 + signal."""
    instance = make_instance(2)
    instance.start(0, "true")
    instance.wait(instance.online, "the lead's socket")
    assert instance.end(0, signum) == 128 + signum


def test_dump_that_cannot_be_written(make_instance: Callable[..., object]) -> None:
    """The lead says so and ends with 1, and the followers still end in order."""
    instance = make_instance(2)
    instance.start(1)
    instance.start(0, "-Scontent.dump=/nosuchdir/dump", "true")
    assert (instance.code(0), instance.code(1)) == (1, 0)
    assert "content.dump: " in instance.log(0).read_text()


def test_shutdown_by_a_client(make_instance: Callable[..., object]) -> None:
    """A client on any rank may end the instance; running jobs are cancelled, all brokers exit 0."""
    instance = make_instance(2).up()
    assert instance.flux("submit", "sleep", "60").returncode == 0
    instance.flux("shutdown", rank=1)
    assert [instance.code(rank) for rank in (0, 1)] == [0, 0]
