"""What one sees of a MiniCluster's own command from outside, and what its jobs would have around them."""

import asyncio
from typing import Any

import pytest

from minicluster.kube_client.errors import FailedError
from minicluster.remote import attach, clusters, lead
from tests.operator.field_sets import Object
from tests.remote.far_cluster import Command, FarCluster, cluster, pod, run

ENDED = cluster("Succeeded", "Succeeded", "the command ended with 0", exitCode=0)
AWAITED = {
    "no-pod": (
        cluster("Pending", "ResourcesCreated", "a quota is full", holds="False"),
        [],
        "Pending: a quota is full",
    ),
    "no-node": (
        cluster("Pending", "PodsScheduled", "0 of 1 pods have a node", holds="False"),
        [pod() | {"status": {"phase": "Pending"}}],
        "Pending",
    ),
    "no-image": (
        cluster("Starting", "Running", "0 of 1 pods run", holds="False"),
        [pod(state={"waiting": {"reason": "ImagePullBackOff"}})],
        "Starting: 0 of 1 pods run",
    ),
    "no-operator": (cluster("") | {"status": {}}, [], clusters.NO_OPERATOR),
}


@pytest.mark.parametrize(("what", "pods", "message"), AWAITED.values(), ids=AWAITED)
def test_while_a_command_is_awaited_the_reason_is_reported(
    monkeypatch: pytest.MonkeyPatch, what: Object, pods: list[Object], message: str
) -> None:
    monkeypatch.setattr(clusters, "UNATTENDED", 0.0)
    read: list[str] = []

    def log(name: str) -> str:
        read.append(name)
        return ""

    far = FarCluster(cluster=what, pods=pods, log=log)

    async def work() -> int:
        async with far.session() as session:
            task = asyncio.ensure_future(attach.main_command(session, "mc", lambda _: None))
            while not far.notices:
                await asyncio.sleep(0)
            far.cluster = ENDED
            return await task

    assert run(work()) == 0
    assert (far.notices[0], read) == (f"mc: {message}", [])


def test_of_what_brokers_log_only_warnings_are_amid_a_commands_output() -> None:
    lines = ("broker.info[0]: online", "begun", "broker.err[0]: trouble", "broker.err[0]: rc2.0: sh (rc=3)")
    far = FarCluster(log=lambda _: "".join(f"{line}\n" for line in lines))
    written: list[bytes] = []

    def write(line: bytes) -> None:
        written.append(line)
        far.cluster = ENDED

    async def work() -> int:
        async with far.session() as session:
            return await attach.main_command(session, "mc", write)

    assert (run(work()), written) == (0, [b"begun\n", b"broker.err[0]: trouble\n"])


def _environment(far: FarCluster) -> dict[str, str]:
    async def work() -> dict[str, str]:
        async with far.session() as session:
            return await lead.environment(session, "mc")

    found: dict[str, str] = run(work())
    return found


def test_jobs_have_the_environment_of_the_lead() -> None:
    """Values may have lines, and equals signs."""
    seen: list[Any] = []

    async def command(command: Command) -> None:
        seen.append(command.words[3:])
        await command.send_frame(1, b"A=1\0B=x=y\nz")
        await command.send_frame(2, b"a warning")
        await command.send_frame(1, b"\0")
        await command.end()

    assert _environment(FarCluster(exec=command)) == {"A": "1", "B": "x=y\nz"}
    assert seen == [["/etc/minicluster/start.sh", "shell", "--", "env", "-0"]]


def test_an_environment_that_cannot_be_read() -> None:
    async def command(command: Command) -> None:
        await command.send_frame(2, b"sh: env: not found\n")
        await command.end(127)

    with pytest.raises(FailedError) as refusal:
        _environment(FarCluster(exec=command))
    assert str(refusal.value) == "cluster mc: its lead's environment cannot be read: sh: env: not found"
