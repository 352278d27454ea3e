"""Brokers that join, leave, are lost, or are turned away."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zmq

from broker_config import curve
from minicluster.embedded import configuration
from minicluster.embedded.log import Log
from minicluster.embedded.overlay.overlay import FollowerOverlay, LeadOverlay, OverlayTimeouts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def test_another_certificate(make_instance: Callable[..., object]) -> None:
    """A broker with another certificate is turned away, counted with its address, and told why."""
    instance = make_instance(3)
    instance.start(0, "-Sbroker.rc2_none")
    other = instance.directory / "other.cert"
    other.write_text(curve.render("mc", curve.generate()))
    other.chmod(0o600)
    config = instance.directory / "other.toml"
    config.write_text(instance.toml(other))
    instance.start(1, config=config)
    assert instance.has_logged(1, "CURVE handshake failed, both need the same certificate")
    assert instance.has_logged(0, "refused a broker from 127.0.0.1")
    stats = instance.rpc("overlay.stats-get")
    assert stats["refused-addresses"]["127.0.0.1"] > 0
    assert stats["child-connected"] == 0


def test_the_second_broker_of_a_rank_stays(make_instance: Callable[..., object]) -> None:
    """The newcomer wins, as with real Flux: the first one ends with its tasks, and its jobs fail."""
    instance = make_instance(2, cores="0").up()
    pids = instance.directory / "pids"
    doomed = instance.flux(
        "submit", "-N2", "-n2", "sh", "-c", f"echo $$ >> {pids}; exec sleep 60"
    ).stdout.strip()
    instance.wait(lambda: pids.exists() and len(pids.read_text().split()) == 2, "tasks started")
    first = instance.brokers.pop(1)
    instance.start(1, f"-Srundir={instance.directory}/second")
    second, instance.brokers[1] = instance.brokers[1], first
    assert instance.code(1) == 1
    instance.brokers[1] = second
    assert instance.has_logged(0, "mc-1 (rank 1) reconnected after crash, dropping old connection state")
    assert instance.has_logged(1, "refused this broker: another broker has joined as rank 1")
    assert instance.flux("job", "wait-event", doomed, "clean").returncode == 0
    assert "node failure on mc-1 (rank 1)" in instance.flux("job", "eventlog", doomed).stdout
    started = [int(pid) for pid in pids.read_text().split()]
    assert instance.wait(lambda: not any(map(alive, started)), "the tasks' end")
    assert instance.flux("run", "-N2", "-n2", "true").returncode == 0


def test_a_name_that_is_not_its_ranks(make_instance: Callable[..., object]) -> None:
    """A follower whose hosts are in another order is refused in Flux's words, and ends."""
    instance = make_instance(3)
    instance.start(0, "-Sbroker.rc2_none")
    other = instance.directory / "other.toml"
    other.write_text(instance.config.read_text().replace("mc-[1-2]", "mc-[2,1]"))
    instance.start(1, config=other)
    assert instance.code(1) == 1
    reason = "mc-2 is configured as rank 2: mismatched config?"
    assert instance.has_logged(1, f"refused this broker: {reason}")
    assert instance.has_logged(0, f"rejecting connection from mc-1 (rank 2): {reason}")
    assert instance.online() == 1


def test_lost_follower(make_instance: Callable[..., object]) -> None:
    """A follower killed with SIGKILL fails its jobs by host and rank; others go on, and it may rejoin."""
    instance = make_instance(3, cores="0").up()
    doomed = instance.flux("submit", "-N3", "-n3", "sleep", "60").stdout.strip()
    instance.flux("job", "wait-event", doomed, "start")
    assert instance.end(1, signal.SIGKILL) == -signal.SIGKILL
    assert instance.flux("job", "wait-event", doomed, "clean").returncode == 0
    assert "node failure on mc-1 (rank 1)" in instance.flux("job", "eventlog", doomed).stdout
    assert instance.rpc("overlay.health")["children"][0]["status"] == "lost"
    assert instance.flux("run", "-N2", "-n2", "true").returncode == 0
    instance.start(1)
    instance.wait(lambda: instance.online() == 3, "rejoined")
    assert instance.flux("run", "-N3", "-n3", "true").returncode == 0


def test_lost_followers_tasks_end(make_instance: Callable[..., object]) -> None:
    """No task outlives a broker that was killed."""
    instance = make_instance(2, cores="0").up()
    pids = instance.directory / "pids"
    instance.flux(
        "submit",
        "-N2",
        "-n2",
        "sh",
        "-c",
        f"(setsid sleep 60 & echo $! >> {pids}); echo $$ >> {pids}; sleep 60",
    )
    instance.wait(lambda: pids.exists() and len(pids.read_text().split()) == 4, "tasks started")
    for rank in (1, 0):
        instance.end(rank, signal.SIGKILL)
    started = [int(pid) for pid in pids.read_text().split()]
    assert instance.wait(lambda: not any(map(alive, started)), "the tasks' end")


def test_administrative_shutdown(make_instance: Callable[..., object]) -> None:
    """SIGTERM on a follower: it leaves with 0, its jobs fail, its rank is offline and not lost."""
    instance = make_instance(2, cores="0").up()
    job = instance.flux("submit", "-N2", "-n2", "sleep", "60").stdout.strip()
    instance.flux("job", "wait-event", job, "start")
    assert instance.end(1) == 0
    assert instance.has_logged(0, "mc-1 (rank 1) left: administrative shutdown")
    assert instance.flux("job", "wait-event", job, "clean").returncode == 0
    assert instance.rpc("overlay.health")["children"][0]["status"] == "offline"


def test_lead_killed(make_instance: Callable[..., object]) -> None:
    """Followers of a killed lead end with 1, and come back to the next one when they are restarted."""
    instance = make_instance(2).up()
    instance.end(0, signal.SIGKILL)
    assert instance.code(1) == 1
    assert instance.has_logged(1, "overlay disconnect")
    instance.up()
    assert instance.flux("run", "-N2", "-n2", "true").returncode == 0


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_requests_on_any_rank(cluster: object, rank: int) -> None:
    """A follower forwards what the lead serves; its own attributes are its own."""
    assert cluster.flux("getattr", "rank", rank=rank).stdout == f"{rank}\n"
    assert cluster.flux("getattr", "hostlist", rank=rank).stdout == "mc-[0-3]\n"
    done = cluster.flux("run", "-N4", "-n4", "echo", "from", str(rank), rank=rank)
    assert (done.stdout, done.returncode) == (f"from {rank}\n" * 4, 0)


def test_forwarded_stream_is_not_hurried(cluster: object) -> None:
    """A long stream over a follower arrives whole and in order."""
    done = cluster.flux("run", "seq", "100000", rank=2)
    assert done.stdout.split() == [str(number) for number in range(1, 100001)]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_silent_follower(make_instance: Callable[..., object]) -> None:
    """A follower that shows no sign of life for tbon.tcp_user_timeout is lost, although its link is open."""
    instance = make_instance(2).up("-Stbon.tcp_user_timeout=2s")
    instance.brokers[1].send_signal(signal.SIGSTOP)
    try:
        assert instance.wait(lambda: instance.online() == 1, "the follower's loss")
        assert instance.has_logged(0, "mc-1 (rank 1) lost")
    finally:
        instance.brokers[1].send_signal(signal.SIGCONT)
    assert instance.code(1) == 1


@pytest.fixture
def stand_in(make_instance: Callable[..., object]) -> Iterator[tuple[object, zmq.Socket[bytes]]]:
    """An instance of two without its brokers, and a socket in its lead's place."""
    instance = make_instance(2)
    pair = curve.decode(instance.certificate.read_text())
    with zmq.Context() as context, context.socket(zmq.ROUTER) as lead:
        lead.linger = 0
        lead.curve_server = True
        lead.curve_publickey, lead.curve_secretkey = pair.public.encode(), pair.secret.encode()
        lead.bind(f"tcp://127.0.0.1:{instance.port}")
        yield instance, lead


def test_a_link_that_is_lost_before_the_welcome(stand_in: tuple[object, zmq.Socket[bytes]]) -> None:
    """It is as final as any other: what the lead sent over it may still arrive."""
    instance, lead = stand_in
    instance.start(1)
    assert lead.poll(20_000)
    lead.close()
    assert instance.code(1) == 1
    assert instance.has_logged(1, "overlay disconnect")


def test_a_handshake_that_is_over_at_once(
    stand_in: tuple[object, zmq.Socket[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower that is held up after it began to connect says hello all the same."""
    instance, lead = stand_in
    connect = zmq.Socket.connect

    def delayed(socket: zmq.Socket[bytes], address: str) -> None:
        connect(socket, address)
        if address.startswith("tcp:"):
            socket.send(b"{}")
            assert lead.poll(20_000)  # so hands were shaken
            lead.recv_multipart()

    monkeypatch.setattr(zmq.Socket, "connect", delayed)
    assert asyncio.run(_first_words(instance, lead))["type"] == "hello"


async def _first_words(instance: object, lead: zmq.Socket[bytes]) -> dict[str, object]:
    """Have a follower join, and return what the lead hears of it first."""
    endpoint = f"tcp://127.0.0.1:{instance.port}"
    certificate = configuration.read_certificate(str(instance.certificate))
    bootstrap = configuration.Bootstrap(1, ("mc-0", "mc-1"), None, endpoint, certificate)
    follower = FollowerOverlay(bootstrap, Log("1"), OverlayTimeouts(30, 20))
    follower.open()
    try:
        async with asyncio.timeout(20):
            while not lead.poll(0):
                await asyncio.sleep(0.01)
    finally:
        follower.close()
    return json.loads(lead.recv_multipart()[1])


def test_the_authenticator_is_there_before_the_socket(
    make_instance: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZeroMQ admits every key while nobody answers at ZAP's address (RFC 27)."""
    instance, bind, bound = make_instance(2), zmq.Socket.bind, []

    def noted(socket: zmq.Socket[bytes], address: str) -> None:
        bound.append(address)
        bind(socket, address)

    async def open_and_close() -> None:
        certificate = configuration.read_certificate(str(instance.certificate))
        endpoint = f"tcp://127.0.0.1:{instance.port}"
        bootstrap = configuration.Bootstrap(0, ("mc-0", "mc-1"), endpoint, None, certificate)
        lead = LeadOverlay(bootstrap, Log("0"), OverlayTimeouts(30, 20))
        lead.open()
        lead.close()

    monkeypatch.setattr(zmq.Socket, "bind", noted)
    asyncio.run(open_and_close())
    assert bound == ["inproc://zeromq.zap.01", f"tcp://127.0.0.1:{instance.port}"]


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        ({"version": "0.1"}, "client (0.1) version mismatched with server (0.88.0)"),
        ({"version": "0.89.0"}, "client (0.89.0) version mismatched with server (0.88.0)"),
        ({"version": 88}, "client (88) version mismatched with server (0.88.0)"),
        ({"rank": 0}, "rank 0 is not a child of rank 0: mismatched config?"),
        ({"rank": 3}, "rank 3 is not a child of rank 0: mismatched config?"),
        ({"rank": "1"}, "rank 1 is not a child of rank 0: mismatched config?"),
        ({"rank": 2}, "mc-2 is configured as rank 2: mismatched config?"),
        ({"host": None}, "mc-1 is configured as rank 1: mismatched config?"),
    ],
    ids=[
        "older",
        "newer",
        "no version",
        "the lead's rank",
        "no such rank",
        "no number",
        "another's",
        "no name",
    ],
)
def test_refused_with_a_reason(
    make_instance: Callable[..., object], hello: dict[str, object], reason: str
) -> None:
    """A peer with the certificate but without a place is told why."""
    instance = make_instance(3)
    instance.start(0, "-Sbroker.rc2_none")
    with greeting(instance, hello) as peer:
        assert peer.recv_json() == {"type": "refused", "reason": reason}
    host = str(hello.get("host", "mc-1"))
    assert instance.rpc("overlay.stats-get")["refused-addresses"] == {host: 1}


def test_another_patch_release_joins(make_instance: Callable[..., object]) -> None:
    """As with real Flux, MAJOR.MINOR alone must be the same."""
    instance = make_instance(2)
    instance.start(0, "-Sbroker.rc2_none")
    with greeting(instance, {"version": "0.88.7"}) as peer:
        assert peer.recv_json()["type"] == "welcome"


@contextlib.contextmanager
def greeting(instance: object, hello: dict[str, object]) -> Iterator[zmq.Socket[bytes]]:
    """A peer with the certificate, which has got an answer to its hello."""
    pair = curve.decode(instance.certificate.read_text())
    with zmq.Context() as context, context.socket(zmq.DEALER) as peer:
        peer.linger = 0
        peer.curve_publickey, peer.curve_secretkey = pair.public.encode(), pair.secret.encode()
        peer.curve_serverkey = pair.public.encode()
        peer.connect(f"tcp://127.0.0.1:{instance.port}")
        peer.send_json({"type": "hello", "rank": 1, "host": "mc-1", "version": "0.88.0", **hello})
        assert peer.poll(20_000)
        yield peer


def test_who_knows_the_public_key_alone_does_not_get_in(make_instance: Callable[..., object]) -> None:
    """The handshake would succeed: it is the lead that looks at the peer's own key."""
    instance = make_instance(2)
    instance.start(0, "-Sbroker.rc2_none")
    known, own = curve.decode(instance.certificate.read_text()).public, curve.generate()
    with zmq.Context() as context, context.socket(zmq.DEALER) as peer:
        peer.linger = 0
        peer.curve_publickey, peer.curve_secretkey = own.public.encode(), own.secret.encode()
        peer.curve_serverkey = known.encode()
        peer.connect(f"tcp://127.0.0.1:{instance.port}")
        peer.send_json({"type": "hello", "host": "stranger", "rank": 1, "version": "0.88.0"})
        assert instance.has_logged(0, "refused a broker from 127.0.0.1")
        assert "::ffff:" not in instance.log(0).read_text()
        assert not peer.poll(0)
    assert instance.rpc("overlay.stats-get")["child-connected"] == 0
