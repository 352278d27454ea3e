"""A document with slots on this machine: its size is that of its own brokers, whatever may join."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from local_machine import Machine, document

if TYPE_CHECKING:
    from pathlib import Path

R = {
    "version": 1,
    "execution": {
        "R_lite": [{"rank": "0-4", "children": {"core": "0"}}],
        "nodelist": ["mc-[0-2],burst-0-[0-1]"],
        "properties": {"local": "0-2", "burst": "3-4", "burst-0": "3-4"},
    },
}
QUEUES = "\n".join(
    f'[queues.{name}]\nrequires = ["{needed}"]'
    for name, needed in {"default": "local", "burst": "burst", "burst-0": "burst-0"}.items()
)


@pytest.fixture
def up(machine: Machine, tmp_path: Path) -> Machine:
    """A cluster of one broker that may have three, and a slot of two hosts that never come."""
    (tmp_path / "R").write_text(json.dumps(R))
    config = f'[resource]\npath = "{tmp_path}/R"\nnoverify = true\n{QUEUES}\n'
    flux = {"bursting": {"clusters": [{"name": "burst-0", "size": 2}]}, "brokerConfig": config}
    spec = {"size": 1, "maxSize": 3, "interactive": True, "flux": flux}
    done = machine.up(document(tmp_path, spec=spec, resources={"limits": {"cpu": "1"}}))
    assert done.returncode == 0, done.stderr
    return machine


def test_its_size_is_that_of_its_own_brokers(up: Machine) -> None:
    submit = ("flux", "submit", "--queue=burst-0", "--requires=burst-0", "-N2", "sleep", "600")
    up.good("shell", "mc", "--", *submit)
    (seen,) = up.rows("status", "mc")
    assert (seen["size"], seen["max_size"], seen["brokers_online"], seen["cores"]) == (1, 3, 1, 1)
    assert (seen["nodes_demanded"], seen["jobs_pending"]) == (1, 0)
    assert (seen["burst_nodes_up"], seen["burst_jobs_pending"], seen["burst_jobs_running"]) == (0, 1, 0)
    assert [each["host"] for each in seen["brokers"]][3:] == ["burst-0-0", "burst-0-1"]
    assert len(seen["waiting"]) == 1

    up.good("scale", "mc", "3")
    (seen,) = up.rows("top", "mc", "--once")
    assert (seen["size"], seen["nodes_up"], seen["nodes_free"], seen["burst_nodes_up"]) == (3, 3, 3, 0)
    up.good("scale", "mc", "1")
    assert up.rows("list")[0]["size"] == 1


def test_its_slots_are_no_room_to_grow(up: Machine) -> None:
    done = up.call("scale", "mc", "4")
    assert done.returncode != 0
    assert "cluster mc knows 3 hosts; set spec.maxSize in its document" in done.stderr
