"""Pods of 0.1.0 under which an operator of today replaces the files of their ConfigMap."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.release_0_1_0.pods import OWN, Pods, new_files, old_files, until

if TYPE_CHECKING:
    from collections.abc import Callable


def _mixed(mode: str) -> dict[str, bytes]:
    """Return 0.1.0's start script and configuration with today's files beside them."""
    return {**new_files(mode), **{name: data for name, data in old_files(mode).items() if name in OWN}}


@pytest.mark.parametrize("mode", ["interactive", "command"])
def test_what_a_start_script_reads_is_there(mode: str) -> None:
    """By the names that 0.1.0's has; a file may come, none goes."""
    assert new_files(mode).keys() >= old_files(mode).keys()


def test_an_instance_is_saved_and_goes_on(pods: Callable[..., Pods]) -> None:
    """Every step of 0.1.0's start script with today's files beside it: visits, orders, a save, a restore."""
    here = pods(_mixed("interactive")).start(0, 1)
    assert here.status(online="0-1", running=True)["queue_policy"] == "minicluster/priority-elastic"
    pending = here.run("submit", "--urgency=0", "--job-name=held", "true")
    ran = here.run("submit", "--job-name=ran", "true")
    assert here.run("job", "wait-event", "-t", "20s", ran, "clean")
    asked = {"id": 1, "topic": "attr.get", "payload": {"name": "size"}}
    hello, answer = here.relay(asked)
    assert (hello["engine"], answer["id"], answer["payload"]["value"]) == ("embedded", 1, "2")
    leaving = {"ranks": "1", "reason": "minicluster: shrinking to 1"}
    assert here.lead.ask("POST", "/v1/drain", leaving)[0] == 200
    here.status(drained="1")
    assert here.lead.ask("POST", "/v1/undrain", {"ranks": "1"})[0] == 200
    here.status(drained="")

    here.update(new_files("interactive"))  # whoever comes now finds today's start script
    assert here.relay(asked)[1] == answer
    assert here.jobs() == {"held": "SCHED", "ran": "COMPLETED"}

    assert here.lead.ask("POST", "/v1/save", {"timeout": 5})[0] == 202
    assert here.wait(0) == 75
    saved = here.last_message()
    assert (saved["saved"], saved["jobs"]) == (str(here.archive), 1)
    here.start(0)
    here.status(online="0-1", running=True)
    assert here.jobs().keys() == {"held", "ran"}
    here.run("job", "urgency", pending, "16")
    assert here.run("job", "wait-event", "-t", "20s", pending, "clean")
    here.run("shutdown")
    assert (here.wait(0), here.wait(1)) == (0, 0)


@pytest.mark.parametrize("later", [False, True], ids=["from the beginning", "while it runs"])
def test_a_command_ends_with_its_code(pods: Callable[..., Pods], later: bool) -> None:
    """`start.sh main` is begun by a broker that 0.1.0's start script has started."""
    here = pods(old_files("command") if later else _mixed("command")).start(0)
    if later:
        here.update(new_files("command"))
    assert here.wait(0) == 3, here.log_text()
    assert "the command ran" in here.log_text()
    until(here.archive.exists, "an archive")
    assert here.last_message() == json.loads(here.termination(0).read_text())
