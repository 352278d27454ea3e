"""What 0.1.0 offered to authors of plug-ins and programs is there; see `surface.py` for what may be added."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.release_0_1_0 import surface
from tests.release_0_1_0.adapters import DATA

if TYPE_CHECKING:
    from collections.abc import Callable

OLD: dict[str, Any] = json.loads((DATA / "surface.json").read_text())
NEVER_WORKED = {
    "command run: option --install-completion is gone",
    "command run: option --show-completion is gone",
}
"""What `run` alone had, and what printed an error at each press of Tab; now there is `completion`."""


@pytest.fixture(scope="module")
def new() -> dict[str, Any]:
    return surface.surface(OLD)


@pytest.mark.parametrize("part", OLD)
def test_all_of_it_is_there(part: str, new: dict[str, Any]) -> None:
    others = {each: {} for each in OLD if each != part}
    missing = surface.missing({part: OLD[part], **others}, new)
    assert [each for each in missing if each not in NEVER_WORKED] == []


def _draft(found: dict[str, Any]) -> dict[str, Any]:
    return dict(found["modules"]["queue_policies.draft"]["Draft"])


def _appended(found: dict[str, Any]) -> None:
    records = found["modules"]["queue_policies.records"]
    records["RunningJob"]["fields"].append(["nodes", "()"])
    records["RunningJob"]["parameters"].append("nodes=()")
    _draft(found)["parameters"].append("* quick=False")
    _draft(found)["members"]["undo"] = {"kind": "method", "parameters": []}
    found["policies"]["easy"]["depth"] = {"default": "1", "choices": []}
    found["commands"]["jobs"]["queue"] = {"words": ["--queue"], "required": False}


RECORDS = "module queue_policies.records"
START = [["job", None], ["size", "None"], ["after", "()"]]
CHANGE = [["what", None], ["job", "None"]]
CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], list[str]]] = {
    "appended": (_appended, []),
    "a module": (
        lambda found: found["modules"].pop("queue_policies.gain"),
        ["module queue_policies.gain is gone"],
    ),
    "a name": (
        lambda found: found["modules"]["queue_policies.walk"].pop("place"),
        ["module queue_policies.walk: place is gone"],
    ),
    "a field in between": (
        lambda found: found["modules"]["queue_policies.records"]["Start"]["fields"].insert(1, ["at", "0.0"]),
        [f"{RECORDS}: Start: fields were {START}, are {[START[0], ['at', '0.0'], *START[1:]]}"],
    ),
    "a field without a default": (
        lambda found: found["modules"]["queue_policies.records"]["State"]["fields"].append(["site", None]),
        ["module queue_policies.records: State: field site is new and has no default"],
    ),
    "a field of what is unpacked": (
        lambda found: found["modules"]["queue_policies.records"]["Change"]["fields"].append(["at", "0.0"]),
        [f"module queue_policies.records: Change: fields were {CHANGE}, are {[*CHANGE, ['at', '0.0']]}"],
    ),
    "a parameter": (
        lambda found: _draft(found)["members"]["start"]["parameters"].pop(),
        ["module queue_policies.draft: Draft: start: parameters were ['job', 'size'], are ['job']"],
    ),
    "a parameter that must be given": (
        lambda found: _draft(found)["members"]["start"]["parameters"].append("when"),
        ["module queue_policies.draft: Draft: start: parameter when is new and has no default"],
    ),
    "one more thing for authors to write": (
        lambda found: found["modules"]["queue_policies.policy"]["Policy"]["members"].update(
            explain={"kind": "method", "parameters": []}
        ),
        ["module queue_policies.policy: Policy: member explain is new, and authors have none"],
    ),
    "a property that is a method": (
        lambda found: _draft(found)["members"].update(idle={"kind": "method", "parameters": []}),
        ["module queue_policies.draft: Draft: member idle was a property, is a method"],
    ),
    "a kind of news": (
        lambda found: found["modules"]["queue_policies.records"]["Happened"]["members"].remove("WOKEN"),
        ["module queue_policies.records: Happened: member WOKEN is gone"],
    ),
    "a setting": (
        lambda found: found["policies"]["easy"].pop("extra"),
        ["policy easy: setting extra is gone"],
    ),
    "an entry point": (
        lambda found: found["entry points"]["minicluster.door_routes"].clear(),
        ["group minicluster.door_routes: queue is gone"],
    ),
    "an option": (
        lambda found: found["commands"]["up"].pop("restore"),
        ["command up: option --restore is gone"],
    ),
    "an argument that must be given": (
        lambda found: found["commands"]["list"].update(where={"words": ["where"], "required": True}),
        ["command list: where is required now"],
    ),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_what_breaks_an_author_is_named(
    change: Callable[[dict[str, Any]], object], message: list[str]
) -> None:
    changed = copy.deepcopy(OLD)
    change(changed)
    assert surface.missing(OLD, changed) == message
