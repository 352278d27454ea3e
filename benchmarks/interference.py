"""Interference that is real: four programs alone, in pairs and in triples, beside the model of contention.

python benchmarks/interference.py [--rounds N] [--seconds S] [--plot FILE.png] [--json]

The programs: `product` of two matrices that stay in a core's own cache; `chase`, which follows pointers over
three quarters of the last-level cache; `stream`, the triad of STREAM over four times that cache; `sleeper`,
short bursts of the product with rests between them. On a core without any of them a fifth one computes in
registers, so that both have the same clock. Each pair is on the same core and on different cores, five
rounds, in alternating order and on exchanged cores. What is measured is the work for a second of CPU, over
that of the program alone in the same round: that a core is shared costs nothing by itself, only what the
caches and the memory bus lose does. A pair shows contention where the median loss is twice the spread or
more.

The simulator's model of contention is fitted to the pairs. It predicts triples that the fit has not seen: two
programs have a core each, and a third one joins one of them. Each program's work is to be within 15 % of what
is measured, and the placement `balanced` is to choose the better core for the third one. Ends with 1 where it
is not so, or where no pair shows contention. `interference_model.py` has what a domain is here.

It compiles its programs with `cc`, takes seven minutes, and needs two cores and a quiet machine: what else
runs uses the same cache and bus. How much CPU others had is printed, and how large the last-level cache is
for this machine: that of a virtual machine may be in use by others, too.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

import arguments
from engines import picture
from interference_model import (
    DIFFERENT,
    KINDS,
    WAYS,
    Triple,
    advantage,
    all_pairs,
    chosen,
    domain_way,
    fit,
    level,
    losses,
    predicted,
    slowdown,
    slowdowns,
)
from interference_plot import plot
from interference_programs import STEPS, Machine, compiled, last_level, two_cores
from papers import Row, Table, finish

from queue_policies.placement.plugins import load

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from interference_model import Level, Pair
    from interference_programs import Window

    from queue_policies.simulator.domain_contention import DomainContention

UNFITTED = (
    Triple(("product", "stream"), "stream"),
    Triple(("chase", "product"), "stream"),
    Triple(("stream", "product"), "chase"),
    Triple(("product", "chase"), "chase"),
    Triple(("sleeper", "stream"), "chase"),
    Triple(("chase", "sleeper"), "stream"),
)
"""Chosen before any triple was measured. The newcomer is bound by memory: for others `balanced` does not go
by what is demanded. One resident is bound by memory, the other by its CPU: else no core is better."""
WITHIN = 0.15
PARTS = (1 / 64, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1, 2)
"""Of the last-level cache, over which the chase goes to see how much of it there is."""
ROLES = ("newcomer", "on its core", "on the other core")


@dataclass
class Measured:
    """All rounds. Work is that for a second of CPU, over the mean of the program alone in the round."""

    rates: dict[str, list[float]] = field(default_factory=dict)
    """Units of work of each program alone, for a second of CPU."""
    used: dict[str, list[float]] = field(default_factory=dict)
    """The fraction of a core's time that each uses alone."""
    alone: dict[str, list[float]] = field(default_factory=dict)
    pairs: dict[str, dict[Pair, list[float]]] = field(default_factory=lambda: {way: {} for way in WAYS})
    triples: dict[Triple, list[list[list[float]]]] = field(default_factory=dict)
    """By round, core that the newcomer joins, and role."""
    windows: list[Window] = field(default_factory=list)


def measure(machine: Machine, rounds: int) -> Measured:
    """Run everything in each round: forwards in one, in the next one backwards and on exchanged cores."""
    measured = Measured()
    for number in range(rounds):
        _round(machine, measured, backwards=number % 2 == 1)
    return measured


def _round(machine: Machine, measured: Measured, backwards: bool) -> None:
    def run(*programs: tuple[str, int]) -> list[float]:
        window = machine.run(programs, backwards)
        measured.windows.append(window)
        return [sample.rate for sample in window.samples]

    def alone(core: int) -> dict[str, float]:
        found = {}
        for kind in KINDS:
            [found[kind]] = run((kind, core))
            measured.used.setdefault(kind, []).append(measured.windows[-1].samples[0].used)
        return found

    step = -1 if backwards else 1
    first = alone(0)
    pairs = {
        (way, one, other): run((one, 0), (other, int(way == DIFFERENT)))
        for one, other in all_pairs()[::step]
        for way in WAYS[::step]
    }
    triples = {
        (triple, core): run(*triple.programs(core)) for triple in UNFITTED[::step] for core in (0, 1)[::step]
    }
    last = alone(1)
    base = {kind: fmean((first[kind], last[kind])) for kind in KINDS}
    for kind in KINDS:
        measured.rates.setdefault(kind, []).append(base[kind])
        measured.alone.setdefault(kind, []).extend(each[kind] / base[kind] for each in (first, last))
    for (way, one, other), (rate, beside) in pairs.items():
        work = {(one, other): rate / base[one], (other, one): beside / base[other]}
        if one == other:
            work = {(one, one): fmean((rate, beside)) / base[one]}
        for pair, value in work.items():
            measured.pairs[way].setdefault(pair, []).append(value)
    for triple in UNFITTED:
        of_cores = [
            [
                rate / base[kind]
                for rate, (kind, _) in zip(triples[triple, core], triple.programs(core), strict=True)
            ]
            for core in (0, 1)
        ]
        measured.triples.setdefault(triple, []).append(of_cores)


def of_alone(measured: Measured) -> Table:
    """Return what each program does alone."""
    rows = [
        Row(
            kind,
            {
                "units a CPU second": median(measured.rates[kind]),
                "spread": level(measured.alone[kind]).spread,
                "CPU used": median(measured.used[kind]),
            },
        )
        for kind in KINDS
    ]
    return Table("alone", ("units a CPU second", "spread", "CPU used"), rows)


def of_pairs(way: str, found: Mapping[Pair, Level], model: DomainContention | None) -> Table:
    """Return the table of one way to meet: the fit, if there is one, beside the work of each program."""
    rows = []
    for (kind, other), loss in sorted(found.items(), key=lambda each: [KINDS.index(one) for one in each[0]]):
        work = 1 - loss.median
        name = f"{kind} beside {other}{' *' if loss.beyond_noise() else ''}"
        if model is None:
            rows.append(Row(name, {"work": work, "spread": loss.spread}))
        else:
            ours = {"work": 1 / slowdown(model, kind, other), "spread": loss.spread}
            rows.append(Row(name, ours, {"work": work}))
    return Table(f"pairs, {way} (* shows contention); fitted / measured", ("work", "spread"), rows)


def of_triples(measured: Measured, models: Mapping[str, DomainContention]) -> Table:
    """Return what is predicted for triples beside what was measured."""
    used = {kind: median(each) for kind, each in measured.used.items()}
    rows = []
    for triple, rounds in measured.triples.items():
        for core in (0, 1):
            ours = dict(zip(ROLES, predicted(models, triple, core, used), strict=True))
            had = {role: median(each[core][index] for each in rounds) for index, role in enumerate(ROLES)}
            rows.append(Row(f"{triple}: core {core}", ours, had, dict.fromkeys(ROLES, WITHIN)))
    return Table("triples; predicted / measured", ROLES, rows)


def of_choices(measured: Measured, way: str, model: DomainContention) -> tuple[dict[str, bool], list[str]]:
    """Return whether `balanced` chose the better core of each triple, and of which none is better."""
    placement = load("balanced")
    facts, even = {}, []
    for triple, rounds in measured.triples.items():
        margin, core = advantage(rounds), chosen(placement, triple, way, model)
        better = f"core 0 is better by {margin.median:+.3f}, spread {margin.spread:.3f}"
        text = f"{better}; balanced chooses core {core}"
        if margin.beyond_noise():
            facts[f"must: the better core: {triple}: {text}"] = (margin.median > 0) == (core == 0)
        else:
            even.append(f"no core is better: {triple}: {text}")
    facts["must: one core is better than the other for a triple"] = len(even) < len(measured.triples)
    return facts, even


def of_machine(machine: Machine, windows: Sequence[Window]) -> list[str]:
    """Return what is to be known of the machine: its cache, and how quiet it was."""
    others = sorted(window.others for window in windows)
    stolen = sorted(window.stolen for window in windows)
    return [
        f"the last-level cache of CPUs {machine.cpus[0]} and {machine.cpus[1]} has {machine.cache >> 10} KiB",
        f"CPUs that others had in a window: median {median(others):.3f}, most {others[-1]:.3f}",
        f"CPUs that the hypervisor took in a window: median {median(stolen):.3f}, most {stolen[-1]:.3f}",
    ]


def of_cache(machine: Machine) -> Table:
    """Return how long a step of the chase takes over parts of the last-level cache.

    Where a large part of it takes as long as twice of it, others use the cache as well.
    """
    rows = []
    for part in PARTS:
        size = int(machine.cache * part)
        [sample] = machine.run([("chase", 0)], size=size).samples
        rows.append(Row(f"{size >> 10} KiB, {part:.3g} of it", {"ns": 1e9 / sample.rate / STEPS}))
    return Table("a step of the chase over parts of the last-level cache", ("ns",), rows)


def shown(found: Mapping[str, Mapping[Pair, Level]]) -> dict[str, bool]:
    """Return for each program whether it loses anything, in each way."""
    return {
        f"{kind} shows contention, {way}": any(
            loss.beyond_noise() and loss.median > 0 for (one, _), loss in found[way].items() if one == kind
        )
        for way in WAYS
        for kind in KINDS
    }


def constants(way: str, model: DomainContention) -> str:
    """Return a line with the constants of a fit."""
    kinds = ", ".join(f"{kind} {each.memory:.2f} {each.demand:.2f}" for kind, each in model.kinds.items())
    return f"fit, {way}: knee {model.knee:.2f}, slope {model.slope:.2f}; memory and demand of {kinds}"


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--rounds", type=arguments.count, default=5, help="at least 2 (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=arguments.seconds, default=1.5, help="of a window (default: %(default)s)"
    )
    parser.add_argument("--plot", type=picture, metavar="FILE", help="draw the pairs as well")
    arguments.add_json(parser)
    found = parser.parse_args()
    if found.rounds < 2:
        parser.error("--rounds: a spread needs at least 2")
    if not 0.05 <= found.seconds <= 60:
        parser.error("--seconds: needed is a window from 0.05 to 60 seconds")
    return found


def report(machine: Machine, measured: Measured, as_json: bool, picture_file: Path | None = None) -> None:
    """Fit, predict, choose, print, and end with 1 where a gate is missed."""
    found = {way: losses(measured.pairs[way], measured.alone) for way in WAYS}
    way, facts = domain_way(found), shown(found)
    facts["must: a pair shows contention"] = bool(way)
    notes = of_machine(machine, measured.windows)
    tables = [of_cache(machine), of_alone(measured)]
    if way:
        models = {each: fit(slowdowns(of_way)) for each, of_way in found.items()}
        tables += [of_pairs(each, found[each], models[each]) for each in WAYS]
        tables.append(of_triples(measured, models))
        choices, even = of_choices(measured, way, models[way])
        facts |= choices
        notes += [constants(each, models[each]) for each in WAYS]
        notes += [f"a domain, to balanced, goes by pairs on the {way}", *even]
    else:
        tables += [of_pairs(each, found[each], None) for each in WAYS]
    if picture_file:
        plot(found, picture_file)
    finish("interference", tables, facts, as_json, notes)


def main() -> None:
    """Measure, and report it."""
    asked = options()
    cpus = two_cores(sorted(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(prefix="interference-") as directory:
        machine = Machine(compiled(Path(directory)), cpus, last_level(cpus[0]).size, asked.seconds)
        report(machine, measure(machine, asked.rounds), asked.json, asked.plot)


if __name__ == "__main__":
    main()
