"""Published figures beside ours: rows, deviations, gates."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Row:
    """One line of a table: what we got beside a reference, and by how much each may be off (a share)."""

    name: str
    ours: Mapping[str, float]
    reference: Mapping[str, float] = field(default_factory=dict)
    gates: Mapping[str, float] = field(default_factory=dict)

    def deviation(self, metric: str) -> float | None:
        """Ours over the reference, less one."""
        reference = self.reference.get(metric)
        return None if not reference else self.ours[metric] / reference - 1

    def outside(self) -> list[str]:
        """The metrics that are further off than their gates."""
        return [
            metric
            for metric, gate in self.gates.items()
            if (deviation := self.deviation(metric)) is not None and abs(deviation) > gate
        ]


@dataclass(frozen=True)
class Table:
    """Rows with the same metrics under one title."""

    title: str
    metrics: tuple[str, ...]
    rows: Sequence[Row]

    def shown(self) -> str:
        """Each metric as ours, the reference, and the deviation; `!` where a gate is missed."""
        widest = max(len(row.name) for row in self.rows)
        head = " " * widest + "".join(f"{metric:>30}" for metric in self.metrics)
        lines = [self.title, head]
        for row in self.rows:
            cells = "".join(self._cell(row, metric) for metric in self.metrics)
            lines.append(f"{row.name:<{widest}}{cells}")
        return "\n".join(lines)

    def _cell(self, row: Row, metric: str) -> str:
        ours, deviation = row.ours.get(metric, math.nan), row.deviation(metric)
        text = _number(ours)
        if deviation is not None:
            mark = "!" if metric in row.outside() else " "
            text += f" /{_number(row.reference[metric])} {deviation:+6.1%}{mark}"
        return f"{text:>30}"

    def as_json(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "title": self.title,
            "rows": [
                {
                    "name": row.name,
                    "ours": {name: round(value, 4) for name, value in row.ours.items()},
                    "reference": dict(row.reference),
                    "outside_gate": row.outside(),
                }
                for row in self.rows
            ],
        }


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 2 else f"{value:.1f}"


def legend(tables: Sequence[Table]) -> str:
    """What the cells are, and which columns with references have no gate; empty without references."""
    rows = [row for table in tables for row in table.rows]
    compared = dict.fromkeys(
        name for row in rows for name in row.reference if row.deviation(name) is not None
    )
    if not compared:
        return ""
    free = [name for name in compared if not any(name in row.gates for row in rows)]
    text = "ours / reference, deviation; ! outside its gate"
    return f"{text}; without a gate: {', '.join(free)}" if free else text


def finish(
    name: str, tables: Sequence[Table], facts: Mapping[str, bool], as_json: bool, notes: Sequence[str] = ()
) -> None:
    """Print all, and end with 1 where a gate is missed or an identity does not hold."""
    missed = [
        f"{table.title}: {row.name}: {metric}"
        for table in tables
        for row in table.rows
        for metric in row.outside()
    ]
    broken = [fact for fact, holds in facts.items() if fact.startswith(("identity", "must")) and not holds]
    if as_json:
        document = {
            "benchmark": name,
            "tables": [table.as_json() for table in tables],
            "facts": facts,
            "missed": missed,
            "notes": list(notes),
        }
        print(json.dumps(document))
    else:
        for table in tables:
            print(table.shown() + "\n")
        for fact, holds in facts.items():
            print(f"{'yes' if holds else 'NO ':3}  {fact}")
        for line in (*notes, legend(tables), f"outside: {'; '.join(missed)}" if missed else ""):
            if line:
                print(line)
    sys.exit(1 if missed or broken else 0)
