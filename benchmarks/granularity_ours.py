"""Our placement beside the paper's, in the same model: on its arrivals, and on generated sets of them."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from granularity_fit import Figures, figures
from papers import Row, Table

from queue_policies.simulator.loop import simulate
from queue_policies.simulator.selection import placement_named, policy_named
from queue_policies.simulator.workloads import scanflow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PAPER = scanflow.VARIANTS["CM_G_TG"]
OURS = scanflow.VARIANTS["PLACEMENT"]
OBJECTIVES = {
    "arrival order": "backfill",
    "objective response": "backfill:objective=response",
    "objective makespan": "backfill:objective=makespan",
}
LIMITS = {
    "arrival order": (-0.5, -1.5),
    "objective response": (2.5, -2.5),
    "objective makespan": (-3.0, 1.5),
}
"""By how many percent makespan and sum of responses may differ from the paper's on average, at most."""
PUBLISHED_MAKESPAN, PUBLISHED_RESPONSE = 2258.0, 13656.0
WRONG = 5
"""Every so many jobs one has a wrong profile, where profiles are tried wrong."""
COLUMNS = ("makespan", "response")
SPREADING = "balanced:cores=emptiest,knee=3"
"""Jobs bound by their CPU over all domains, too."""


def ours(constants: scanflow.Constants, sets: int, first: int = 0) -> tuple[list[Table], dict[str, bool]]:
    """Return the tables and the gates of our placement: on the paper's arrivals, and on so many sets."""
    tables, facts = [on_arrivals(constants)], {}
    table = tables[0]
    facts["must: one setting is below the paper's makespan and sum, as published and as simulated"] = any(
        row.ours["makespan"] < min(PUBLISHED_MAKESPAN, table.rows[0].ours["makespan"])
        and row.ours["response"] < min(PUBLISHED_RESPONSE, table.rows[0].ours["response"])
        for row in table.rows[1:]
    )
    for wrong in (0, WRONG):
        rows = _rows(constants, [scanflow.generated(seed) for seed in range(first, first + sets)], wrong)
        tables.append(_means(rows, sets, wrong))
        if not wrong:
            facts |= _gates(rows, sets)
        facts |= _reports(rows, wrong)
    return tables, facts


def on_arrivals(constants: scanflow.Constants) -> Table:
    """Return the paper's arrivals under its placement, and under ours with its two ways for cores."""
    rows = _rows(constants, [scanflow.EXPERIMENT_2], 0)
    for name, word in OBJECTIVES.items():
        rows[f"{SPREADING}, {name}"] = [_run(constants, OURS, word, scanflow.EXPERIMENT_2, 0, SPREADING)]
    lines = [
        Row(name, {column: each[0].metrics()[column] for column in COLUMNS}) for name, each in rows.items()
    ]
    return Table("the paper's arrivals: CM_G_TG, and ours", COLUMNS, lines)


def _rows(
    constants: scanflow.Constants, sets: Sequence[Sequence[tuple[str, float]]], wrong: int
) -> dict[str, list[Figures]]:
    found = {"CM_G_TG": [_run(constants, PAPER, "backfill", each, wrong) for each in sets]}
    for name, word in OBJECTIVES.items():
        found[f"ours, {name}"] = [_run(constants, OURS, word, each, wrong) for each in sets]
    return found


def _run(
    constants: scanflow.Constants,
    variant: scanflow.Variant,
    policy: str,
    arrivals: Sequence[tuple[str, float]],
    wrong: int,
    placement: str = "",
) -> Figures:
    workload = scanflow.workload(arrivals, variant, constants, wrong=wrong)
    if placement:
        workload = replace(workload, placement=placement_named(placement))
    return figures(simulate(workload, policy_named(policy)))


def _means(rows: Mapping[str, Sequence[Figures]], sets: int, wrong: int) -> Table:
    kinds = tuple(scanflow.PROFILES)
    lines = [
        Row(
            name,
            {column: fmean(row.metrics()[column] for row in each) for column in (*COLUMNS, *kinds)}
            | {f"{column} %": _percent(rows, name, column) for column in COLUMNS},
        )
        for name, each in rows.items()
    ]
    profiles = f", every {wrong}th profile wrong" if wrong else ""
    title = f"means of {sets} generated sets{profiles}"
    return Table(title, ("makespan", "makespan %", "response", "response %", *kinds), lines)


def _percent(rows: Mapping[str, Sequence[Figures]], name: str, column: str) -> float:
    """Return by how many percent the mean differs from the paper's."""
    own, paper = (fmean(row.metrics()[column] for row in rows[each]) for each in (name, "CM_G_TG"))
    return (own / paper - 1) * 100


def _gates(rows: Mapping[str, Sequence[Figures]], sets: int) -> dict[str, bool]:
    found = {}
    for name, (makespan, response) in LIMITS.items():
        had = [_percent(rows, f"ours, {name}", column) for column in COLUMNS]
        text = f"must: ours, {name}, {sets} sets: makespan {had[0]:+.2f} % (at most {makespan:+.1f})"
        text += f", responses {had[1]:+.2f} % (at most {response:+.1f})"
        found[text] = had[0] <= makespan and had[1] <= response
    return found


def _reports(rows: Mapping[str, Sequence[Figures]], wrong: int) -> dict[str, bool]:
    """Return without gates how often both are better, and the worst set."""
    found, paper = {}, rows["CM_G_TG"]
    for name in OBJECTIVES:
        pairs = list(zip(rows[f"ours, {name}"], paper, strict=True))
        both = sum(own.makespan < its.makespan and own.response < its.response for own, its in pairs)
        span = max(own.makespan / its.makespan - 1 for own, its in pairs) * 100
        response = max(own.response / its.response - 1 for own, its in pairs) * 100
        text = f"without a gate{', profiles wrong' if wrong else ''}: ours, {name}: both better in {both} of"
        found[
            f"{text} {len(pairs)} sets; worst makespan {span:+.1f} %, worst responses {response:+.1f} %"
        ] = True
    return found
