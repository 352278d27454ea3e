"""The helper under Flux's Python, with bindings that play a broker in a few lines."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster import broker_link
from minicluster.instance.errors import InstanceGone
from minicluster.instance.links.flux import FluxEndpoint

if TYPE_CHECKING:
    from collections.abc import Callable

HELPER = Path(broker_link.__file__).with_name("flux_helper.py")
WATCH = {"id": 7, "topic": "job-info.eventlog-watch", "stream": True}
BINDINGS = """\
import sys

class Flux:
    def __init__(self, uri):
        raise OSError(2, f"no broker at {uri}, {'' in sys.path}")
"""


@pytest.fixture
def flux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A `flux` whose Python has these bindings alone, in a directory that shadows a module of everybody's."""
    package = tmp_path / "bindings" / "flux"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(BINDINGS)
    for name in ("constants", "job"):
        (package / f"{name}.py").touch()
    command = tmp_path / "flux"
    command.write_text(
        f'#!/bin/sh\nshift\nunset PYTHONSAFEPATH\nPYTHONPATH={package.parent} exec {sys.executable} "$@"\n'
    )
    command.chmod(0o755)
    (tmp_path / "json.py").write_text("raise AssertionError('whose is this?')\n")
    monkeypatch.chdir(tmp_path)
    return os.fspath(command)


def test_it_runs_from_where_we_are_installed(flux: str) -> None:
    """And imports nothing of the working directory."""
    with pytest.raises(InstanceGone, match="no broker at local:///there, False"):
        FluxEndpoint("local:///there", flux)


class Rpc:
    """A streaming request under way."""

    pimpl = SimpleNamespace(get_matchtag=lambda: 11)

    def __init__(self, topic: str, *_: Any) -> None:
        self.topic = topic
        self.payload: str | OSError = ""
        self.take: Callable[[Rpc], None] = lambda _: None

    def then(self, take: Callable[..., None], *more: Any) -> None:
        self.take = lambda rpc: take(rpc, *more)

    def get_str(self) -> str:
        if isinstance(self.payload, OSError):
            raise self.payload
        return self.payload

    def reset(self) -> None:
        """The next answer may come."""

    def comes(self, *answers: Any) -> None:
        for each in answers:
            self.payload = each if isinstance(each, OSError) else json.dumps(each)
            self.take(self)


class Broker:
    """Keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Rpc] = []

    def rpc(self, *request: Any) -> Rpc:
        self.asked.append(Rpc(*request))
        return self.asked[-1]


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, as it is with bindings, which holds two items at most."""
    constants = ModuleType("flux.constants")
    for name in ("FLUX_NODEID_ANY", "FLUX_RPC_STREAMING", "FLUX_RPC_NORESPONSE"):
        setattr(constants, name, 0)
    found = ModuleType("flux")
    for each in (found, constants, ModuleType("flux.job")):
        monkeypatch.setitem(sys.modules, each.__name__, each)
        setattr(found, each.__name__.rpartition(".")[2], each)
    module = ModuleType("helper")
    exec(HELPER.read_text(), module.__dict__)  # with these bindings alone: no other test has it
    monkeypatch.setattr(module, "MAX_BUFFERED", 2)
    return module


def test_a_watch_that_fills_up_begins_anew_behind_what_came(helper: Any) -> None:
    """Flux does not wait for its readers."""
    broker = Broker()
    lines: list[dict[str, Any]] = []
    stream = helper.FluxStream(broker, SimpleNamespace(line=lines.append), WATCH)
    broker.asked[0].comes(0, 1, 2, 3)
    assert [each.topic for each in broker.asked] == [WATCH["topic"], f"{WATCH['topic']}-cancel"]
    broker.asked[0].comes(OSError(errno.ENODATA, ""))
    stream.credit(2)
    assert broker.asked[-1].topic == WATCH["topic"]
    broker.asked[-1].comes(0, 1, 2, 3)
    stream.credit(9)
    broker.asked[-1].comes(OSError(errno.ENODATA, ""))
    assert [each.get("payload") for each in lines] == [0, 1, 2, 3, None]
    assert (lines[-1]["errnum"], stream.ended) == (errno.ENODATA, True)


def test_a_watch_behind_an_entry_sends_what_follows_with_its_number(helper: Any) -> None:
    """Also where it has to begin anew."""
    broker = Broker()
    lines: list[dict[str, Any]] = []
    request = {**WATCH, "payload": {"path": "guest.output", "after": 1}, "credit": 9}
    stream = helper.FluxStream(broker, SimpleNamespace(line=lines.append), request)
    broker.asked[0].comes({"event": "0"}, {"event": "1"}, {"event": "2"}, {"event": "3"})
    assert [each["payload"] for each in lines] == [{"event": "2", "entry": 2}, {"event": "3", "entry": 3}]
    stream.cancel()


def test_a_lookup_behind_an_entry_answers_what_follows(helper: Any) -> None:
    broker = Broker()
    lines: list[dict[str, Any]] = []
    bridge = helper.Bridge(broker, SimpleNamespace(line=lines.append))
    wanted = {"id": 5, "keys": ["guest.output"], "flags": 0, "after": 0}
    bridge._request({"id": 3, "topic": "job-info.lookup", "payload": wanted})
    broker.asked[0].comes({"id": 5, "guest.output": "header\none\ntwo\n"})
    assert lines == [{"id": 3, "payload": {"id": 5, "guest.output": "one\ntwo\n", "entry": 1}}]


def test_a_stream_that_is_cancelled_is_cancelled_at_the_broker(helper: Any) -> None:
    broker = Broker()
    lines: list[dict[str, Any]] = []
    stream = helper.FluxStream(broker, SimpleNamespace(line=lines.append), WATCH)
    stream.cancel()
    broker.asked[0].comes(OSError(errno.ENODATA, ""))
    assert [each.topic for each in broker.asked] == [WATCH["topic"], f"{WATCH['topic']}-cancel"]
    assert [each["errnum"] for each in lines] == [errno.ENODATA]


def test_attributes_of_jobs_are_answered_together(helper: Any) -> None:
    """Of those that there are."""
    broker = Broker()
    lines: list[dict[str, Any]] = []
    bridge = helper.Bridge(broker, SimpleNamespace(line=lines.append))
    bridge._request({"id": 3, "topic": "minicluster-jobs.attributes", "payload": {"ids": [5, 6]}})
    broker.asked[1].comes(OSError(errno.ENOENT, "unknown"))
    assert lines == []
    broker.asked[0].comes({"id": 5, "jobspec": json.dumps({"attributes": {"user": {"a": 1}}})})
    assert lines == [{"id": 3, "payload": {"jobs": [{"id": 5, "user": {"a": 1}}]}}]


def test_attributes_of_jobs_are_refused_with_the_brokers_error(helper: Any) -> None:
    broker = Broker()
    failed: list[tuple[int, OSError]] = []
    answers = SimpleNamespace(failure=lambda *answer: failed.append(answer))
    bridge = helper.Bridge(broker, answers)
    bridge._request({"id": 3, "topic": "minicluster-jobs.attributes", "payload": {"ids": [5]}})
    broker.asked[0].comes(OSError(errno.EIO, "gone"))
    assert [(number, error.errno) for number, error in failed] == [(3, errno.EIO)]
