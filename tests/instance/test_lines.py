"""Lines of JSON over any channel: what is made of what comes, and of a channel that ends."""

from __future__ import annotations

import json
import sys
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.errors import InstanceGone
from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.links.process_channel import ProcessChannel
from minicluster.instance.links.shared import SharedLinks
from minicluster.instance.records import JobRequest
from minicluster.instance.rpc_instance import RpcInstance

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping


class Far:
    """A channel whose other end is the test: it answers each request by an empty payload."""

    def __init__(self, *lines: bytes) -> None:
        self.requests: list[dict[str, Any]] = []
        self.closed = False
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        for line in lines:
            self._lines.put(line)

    def write(self, data: bytes) -> None:
        request = json.loads(data)
        self.requests.append(request)
        self._lines.put(json.dumps({"id": request["id"], "payload": {"id": 7}}).encode())

    def lines(self) -> Generator[bytes]:
        while (line := self._lines.get()) is not None:
            yield line

    def how_ended(self) -> str:
        return "it is over"

    def close(self) -> None:
        self.closed = True
        self._lines.put(None)


GREETING = b'{"engine": "flux"}\n'


def test_the_greeting_names_the_engine() -> None:
    links = SharedLinks(LinesEndpoint("far", Far(b'{"engine": "embedded"}')))
    assert links.engine == "embedded"
    links.close()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"Last login: today", "what answers there is no broker's helper: 'Last login: today'"),
        (b"[1]", "what answers there is no broker's helper: '[1]'"),
        (b'{"gone": "no broker"}', "no broker"),
        (None, "it is over"),
    ],
    ids=["words", "no-object", "gone", "nothing"],
)
def test_who_does_not_greet_is_hung_up_on(line: bytes | None, why: str) -> None:
    far = Far() if line is None else Far(line)
    if line is None:
        far.close()
    with pytest.raises(InstanceGone) as refusal:
        LinesEndpoint("far", far)
    assert (str(refusal.value), far.closed) == (f"far: {why}", True)


def test_words_between_the_lines_end_it() -> None:
    """They could be the rest of an answer: nothing behind them is believed."""
    links = SharedLinks(LinesEndpoint("far", Far(GREETING, b"Segmentation fault")))
    with pytest.raises(InstanceGone) as refusal:
        links.rpc("attr.get", {})
    assert str(refusal.value) == "far: what answers there is no broker's helper: 'Segmentation fault'"
    links.close()


@pytest.mark.parametrize(
    ("wish", "sent"),
    [
        ({}, {"duration": 0.0}),
        (
            {"environment": {"A": "b"}, "cwd": "/data"},
            {"duration": 0.0, "environment": {"A": "b"}, "cwd": "/data"},
        ),
    ],
    ids=["nothing", "what-was-wished"],
)
def test_a_far_job_gets_nothing_of_this_machine(wish: Mapping[str, Any], sent: object) -> None:
    far = Far(GREETING)
    with RpcInstance(LinesEndpoint("far", far, inherits_environment=False)) as instance:
        assert instance.jobs.submit(JobRequest(("true",), **wish)) == 7
    assert far.requests[0]["payload"]["jobspec"]["attributes"]["system"] == sent


def test_a_near_job_inherits_this_process_s_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GREETING", "hello")
    far = Far(GREETING)
    with RpcInstance(LinesEndpoint("near", far)) as instance:
        instance.jobs.submit(JobRequest(("true",)))
    system = far.requests[0]["payload"]["jobspec"]["attributes"]["system"]
    assert (system["environment"]["GREETING"], set(system)) == ("hello", {"duration", "environment", "cwd"})


TALKER = """
import os, sys
os.write(1, b'{"engine": "flux"}\\n')
os.read(0, 1)
os.write(1, b'{"id": 0, "payload": "' + b"x" * 1_000_000 + b'"}\\n')
sys.stdin.readline()
os.write(1, b'{"id": 1, "payload": {}}\\n')
sys.stdin.read()
"""


def test_both_ends_may_talk_at_once() -> None:
    """The other end says more than a pipe holds before it listens to us, who say as much."""
    links = SharedLinks(LinesEndpoint("near", ProcessChannel([sys.executable, "-c", TALKER], "the talker")))
    found: list[object] = []
    asker = threading.Thread(
        target=lambda: found.append(links.rpc("big", {"text": "y" * 1_000_000})), daemon=True
    )
    asker.start()
    asker.join(20)
    assert found == [{}]
    links.close()
