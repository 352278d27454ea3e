"""What states and issues of a node group mean."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from burst.lifecycle.records import ResourceKey, ResourcePhase, ResourceReport
from burst.providers.eks.reports import ISSUES, GroupMachine, listed, report
from burst.providers.provider import WantedBurst

MADE = 1_800_000_000.0
WANTED = WantedBurst("62dgmfw4gk", "here", 2, "c7i.2xlarge", spot=False, until=MADE + 600)
NAME = "mcb-62dgmfw4gk-nodes"
KEY = ResourceKey("node-group", NAME, 2)
TAGS = {"minicluster-burst": "62dgmfw4gk", "minicluster-owner": "here"}
MACHINES = [GroupMachine(NAME, MADE + 20), GroupMachine(NAME, MADE + 10)]
STATES = {
    "CREATING": (ResourcePhase.COMING, "2 of 2 machines are launched"),
    "UPDATING": (ResourcePhase.COMING, "2 of 2 machines are launched"),
    "ACTIVE": (ResourcePhase.READY, ""),
    "DEGRADED": (ResourcePhase.BROKEN, "DEGRADED, and EKS gives no reason"),
    "CREATE_FAILED": (ResourcePhase.BROKEN, "CREATE_FAILED, and EKS gives no reason"),
    "DELETING": (ResourcePhase.GOING, ""),
    "DELETE_FAILED": (ResourcePhase.BROKEN, "DELETE_FAILED, and EKS gives no reason"),
    "OF-A-LATER-VERSION": (ResourcePhase.COMING, "2 of 2 machines are launched"),
}


def group(status: str = "ACTIVE", issues: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "nodegroupName": NAME,
        "status": status,
        "createdAt": datetime.fromtimestamp(MADE, UTC),
        "tags": TAGS,
        "scalingConfig": {"minSize": 2, "maxSize": 2, "desiredSize": 2},
        "health": {"issues": issues or []},
        **more,
    }


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_a_phase(state: str) -> None:
    phase, reason = STATES[state]
    found = report(WANTED, group(state), MACHINES)
    assert found == ResourceReport(KEY, phase, reason, "62dgmfw4gk", "here", MADE + 10, 2)


@pytest.mark.parametrize("code", ISSUES)
def test_an_issue_has_words_amazons_and_its_code(code: str) -> None:
    issue = {"code": code, "message": "no", "resourceIds": ["sg-1", "sg-2"]}
    found = report(WANTED, group("DEGRADED", [issue]), MACHINES)
    assert found.reason == f"DEGRADED: {ISSUES[code]}: no ({code}) [sg-1, sg-2]"


def test_an_issue_that_nobody_knows_has_amazons_words() -> None:
    issues = [{"code": "New", "message": "no"}, {"code": "Newer", "message": "never"}]
    assert report(WANTED, group("DEGRADED", issues), []).reason == "DEGRADED: no (New); never (Newer)"


def test_a_group_without_machines_is_as_old_as_amazon_reports() -> None:
    found = report(WANTED, group("CREATING"), [])
    assert (found.since, found.nodes, found.reason) == (MADE, 0, "0 of 2 machines are launched")


def test_a_group_of_somebody_else_is_absent() -> None:
    for tags in ({}, {**TAGS, "minicluster-owner": "elsewhere"}):
        found = report(WANTED, group(tags=tags), MACHINES)
        assert found == ResourceReport(KEY, ResourcePhase.ABSENT)


def test_a_listing_has_groups_of_the_installation_and_machines_without_one() -> None:
    other = group(nodegroupName="mcb-other-nodes", tags={**TAGS, "minicluster-owner": "elsewhere"})
    left = [GroupMachine("mcb-left-nodes", MADE), GroupMachine("mcb-other-nodes", MADE)]
    system = GroupMachine("system", MADE)
    found = listed("here", [group(), other], [*MACHINES, *left, system])
    assert [(each.key.name, each.burst, each.phase, each.nodes) for each in found] == [
        (NAME, "62dgmfw4gk", ResourcePhase.READY, 2),
        ("mcb-left-nodes", "left", ResourcePhase.GOING, 1),
    ]
