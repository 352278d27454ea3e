"""What each idea of our policies contributes, with estimates exact, learned, and off by 20 and 50 %.

python benchmarks/ablation.py [--sets N] [--gaps S,S,...] [--json]

On the job sets of paper A: `water-filling` against `priority-elastic` at each gap between submissions, and
without one of its ideas at a time. On those of paper B: `common-pool` against `malleable`. Ends with 1 where
one that is to win by contract does not: total and response with exact estimates, turnaround and wait.
"""

from __future__ import annotations

import argparse

import arguments
from papers import Row, Table, finish
from reproduce_malleable import means
from reproduce_priority_elastic import ours

from queue_policies.simulator.selection import policy_named
from queue_policies.simulator.workloads import apgas

METRICS = ("total", "response", "completion", "utilization")
KNOWN = {"told": (0.0, False), "20 % off": (0.2, False), "50 % off": (0.5, False), "learned": (0.0, True)}
WITHOUT = {
    "water-filling": "water-filling",
    "without admission first": "water-filling:donors=behind",
    "without marginal gain": "water-filling:objective=order",
    "without the test of pay-off": "water-filling:payoff=0",
    "with the paper's gap": "water-filling:gap=180",
}
FRACTIONS = (0.2, 0.6, 1.0)


def paper_a(sets: int, gaps: list[float]) -> tuple[list[Table], dict[str, bool]]:
    """The paper's policy is the reference: a deviation below 0 is a win, but for utilization."""
    tables, facts = [], {}
    for gap in gaps:
        paper = ours("priority-elastic", gap, sets)
        rows = [
            Row(f"{name}, {known}", ours(word, gap, sets, *how), paper)
            for name, word in WITHOUT.items()
            for known, how in KNOWN.items()
            if name == "water-filling" or known == "told"
        ]
        tables.append(Table(f"water-filling / priority-elastic, gap {gap:g} s, {sets} sets", METRICS, rows))
        for row in rows[: len(KNOWN)]:
            must = "must: " if row.name.endswith("told") else ""
            won = all(row.ours[metric] < paper[metric] for metric in ("total", "response"))
            facts[f"{must}gap {gap:g} s: {row.name}: beats the paper's policy on total and response"] = won
        facts |= {f"gap {gap:g} s: and on completion": rows[0].ours["completion"] < paper["completion"]}
    return tables, facts


def paper_b() -> tuple[list[Table], dict[str, bool]]:
    """The same for common-pool against malleable."""
    metrics = ("makespan", "turnaround", "wait", "shrinks", "grows")
    rows, facts = [], {}
    for fraction in FRACTIONS:
        sets = [apgas.workload(seed, fraction) for seed in apgas.SEEDS]
        paper = means(sets, policy_named("malleable"))
        for word in ("common-pool", "common-pool:payoff=0", "common-pool:least=true"):
            mine = means(sets, policy_named(word))
            rows.append(
                Row(f"{word}, {fraction:.0%}", {m: mine[m] for m in metrics}, {m: paper[m] for m in metrics})
            )
        won = all(rows[-3].ours[metric] < paper[metric] for metric in ("turnaround", "wait"))
        facts[f"must: {fraction:.0%} malleable: common-pool beats malleable on turnaround and wait"] = won
    return [Table("common-pool / malleable, means of 10 sets", metrics, rows)], facts


def main() -> None:
    """Print the tables and who wins."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--sets", type=arguments.count, default=100)
    parser.add_argument("--gaps", type=arguments.gaps, default="0,30,60,90,120,150,180")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    tables, facts = paper_a(args.sets, args.gaps)
    more, facts_b = paper_b()
    finish("ablation", tables + more, facts | facts_b, args.json)


if __name__ == "__main__":
    main()
