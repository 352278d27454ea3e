"""Scenarios are rehearsed: the same ones come out the same, money is right, and nothing is left."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from burst.planning import money
from burst.rehearsal import outcome, rehearsal, scenario_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.calls import Answer

EXAMPLE = Path(__file__).parents[3] / "examples" / "burst-rehearsal" / "scenario.yaml"
LAG = 30
SCENARIO: dict[str, Any] = {
    "cluster": {
        "nodes": 2,
        "cores": 8,
        "slots": [{"name": "burst-0", "size": 4}, {"name": "burst-1", "size": 4}],
        "bursting": {"idleSeconds": 60},
    },
    "settings": {
        "providers": [
            {
                "name": "cloud",
                "kind": "memory",
                "settings": {"offers": [{"machine": "c8", "cores": 8, "pricePerHour": "3.60"}]},
            }
        ]
    },
    "queue": {
        "jobs": [{"nodes": 3, "runSeconds": 300, "limitSeconds": 600, "burstable": True}],
    },
    "clouds": {"cloud": {"lagSeconds": LAG}},
}


def rehearsed(**given: Any) -> dict[str, Any]:
    """Run a scenario, and return what came of it."""
    return of_text(json.dumps({**SCENARIO, **given}))


def of_text(text: str) -> dict[str, Any]:
    async def work() -> dict[str, Any]:
        async with rehearsal.opened(scenario_file.parse(text, Path())) as opened:
            await opened.run()
            return await outcome.of(opened)

    return asyncio.run(work())


def check_money(found: dict[str, Any], *, lag: int = LAG) -> None:
    """The ledger's cost is the cloud's bill within a tick, or above it by the listings' lag (decision 0095).

    The cloud lists nothing.
    """
    [cloud] = found["clouds"]
    assert cloud["left"] == []
    bill, cost = (money.amount(cloud[name]) for name in ("bill", "cost"))
    tick, late = (
        money.cost(3_600_000, 4, seconds) * max(len(found["bursts"]), 1) for seconds in (5.0, 5.0 + lag)
    )
    assert bill - tick <= cost <= bill + late


def test_the_same_scenario_has_the_same_bursts_twice() -> None:
    text = EXAMPLE.read_text()
    first, second = of_text(text), of_text(text)
    assert first == second
    assert len(first["bursts"]) == 2
    other = of_text(f"{text}\nseed: 2\n")
    assert [each["burst"] for each in other["bursts"]] != [each["burst"] for each in first["bursts"]]


def test_what_is_drawn_is_the_same_for_a_seed() -> None:
    queue = {"generated": {"count": 12, "seed": 3, "meanGapSeconds": 200, "mostSeconds": 600}}
    first = rehearsed(queue=queue)
    assert first == rehearsed(queue=queue)
    assert first != rehearsed(queue={"generated": {**queue["generated"], "seed": 4}})
    check_money(first)


def test_a_job_that_never_fits_bursts_and_others_stay_here() -> None:
    jobs = [
        {"nodes": 3, "runSeconds": 300, "limitSeconds": 600, "burstable": True},
        {"tasks": 4, "runSeconds": 60},
    ]
    found = rehearsed(queue={"jobs": jobs})
    [burst] = found["bursts"]
    assert (burst["jobs"], burst["nodes"], burst["outcome"]) == ([1], 3, "succeeded")
    waits = {each["jobs"]: each for each in found["waits"]}
    assert (waits["others"]["ran"], waits["others"]["longest_wait"]) == (1, 0.0)
    assert (waits["burstable"]["ran"], waits["burstable"]["ran_without"]) == (1, 0)
    check_money(found)


def test_a_budget_leaves_jobs_out_with_the_reason() -> None:
    settings = {**SCENARIO["settings"], "budgets": [{"scope": "all", "amount": "1"}]}
    found = rehearsed(settings=settings)
    assert found["bursts"] == []
    [left_out] = found["left_out"]
    assert left_out["ran"] == "never"
    assert left_out["reason"] == "budget all: its burst may cost 6.30, and 1.00 is left"


@pytest.mark.parametrize("lag", [0, LAG])
@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("nodes.create", "broken"),
        ("nodes.create", "quota"),
        ("nodes.delete", "hangs"),
        ("nodes.list", "throttled"),
    ],
)
def test_whatever_a_cloud_does_nothing_is_left_and_the_money_is_right(
    call: str, fault: str, lag: int
) -> None:
    faults = [{"provider": "cloud", "call": call, "number": 1, "fault": fault}]
    found = rehearsed(faults=faults, clouds={"cloud": {"lagSeconds": lag}})
    assert found["unmet_faults"] == []
    assert [each["state"] for each in found["bursts"]] == ["deleted"] * len(found["bursts"])
    assert found["waits"][0]["ran"] == 1
    assert found["clouds"][0]["left"] == []
    check_money(found, lag=lag)


def test_a_fault_at_a_time_happens_to_the_next_call() -> None:
    faults = [{"provider": "cloud", "call": "nodes.create", "atSeconds": 100, "fault": "no-capacity"}]
    jobs = [
        {"submitSeconds": at, "nodes": 3, "runSeconds": 30, "limitSeconds": 60, "burstable": True}
        for at in (0, 900)
    ]
    found = rehearsed(faults=faults, queue={"jobs": jobs})
    outcomes = [each["outcome"] for each in found["bursts"]]
    assert outcomes[:2] == ["succeeded", "failed"]
    assert found["bursts"][1]["reason"].endswith("0 of 3 machines of type c8 came: there are no more")
    assert outcomes[-1] == "succeeded"


def test_a_fault_that_no_call_meets_is_reported() -> None:
    faults = [{"provider": "cloud", "call": "nodes.create", "number": 7, "fault": "broken"}]
    assert rehearsed(faults=faults)["unmet_faults"] == ["cloud: nodes.create 7"]


def test_a_queue_may_be_a_table(tmp_path: Path) -> None:
    (tmp_path / "queue.csv").write_text(
        "submitSeconds,nodes,runSeconds,limitSeconds,user,burstable\n0,1,60,,carol,\n5,3,60,120,dave,true\n"
    )
    found = scenario_file.parse(json.dumps({**SCENARIO, "queue": {"file": "queue.csv"}}), tmp_path)
    assert [(each.at, each.user, each.wish, each.limit) for each in found.submissions] == [
        (0, "carol", None, 0.0),
        (5, "dave", True, 120.0),
    ]


def test_the_command_prints_it(call: Callable[..., Answer], tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    faults = [{"provider": "cloud", "call": "nodes.create", "number": 7, "fault": "broken"}]
    path.write_text(json.dumps({**SCENARIO, "faults": faults}))
    page = tmp_path / "bursts.html"
    code, printed, errors = call("burst", "rehearse", str(path), "--report", str(page))
    assert code == 0
    [row] = [line.split() for line in printed.splitlines() if line.startswith("0:00:00")]
    assert [*row[2:7], row[8]] == ["burst-0", "cloud", "c8", "3", "1", "succeeded"]
    assert printed.splitlines()[-2].split()[-1] == "nothing"
    assert printed.splitlines()[-1] == f"wrote {page}"
    assert row[1] in page.read_text()
    assert "no call has met this fault: cloud: nodes.create 7" in errors
