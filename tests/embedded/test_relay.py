"""The relay: a broker's topics as lines of JSON, for whoever is not on the broker's machine."""

from __future__ import annotations

import contextlib
import errno
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.jobid import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Instance

JSON = dict[str, Any]
SYSTEM = {"duration": 0}
ENDED = {"errnum": errno.ENODATA, "errstr": "No data available"}


class Relay:
    """A relay process and its lines."""

    def __init__(self, uri: str, env: dict[str, str], directory: Path) -> None:
        command = ["flux", "minicluster-relay", uri]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=directory, text=True
        )

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def ask(self, *requests: JSON) -> None:
        self.write("".join(json.dumps(each) + "\n" for each in requests))

    def read(self) -> JSON:
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline()))

    def end(self) -> int:
        """Close its input, and return its exit code."""
        with self.process as process:
            assert process.stdin is not None
            process.stdin.close()
            return process.wait(20)


@pytest.fixture
def relay(cluster: Instance) -> Iterator[Callable[..., Relay]]:
    """Start relays of the four brokers' lead."""
    started: list[Relay] = []

    def start(uri: str = cluster.uri, **more: str) -> Relay:
        started.append(Relay(uri, {**cluster.env, **more}, cluster.directory))
        return started[-1]

    yield start
    for each in started:
        if each.process.returncode is None:
            each.end()


@pytest.fixture
def greeted(relay: Callable[..., Relay]) -> Relay:
    made = relay()
    made.read()
    return made


def jobspec(*command: str, **system: object) -> JSON:
    return {
        "resources": [{"type": "slot", "count": 1, "with": [{"type": "core", "count": 1}], "label": "task"}],
        "tasks": [{"command": list(command), "slot": "task", "count": {"per_slot": 1}}],
        "attributes": {"system": {**SYSTEM, **system}},
        "version": 1,
    }


def submission(spec: JSON) -> JSON:
    payload = {"jobspec": spec, "urgency": 16, "flags": 0}
    return {"id": 1, "topic": "helper.submit", "payload": payload}


def test_the_first_line_names_the_engine(relay: Callable[..., Relay]) -> None:
    assert relay().read() == {"engine": "embedded"}


def test_the_uri_may_come_from_the_environment(relay: Callable[..., Relay], cluster: Instance) -> None:
    """As with every command of Flux."""
    process = subprocess.run(
        ["flux", "minicluster-relay"],
        input="",
        capture_output=True,
        text=True,
        env={**cluster.env, "FLUX_URI": cluster.uri},
        check=False,
    )
    assert (process.returncode, json.loads(process.stdout)) == (0, {"engine": "embedded"})


def test_an_answer_has_its_requests_number(greeted: Relay) -> None:
    greeted.ask({"id": 7, "topic": "attr.get", "payload": {"name": "size"}})
    answer = greeted.read()
    assert (answer["id"], answer["payload"]["value"]) == (7, "4")


def test_a_refusal_has_flux_error_number(greeted: Relay) -> None:
    greeted.ask({"id": 3, "topic": "no.such", "payload": {}})
    refused = {"id": 3, "errnum": errno.ENOSYS, "errstr": "No service matching no.such is registered"}
    assert greeted.read() == refused


def test_a_line_may_come_in_parts(greeted: Relay) -> None:
    greeted.ask({"id": 1, "topic": "attr.get", "payload": {"name": "rank"}})
    greeted.read()
    greeted.write('{"id": 2, "topic": "attr.get", "payl')
    greeted.write('oad": {"name": "rank"}}\n{"id": 3, "topic": "attr.get", "payload": {"name": "size"}}\n')
    assert [greeted.read()["payload"]["value"] for _ in range(2)] == ["0", "4"]


def test_a_stream_sends_as_much_as_there_is_room_for(greeted: Relay, cluster: Instance) -> None:
    """What is behind that comes with the next credit, and nothing is lost."""
    for _ in range(3):
        cluster.flux("run", "true")
    journal = {"id": 5, "topic": "job-manager.events-journal", "payload": {"full": True}, "stream": True}
    greeted.ask({**journal, "credit": 2}, {"id": 6, "topic": "attr.get", "payload": {"name": "size"}})
    first = [greeted.read() for _ in range(3)]
    assert sorted(each["id"] for each in first) == [5, 5, 6]
    greeted.ask({"id": 5, "credit": 1000})
    items = [each["payload"] for each in first if each["id"] == 5]
    while items[-1]["id"] != -1:
        items.append(greeted.read()["payload"])
    events = [event["name"] for item in items[:-1] for event in item["events"]]
    assert events.count("submit") == events.count("clean") >= 3


def test_a_stream_that_ends_reports_it(greeted: Relay) -> None:
    listing = {"max_entries": 0, "attrs": ["all"], "since": 0.0, "constraint": {"and": []}}
    greeted.ask({"id": 2, "topic": "job-list.list", "payload": listing, "stream": True, "credit": 10})
    while "payload" in (answer := greeted.read()):
        pass
    assert answer == {"id": 2, **ENDED}


def test_a_stream_that_is_cancelled_ends_at_once(greeted: Relay) -> None:
    greeted.ask(
        {"id": 9, "topic": "job-manager.events-journal", "payload": {}, "stream": True, "credit": 0},
        {"id": 9, "cancel": True},
        {"id": 10, "topic": "attr.get", "payload": {"name": "size"}},
    )
    answers = {each["id"]: each for each in (greeted.read(), greeted.read())}
    assert (answers[9], answers[10]["payload"]["value"]) == ({"id": 9, **ENDED}, "4")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "the relay's\n{directory}\n"),
        ({"environment": {"PATH": "/usr/bin:/bin", "GREETING": "mine"}, "cwd": "/"}, "mine\n/\n"),
    ],
    ids=["left-out", "given"],
)
def test_a_job_has_the_relays_environment_unless_it_has_another(
    relay: Callable[..., Relay], cluster: Instance, given: JSON, message: str
) -> None:
    """Whoever is far away does not know them."""
    here = relay(GREETING="the relay's")
    here.read()
    here.ask(submission(jobspec("sh", "-c", "echo $GREETING; pwd", **given)))
    jobid = here.read()["payload"]["id"]
    assert cluster.flux("job", "attach", str(jobid)).stdout == message.format(directory=cluster.directory)
    assert parse(str(jobid)) == jobid


def test_a_dump_is_the_brokers(greeted: Relay, cluster: Instance) -> None:
    greeted.ask({"id": 1, "topic": "helper.dump", "payload": {"path": f"{cluster.directory}/saved"}})
    assert "payload" in greeted.read()
    assert (cluster.directory / "saved").exists()


def test_what_is_no_request_ends_it(greeted: Relay) -> None:
    greeted.write("what?\n")
    assert greeted.read() == {"gone": "a line is no JSON object with an id"}
    assert greeted.end() == 1


def test_a_line_with_a_user_is_refused(greeted: Relay) -> None:
    """It would be answered as to the owner."""
    greeted.ask({"id": 1, "topic": "job-list.job-stats", "payload": {}, "user": 7001})
    greeted.ask({"id": 2, "topic": "job-list.list", "payload": {}, "stream": True, "user": 7001})
    words = "this instance runs all jobs as one user, its owner: nothing is asked of it for anybody else"
    refused = [{"id": each, "errnum": errno.EPERM, "errstr": words} for each in (1, 2)]
    assert sorted((greeted.read(), greeted.read()), key=lambda each: int(each["id"])) == refused


def test_many_streams_are_open_at_a_time(greeted: Relay) -> None:
    """More than a lead allows the clients of its API."""
    journal = {"topic": "job-manager.events-journal", "payload": {}, "stream": True, "credit": 0}
    greeted.ask(*({**journal, "id": number} for number in range(1, 41)))
    greeted.ask(*({"id": number, "cancel": True} for number in range(1, 41)))
    assert {greeted.read()["errnum"] for _ in range(40)} == {errno.ENODATA}


def test_it_ends_with_its_input(greeted: Relay) -> None:
    assert greeted.end() == 0


def test_it_ends_when_nobody_reads(greeted: Relay) -> None:
    """Nothing is left in a pod whose visitor was cut off."""
    with contextlib.suppress(BrokenPipeError), greeted.process as process:
        assert process.stdout is not None
        process.stdout.close()
        greeted.ask({"id": 1, "topic": "attr.get", "payload": {"name": "size"}})
        assert process.wait(20) == 1


def test_the_brokers_end_is_reported(make_instance: Callable[..., Instance]) -> None:
    instance = make_instance(1).up()
    relay = Relay(instance.uri, instance.env, instance.directory)
    relay.read()
    instance.end(0)
    assert relay.read() == {"gone": "the broker ended the connection"}
    assert relay.end() == 1


def test_a_missing_broker_is_reported(relay: Callable[..., Relay], tmp_path: Path) -> None:
    absent = relay(f"local://{tmp_path}/absent")
    reason = f"Unable to connect to Flux: broker socket {tmp_path}/absent was not found"
    assert (absent.read(), absent.end()) == ({"gone": reason}, 1)


def test_help_does_not_offer_it(cluster: Instance) -> None:
    """Real Flux has no such command."""
    assert "minicluster-relay" not in cluster.flux("--help").stdout
