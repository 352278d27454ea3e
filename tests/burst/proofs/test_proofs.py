"""The proofs of `make prove-burst` in their short forms, on the embedded instance."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.burst.proofs import budget, isolated, one_machine, plans, service_kills, wrong_partners
from tests.burst.proofs.burst_machine import burst_machine
from tests.burst.proofs.facts import Facts
from tests.database.urls import url

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.burst.proofs.burst_machine import BurstMachine


__all__ = ["url"]
MAKEFILE = (Path(__file__).parents[3] / "Makefile").read_text()
WORDS = " ".join(re.findall(r"^(?:BURST|CLOUD)_PROOFS := (.*)", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("name", WORDS.split())
def test_each_proof_of_the_makefile_is_a_program(name: str) -> None:
    assert callable(importlib.import_module(f"tests.burst.proofs.{name}").main)


def test_jobs_of_a_burst_run_once_there_and_ordinary_ones_here() -> None:
    facts = Facts("one machine")
    with burst_machine() as there:
        one_machine.prove(there, facts, quick=True, seconds=0.2)
    assert facts.broken == []


def test_services_that_are_killed_leave_nothing_and_lose_no_job() -> None:
    facts = Facts("service kills")
    with burst_machine() as there:
        service_kills.prove(there, facts, kills=3)
    assert facts.broken == []


def test_a_job_that_leaves_comes_back_whole() -> None:
    """Its output, its exit code and its results; it ran once, in an instance of its own."""
    facts = Facts("isolated")
    with burst_machine() as there:
        isolated.prove(there, facts, size=20_000, kills=False)
    assert facts.broken == []


def test_no_budget_is_exceeded_by_planners_that_plan_at_once(url: str) -> None:
    """Two users spend it; each has a limit of his own. What is charged is what was there, and fees."""
    facts = Facts("budget")
    budget.prove(facts, url=url, rounds=8, kills=2)
    assert facts.broken == []


def test_what_a_plan_shows_is_what_is_made() -> None:
    facts = Facts("plans")
    plans.modelled(facts, queues=10)
    with burst_machine() as there:
        plans.prove(there, facts, queues=8)
    assert facts.broken == []


@pytest.mark.parametrize("wrong", [wrong_partners.cores, wrong_partners.order], ids=["cores", "order"])
def test_brokers_that_are_not_as_their_slot_get_no_job(wrong: Callable[[BurstMachine], None]) -> None:
    facts = Facts("wrong partners")
    with burst_machine() as there:
        wrong_partners.prove(there, facts, wrong)
    assert facts.broken == []
