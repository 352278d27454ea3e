"""docs/architecture.md has every room, in the order in which `make lint` lets them import each other."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from tests.project.sources import PACKAGES, ROOT

SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = {each["name"]: each for each in SETTINGS["tool"]["importlinter"]["contracts"]}
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROWS = [
    [room.strip("/").replace("/", ".") for room in re.findall(r"`([\w/]+/)`", cell)]
    for cell in re.findall(r"^\| (`[\w/]+/`[^|]*) \|", PAGE, re.MULTILINE)
]
SHOWN = [room for row in ROWS for room in row]


def _layers() -> list[set[str]]:
    """Return the rooms from the top down, those together that must not import each other."""
    return [set(layer.split(" | ")) for layer in CONTRACTS["Imports go downwards only"]["layers"]]


def _folders() -> set[str]:
    """Return every package at the top, and in place of `minicluster` those in it."""
    inside = {f"minicluster.{path.parent.name}" for path in (ROOT / "minicluster").glob("*/__init__.py")}
    return set(PACKAGES) - {"minicluster"} | inside


def test_every_room_has_a_row() -> None:
    assert set(SHOWN) == _folders()


def test_every_room_has_a_layer() -> None:
    assert set.union(*_layers()) == _folders()


def test_the_rows_are_in_the_order_of_the_layers() -> None:
    depth = {room: number for number, layer in enumerate(_layers()) for room in layer}
    assert sorted(SHOWN, key=depth.__getitem__) == SHOWN


SERVICES = {
    "minicluster.backends",
    "minicluster.broker_link",
    "minicluster.database",
    "minicluster.instance",
    "minicluster.kube_client",
    "minicluster.lead_client",
}
ALLOWED = [
    pytest.param(
        "Metrics and restful reach the port, the back ends, the clients and the routes of a lead",
        SERVICES,
        id="metrics, restful",
    ),
    pytest.param(
        "Bursting reaches the document and the plan as well",
        SERVICES
        | {
            "minicluster.burst_routing",
            "minicluster.document",
            "minicluster.plan",
            "minicluster.stand_in",
        },
        id="bursting",
    ),
    pytest.param(
        "The commands have no client of their own",
        {
            "minicluster.backends",
            "minicluster.client",
            "minicluster.document",
            "minicluster.instance",
            "broker_config",
            "queue_policies",
        },
        id="commands",
    ),
]


@pytest.mark.parametrize(("contract", "allowed"), ALLOWED)
def test_for_each_room_it_is_decided_whether_it_may_be_imported(contract: str, allowed: set[str]) -> None:
    """A new room is allowed here or forbidden there; the layers forbid those beside and above."""
    sources, forbidden = (set(CONTRACTS[contract][key]) for key in ("source_modules", "forbidden_modules"))
    assert sorted([*allowed, *forbidden]) == sorted(_folders() - _layers()[0] - sources)


MODULES = {"pyyaml": "yaml", "pyzmq": "zmq", "python-json-logger": "pythonjsonlogger"}


def test_what_lives_in_users_programs_imports_no_package_of_this_projects() -> None:
    names = [re.split("[><=~]", each)[0] for each in SETTINGS["project"]["dependencies"]]
    contract = CONTRACTS["What lives in users' programs imports the standard library alone"]
    assert {MODULES.get(each, each.replace("-", "_")) for each in names} <= set(contract["forbidden_modules"])
