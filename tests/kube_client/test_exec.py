"""Commands in pods: the WebSocket's channels, refusals, and how a connection ends."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from minicluster.kube_client.errors import (
    ApiError,
    ApiUnreachableError,
    KubernetesError,
    LostError,
    RefusalError,
)
from minicluster.remote import terminal as terminals
from minicluster.remote.session import explained
from tests.remote.far_cluster import CONTAINER, Command, FarCluster, run

LOST = "the connection to pod mc-0-abcde was lost"


def outcome(
    far: FarCluster, words: Sequence[str] = ("true",), *, terminal: bool = False
) -> tuple[list[tuple[int, bytes]], int | None]:
    """Run a command to its end; return what it wrote, and its exit code."""

    async def work() -> tuple[list[tuple[int, bytes]], int | None]:
        async with (
            far.session() as session,
            session.client.pods.execute(CONTAINER, words, terminal=terminal) as stream,
        ):
            return [each async for each in stream.output()], stream.exit_code

    found: tuple[list[tuple[int, bytes]], int | None] = run(work())
    return found


def failure(far: FarCluster) -> KubernetesError:
    with pytest.raises(KubernetesError) as caught:
        outcome(far)
    return caught.value


def test_words_arrive_as_they_are() -> None:
    words = ["sh", "-c", "a b&c=d+e%20;f#g?h", "", "\n", "ƒ", "/"]
    seen: list[list[str]] = []

    async def command(command: Command) -> None:
        seen.append(command.words)
        await command.end()

    outcome(FarCluster(exec=command), words)
    assert seen == [words]


@pytest.mark.parametrize(
    ("terminal", "streams"),
    [
        (False, {"stdin": "true", "stdout": "true", "stderr": "true", "tty": "false"}),
        (True, {"stdin": "true", "stdout": "true", "stderr": "false", "tty": "true"}),
    ],
    ids=["streams", "terminal"],
)
def test_the_container_and_the_streams_are_asked_for(terminal: bool, streams: dict[str, str]) -> None:
    """A terminal has one output: Kubernetes refuses a stderr beside it."""
    seen: list[dict[str, str]] = []

    async def command(command: Command) -> None:
        seen.append(dict(command.request.query))
        await command.end()

    outcome(FarCluster(exec=command), terminal=terminal)
    assert seen == [{"container": "flux", **streams, "command": "true"}]


def test_output_comes_with_its_channel() -> None:
    async def command(command: Command) -> None:
        await command.send_frame(1, b"out")
        await command.send_frame(1, b"")
        await command.send_frame(2, b"err")
        await command.end()

    assert outcome(FarCluster(exec=command))[0] == [(1, b"out"), (2, b"err")]


@pytest.mark.parametrize("code", [0, 1, 137])
def test_the_exit_code_is_the_commands(code: int) -> None:
    async def command(command: Command) -> None:
        await command.end(code)

    assert outcome(FarCluster(exec=command))[1] == code


def test_a_command_that_cannot_be_run() -> None:
    async def command(command: Command) -> None:
        status = {"status": "Failure", "reason": "InternalError", "message": 'container not found ("flux")'}
        await command.send_frame(3, json.dumps(status).encode())

    error = failure(FarCluster(exec=command))
    message = 'the command could not be run in the pod: container not found ("flux")'
    assert (type(error), str(error)) == (RefusalError, message)


def test_an_ending_without_an_exit_code() -> None:
    async def command(command: Command) -> None:
        status = {"status": "Failure", "reason": "NonZeroExitCode", "message": "it ended somehow"}
        await command.send_frame(3, json.dumps(status).encode())

    error = failure(FarCluster(exec=command))
    message = "the command could not be run in the pod: it ended somehow"
    assert (type(error), str(error)) == (RefusalError, message)


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "closed"])
def test_a_connection_that_ends_before_the_command(cut: bool) -> None:
    """It goes on there, and the exit code is none of a command's."""

    async def command(command: Command) -> None:
        await command.send_frame(1, b"some")
        if cut:
            command.cut()

    error = failure(FarCluster(exec=command))
    assert (type(error), error.exit_code, str(error).startswith(LOST)) == (LostError, 125, True)
    assert str(error).endswith("; what was begun there goes on")


def test_input_is_sent_in_parts_and_its_end_is_announced() -> None:
    """v5 of the protocol can close a channel: message 255."""
    seen: list[tuple[int, int]] = []

    async def command(command: Command) -> None:
        while (frame := await command.receive_frame())[0] != 255:
            seen.append((frame[0], len(frame[1])))
        seen.append((255, frame[1][0]))
        await command.end()

    async def work() -> None:
        far = FarCluster(exec=command)
        async with far.session() as session, session.client.pods.execute(CONTAINER, ["cat"]) as stream:
            await stream.send(b"x" * 100_000)
            await stream.close_input()
            assert [each async for each in stream.output()] == []

    run(work())
    assert seen == [(0, 32768), (0, 32768), (0, 32768), (0, 1696), (255, 0)]


def test_the_size_of_a_terminal_is_sent() -> None:
    seen: list[tuple[int, object]] = []

    async def command(command: Command) -> None:
        channel, data = await command.receive_frame()
        seen.append((channel, json.loads(data)))
        await command.end()

    async def work() -> None:
        far = FarCluster(exec=command)
        async with (
            far.session() as session,
            session.client.pods.execute(CONTAINER, [], terminal=True) as stream,
        ):
            await stream.resize(80, 24)
            assert [each async for each in stream.output()] == []

    run(work())
    assert seen == [(4, {"Width": 80, "Height": 24})]


def test_a_message_may_be_large() -> None:
    async def command(command: Command) -> None:
        await command.send_frame(1, bytes(6 << 20))
        await command.end()

    assert len(outcome(FarCluster(exec=command))[0][0][1]) == 6 << 20


def test_whoever_may_not_learns_which_role_to_ask_for() -> None:
    """The library drops the body of a refused handshake: the server's words are asked for again."""
    message = 'pods "mc-0-abcde" is forbidden: User "joe" cannot create resource "pods/exec" in API group ""'
    error = failure(FarCluster(refusal=(403, message)))
    assert isinstance(error, ApiError)
    assert str(explained(error, "science")) == (
        f"{message}. Needed are the verbs get and create on pods/exec: ask whoever administers the cluster"
        " for the role edit in namespace science"
    )


def test_a_missing_right_to_create_is_named() -> None:
    """Where only that is missing, Kubernetes 1.36 says no more than this."""
    error = failure(FarCluster(refusal=(403, 'pods "mc-0-abcde" is forbidden: ')))
    message = str(explained(error, "science"))  # type: ignore[arg-type]
    assert message.startswith(
        'pods "mc-0-abcde" is forbidden: you cannot create resource "pods/exec". Needed are'
    )


def test_other_refusals_are_the_servers_words() -> None:
    error = failure(FarCluster(refusal=(400, "pod mc-0-abcde does not have a host assigned")))
    assert isinstance(error, ApiError)
    assert (error.status, error.message) == (400, "pod mc-0-abcde does not have a host assigned")


@dataclass
class Passing(FarCluster):
    """An API server that refuses the first request only, then runs what it is asked to, as a real one."""

    status: int = 500
    asked: list[list[str]] = field(default_factory=list)
    run: list[list[str]] = field(default_factory=list)

    async def _exec(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.query.getall("command"))
        if len(self.asked) == 1:
            return web.json_response({"message": "error dialing backend"}, status=self.status)
        if "Upgrade" not in request.headers:
            return web.json_response({"message": "Upgrade request required"}, status=400)
        self.run.append(self.asked[-1])
        return await super()._exec(request)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_refusal_is_reported_at_once(status: int) -> None:
    far = Passing(status=status)
    error = failure(far)
    assert isinstance(error, ApiError)
    message = f"no command can be run in pod mc-0-abcde now (answer {status}): try again"
    assert (error.status, error.message, far.asked) == (status, message, [["true"]])


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_whoever_asks_for_the_servers_words_runs_nothing(status: int) -> None:
    """By then the refusal may have passed."""
    far = Passing(status=status)
    with pytest.raises(ApiUnreachableError) as caught:
        outcome(far, ["rm", "-r", "data"])
    message = (
        f"{far.server} does not take a WebSocket (answer {status}): try again, or is there a proxy between?"
    )
    assert str(caught.value) == message
    assert (far.asked, far.run) == ([["rm", "-r", "data"], ["true"]], [])


def test_a_shell_ends_where_its_input_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would wait for somebody who types in vain."""

    async def broken() -> AsyncIterator[bytes]:
        yield b"some"
        raise ValueError("no such input")

    async def command(command: Command) -> None:
        while True:
            await command.receive_frame()

    async def work() -> int:
        async with FarCluster(exec=command).session() as session:
            return await terminals.shell(session, "mc", ["cat"])

    monkeypatch.setattr(terminals, "_input", broken)
    monkeypatch.setattr(terminals.os, "isatty", lambda _: False)
    with pytest.raises(ValueError, match="no such input"):
        run(work())
