"""Links that threads share, to real Flux: a stand-in speaks the helper's lines, well and badly."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.errors import InstanceGone, RequestRefused, WaitTimeout
from minicluster.instance.links.flux import FluxEndpoint
from minicluster.instance.links.lines import CREDIT
from minicluster.instance.links.shared import SharedLinks
from tests.devcluster.waiting import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HELPER = """
import json, sys
def say(**answer): print(json.dumps(answer), flush=True)
say(engine="flux")
for line in sys.stdin:
    request = json.loads(line)
    number, topic = request["id"], request.get("topic")
    if topic == "echo":
        say(id=number, payload=request["payload"])
    elif topic == "refuse":
        say(id=number, errnum=22, errstr="not like this")
    elif topic == "count":
        left, credit = request["payload"]["items"], request["credit"]
        given = 0
        while given < left:
            if given == credit:
                more = json.loads(sys.stdin.readline())
                credit += more["credit"]
            say(id=number, payload={"item": given, "credit": credit})
            given += 1
        say(id=number, errnum=61, errstr="")
    elif topic == "endless":
        say(id=number, payload={})
    elif topic == "helper.submit" and "n" in request["payload"]["jobspec"]:
        say(id=number, payload={"id": request["payload"]["jobspec"]["n"]})
    elif topic == "helper.submit" and "queue" in request["payload"]["jobspec"]:
        say(id=number, errnum=22, errstr="no such queue")
    elif topic in ("die", "helper.submit"):
        sys.stderr.write("out of memory\\n")
        sys.exit(3)
    elif topic == "hang up":
        say(gone="the broker ended the connection")
        sys.exit(1)
"""


@pytest.fixture
def flux(tmp_path: Path) -> str:
    """Make a `flux` whose `python` is the stand-in."""
    (tmp_path / "helper.py").write_text(HELPER)
    command = tmp_path / "flux"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/helper.py"\n')
    command.chmod(0o755)
    return str(command)


@pytest.fixture
def links(flux: str) -> Iterator[SharedLinks]:
    found = SharedLinks(FluxEndpoint("local:///x", flux))
    yield found
    found.close()


def test_answers_find_their_askers(links: SharedLinks) -> None:
    """Calls from many threads over one helper."""
    found: dict[int, object] = {}

    def ask(number: int) -> None:
        found[number] = links.rpc("echo", {"n": number})["n"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: number for number in range(20)}
    links.close()


def test_a_refusal_names_topic_and_reason(links: SharedLinks) -> None:
    with contextlib.closing(links), pytest.raises(RequestRefused) as refusal:
        links.rpc("refuse", {})
    assert (str(refusal.value), refusal.value.errnum) == ("refuse: not like this", 22)


def outcomes(links: SharedLinks, *jobspecs: dict[str, object]) -> list[object]:
    """Return what became of jobs that are submitted together: an id, or an error's words."""
    found = links.submit_many([(each, 16, 0) for each in jobspecs])
    return [each if isinstance(each, int) else str(each) for each in found]


def test_each_of_many_submits_has_its_outcome(links: SharedLinks) -> None:
    refused = "helper.submit: no such queue"
    assert outcomes(links, {"n": 7}, {"queue": "x"}, {"n": 9}) == [7, refused, 9]
    assert outcomes(links, *({"n": number} for number in range(1000))) == list(range(1000))
    assert links.rpc("echo", {"n": 1}) == {"n": 1}


def test_of_submits_that_have_no_answer_nothing_is_known(links: SharedLinks) -> None:
    first, *others = outcomes(links, {"n": 7}, {"die": 1}, {"n": 9}, {"n": 10})
    assert first == 7
    assert all("local:///x: the helper under `flux python` ended" in str(each) for each in others)
    assert len(others) == 3


def test_no_answer_in_time(links: SharedLinks) -> None:
    with contextlib.closing(links), pytest.raises(WaitTimeout) as refusal:
        links.rpc("silence", {}, timeout=0.05)
    assert str(refusal.value) == "silence: no answer in 0.05 s"


def test_a_stream_gives_room_as_it_is_read(links: SharedLinks) -> None:
    """No more than CREDIT items are ever on their way."""
    with contextlib.closing(links), links.stream("count", {"items": 3 * CREDIT}) as stream:
        items = list(stream)
    assert [item["item"] for item in items] == list(range(3 * CREDIT))
    assert all(item["credit"] - item["item"] <= CREDIT for item in items)


def test_closing_a_stream_wakes_its_reader(links: SharedLinks) -> None:
    stream = links.stream("endless", {})
    next(stream)
    rest: list[object] = []
    reader = threading.Thread(target=lambda: rest.extend(stream))
    reader.start()
    stream.close()
    reader.join(SECONDS)
    assert (rest, reader.is_alive()) == ([], False)
    links.close()


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("die", "local:///x: the helper under `flux python` ended with 3: out of memory"),
        ("hang up", "local:///x: the broker ended the connection"),
    ],
)
def test_the_end_of_helper_or_broker_reaches_everyone(links: SharedLinks, topic: str, message: str) -> None:
    stream = links.stream("endless", {})
    next(stream)
    for act in (lambda: links.rpc(topic, {}), lambda: next(stream), lambda: links.rpc("echo", {})):
        with pytest.raises(InstanceGone) as refusal:
            act()
        assert str(refusal.value) == message
    links.close()


def test_a_helper_that_cannot_start(tmp_path: Path) -> None:
    with pytest.raises(InstanceGone) as refusal:
        FluxEndpoint("local:///x", str(tmp_path / "flux"))
    assert str(refusal.value) == f"cannot start {tmp_path}/flux python: No such file or directory"


def test_a_helper_that_ends_before_it_greets(tmp_path: Path) -> None:
    command = tmp_path / "flux"
    command.write_text("#!/bin/sh\necho no module named flux >&2\nexit 1\n")
    command.chmod(0o755)
    with pytest.raises(InstanceGone) as refusal:
        FluxEndpoint("local:///x", str(command))
    assert str(refusal.value) == (
        "local:///x: the helper under `flux python` ended with 1: no module named flux"
    )


def test_after_closing_nothing_is_asked(links: SharedLinks) -> None:
    links.close()
    with pytest.raises(InstanceGone):
        links.rpc("echo", {})
