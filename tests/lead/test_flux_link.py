"""The link to real Flux's lead, where no Flux is needed."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME = "minicluster.broker_link.flux_link"


class Stream:
    """A streaming request: `answered` hands out `text`; without one the stream ends."""

    def __init__(self) -> None:
        self.answered: Callable[[], None]
        self.text = ""

    def then(self, callback: Callable[..., None], *arguments: object) -> None:
        self.answered = lambda: callback(self, *arguments)

    def get_str(self) -> str:
        if self.text:
            return self.text
        raise OSError(61, "No data available")

    def reset(self) -> None:
        """Wait for the next answer."""


class Handle:
    """A handle that counts what is sent."""

    def __init__(self, _uri: str) -> None:
        self.sent: list[str] = []
        self.stream = Stream()

    def rpc(self, topic: str, *_: object, **__: object) -> Stream:
        self.sent.append(topic)
        return self.stream

    def reactor_stop(self) -> None:
        """Nothing runs."""


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A link over a flux module that is none."""
    flux: Any = ModuleType("flux")
    flux.constants = ModuleType("flux.constants")
    flux.constants.FLUX_RPC_STREAMING = 1
    flux.job, flux.kvs = ModuleType("flux.job"), ModuleType("flux.kvs")
    flux.Flux = Handle
    monkeypatch.setitem(sys.modules, "flux", flux)
    monkeypatch.setitem(sys.modules, "flux.constants", flux.constants)
    monkeypatch.setitem(sys.modules, "flux.job", flux.job)
    monkeypatch.setitem(sys.modules, "flux.kvs", flux.kvs)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    made = importlib.import_module(NAME).FluxLink("local:///nowhere")
    yield made
    made.close()
    sys.modules.pop(NAME, None)


def test_a_stream_that_has_ended_can_be_cancelled(link: Any) -> None:
    """Whoever cancels it may not have heard yet: nothing is sent."""
    number = link.stream("job-manager.events-journal", {}, lambda *_: None)
    link._handle.stream.answered()
    link.cancel(number)
    assert link._handle.sent == ["job-manager.events-journal"]


def test_rejected_peers_are_those_of_the_log(link: Any) -> None:
    assert link.rejected_peers() == []
    line = "overlay.err[0]: rejecting connection from mc-3 (rank 3): version mismatch\n"
    for link._handle.stream.text in (line, "broker.info[0]: online: mc-0\n"):
        link._handle.stream.answered()
    assert link.rejected_peers() == ["mc-3: turned away: version mismatch"]
    assert link._handle.sent == ["log.dmesg"]
