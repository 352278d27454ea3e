"""What people read of bursts, and ask for: with a ledger, and without a service."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from typing import TYPE_CHECKING

import pytest

from burst.asked import JobOrigin, LeadIdentity, request
from burst.ledger.ledger import BurstLedger
from burst.ledger.schema import SCHEMA
from burst.planning.records import PlannedBurst
from minicluster.database import migrate, open_database

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.calls import Answer

    Burst = Callable[..., Answer]

SETTINGS = """\
providers:
- name: far
  kind: memory
  settings:
    offers: [{machine: c8, cores: 8, pricePerHour: "1.50", maxNodes: 4}]
"""
PLANNED = PlannedBurst(
    *("burst-0", "far", "c8", False, 2, 1_500_000, (7, 8), 120.0, 3600.0, 4500.0, 3_750_000, 3_000_000),
    {"1000": 3_750_000},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    (path / "burst.yaml").write_text(SETTINGS)
    return path


@pytest.fixture
def burst(
    call: Callable[..., Answer], folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Burst:
    """Call `minicluster burst` where no cluster is up."""
    monkeypatch.setenv("MINICLUSTER_RUNTIME_DIR", str(tmp_path / "m"))
    monkeypatch.delenv("MINICLUSTER_ON", raising=False)
    return lambda *words: call("burst", *words, "--state", str(folder))


@pytest.fixture
def asked(folder: Path) -> str:
    """Ask for a burst of a MiniCluster that is gone; its label."""

    async def work() -> str:
        url = f"sqlite:///{folder / 'burst.db'}"
        await migrate(url, SCHEMA)
        database = await open_database(url, SCHEMA)
        try:
            ledger = BurstLedger(database, "test", time.time)
            lead = LeadIdentity("mc-1", "1.0", "default/mc", "mc")
            origins = {job: JobOrigin("1000", "default") for job in PLANNED.jobs}
            return await request(ledger, lead, PLANNED, "far-1", origins)
        finally:
            await database.close()

    return asyncio.run(work())[-10:]


def test_nothing_is_there_at_first(burst: Burst) -> None:
    assert burst("list").out == "no bursts\n"
    assert burst("list", "--output", "json").out == "[]\n"
    assert burst("sweep", "--dry-run").out == "nothing is left over\n"
    assert burst("sweep", "--installation", "01kb4q2m8d6s3f9v7x5c1n0t2r").out == "nothing is left over\n"


def test_a_burst_is_listed_with_what_it_may_cost(burst: Burst, asked: str) -> None:
    titles, row = burst("list").out.splitlines()
    assert " ".join(titles.split()) == "BURST CLUSTER SLOT PROVIDER NODES STATE OUTCOME JOBS AGE COST REASON"
    shown = re.sub(r" \d+s ", " 0s ", " ".join(row.split()))
    assert shown == f"{asked} mc burst-0 far 2 requested 2 0s <= 3.75"
    [found] = json.loads(burst("list", "--all", "--output", "json").out)
    assert (found["burst"], found["state"], found["outcome"], found["cost"]) == (
        *(asked, "requested", None, "3.75"),
    )
    assert [job["id"] for job in found["jobs"]] == [7, 8]


def test_all_that_was_done_is_shown(burst: Burst, asked: str) -> None:
    lines = burst("show", asked).out.splitlines()
    assert any(line.split() == ["location:", "far-1"] for line in lines)
    assert any(line.split() == ["ƒ8", "1000"] for line in lines)
    assert "no resources" in lines
    assert lines[-1].endswith("  requested: 2 nodes of c8 at far")
    found = json.loads(burst("show", asked, "-o", "json").out)
    assert [each["text"] for each in found["journal"]] == ["requested: 2 nodes of c8 at far"]
    assert found["resources"] == []


def test_its_end_is_asked_for_and_who_ends_it_is_missing(burst: Burst, asked: str) -> None:
    no_service = "no service runs that would end it: start one with `minicluster burst serve`"
    assert burst("stop", asked).out == f"burst {asked} is to end; {no_service}\n"


@pytest.mark.parametrize("words", [("show",), ("stop",)])
def test_one_that_is_not_there(burst: Burst, asked: str, words: tuple[str, ...]) -> None:
    for label in ("nope", asked[1:], "%"):
        answer = burst(*words, label)
        assert (answer.code, answer.out) == (1, "")
        assert answer.err == (
            f"minicluster: there is no burst '{label}'; `minicluster burst list --all` has all"
        )


def test_a_plan_needs_a_minicluster(burst: Burst) -> None:
    words = "minicluster: no cluster is up with `spec.bursting` in its document"
    assert (burst("plan").code, burst("plan").err) == (2, words)
    named = "cluster mc: is not up with `spec.bursting` in its document (those that are: none)"
    assert burst("plan", "mc").err == f"minicluster: {named}"


def test_a_plan_that_is_another_one_now_is_not_applied(burst: Burst) -> None:
    answer = burst("apply", "0123456789abcdef")
    words = "is not what would be done now; `minicluster burst plan` has the present plan"
    assert (answer.code, answer.err) == (2, f"minicluster: 0123456789abcdef: {words}")


def test_providers_and_what_they_offer(burst: Burst) -> None:
    titles, row = burst("providers").out.splitlines()
    assert " ".join(titles.split()) == "PROVIDER LOCATION MACHINE CORES GPUS PRICE AN HOUR MOST SPOT"
    assert " ".join(row.split()) == "far far-1 c8 8 0 1.50 4 no"
    assert burst("check", "far").out == "far: all is well\n"
    answer = burst("check", "near")
    assert (answer.code, answer.err) == (
        2,
        "minicluster: provider near: the settings have none of this name; they have far",
    )


def test_all_that_is_wrong_with_the_settings_is_reported(burst: Burst, folder: Path) -> None:
    wrong = folder / "burst.yaml"
    wrong.write_text("providers:\n- name: far\n  kind: memry\nbudgets:\n- {scope: all, amount: lots}\n")
    answer = burst("list")
    assert answer.code == 1
    assert f"{wrong}:5:" in answer.err
    assert "budgets[0].amount" in answer.err
    wrong.write_text("providers:\n- name: far\n  kind: memry\n")
    assert 'no kind of provider is called "memry"; did you mean "memory"?' in burst("list").err


def test_settings_that_are_named_must_be_there(burst: Burst, tmp_path: Path) -> None:
    absent = tmp_path / "absent.yaml"
    answer = burst("list", "--settings", str(absent))
    assert answer.code == 1
    assert f"{absent}" in answer.err
    assert "No such file or directory" in answer.err


def test_a_folder_that_others_may_enter_is_refused(burst: Burst, folder: Path) -> None:
    folder.chmod(0o755)
    assert burst("list").err == (
        f"minicluster: state directory {folder}: mode 0755 lets others read what bursts cost: chmod 700"
    )


def test_a_service_that_runs_sweeps_by_itself(burst: Burst, folder: Path, asked: str) -> None:
    async def serve() -> None:
        url = f"sqlite:///{folder / 'burst.db'}"
        database = await open_database(url, SCHEMA)
        await BurstLedger(database, "host:1", time.time).acquire()
        await database.close()

    asyncio.run(serve())
    answer = burst("sweep")
    words = "host:1 advances bursts, and sweeps every two minutes by itself; --dry-run reports what is there"
    assert (answer.code, answer.err) == (2, f"minicluster: {words}")
    assert burst("stop", asked).out == f"burst {asked} is to end\n"
    assert os.access(folder / "burst.db", os.R_OK)


def test_what_is_past_its_end_is_swept_of_an_installation_that_is_named(burst: Burst) -> None:
    answer = burst("sweep", "--expired")
    assert answer.code == 2
    assert "--expired: has a meaning only with --installation" in answer.err
    of_another = ("--installation", "01kb4q2m8d6s3f9v7x5c1n0t2r", "--expired")
    assert burst("sweep", *of_another).out == "nothing is left over\n"
