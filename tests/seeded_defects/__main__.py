"""Seed defects into a tree, one at a time, and see which of its tests catch them.

examples:
  python -m tests.seeded_defects check
  python -m tests.seeded_defects reach ../release_0_1_0
  python -m tests.seeded_defects reach . tests/plan tests/document
  python -m tests.seeded_defects run plan a-range-of-one-id-twice --tree .
  python -m tests.seeded_defects run --tree ../release_0_1_0 --edition release --keep results.json
  python -m tests.seeded_defects run --tree . --cluster --output json
  python -m tests.seeded_defects results

`reach` comes before `run`: it measures which tests reach which lines. What runs in other processes (brokers,
supervisors, the operator, shell) it does not see; for that, defects name tests. A change of the code makes it
necessary again. Until `run` is over nobody else may work in the tree.

`results` shows what was found when both trees were tried last, which is kept in results.json.

The tree of release 0.1.0 is made by:
  git worktree add --detach ../release_0_1_0 5026d38
  make -C ../release_0_1_0 .venv/.ready
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from tests.seeded_defects import defects, reach, trials
from tests.seeded_defects.errors import SeedError
from tests.seeded_defects.trees import Tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.seeded_defects.defects import Defect, EditionName
    from tests.seeded_defects.trials import Outcome

CHECKOUT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")
ON_CLUSTER = 1200.0
"""Seconds for the tests of a defect that need a cluster."""


def check(_options: argparse.Namespace) -> int:
    """Print each defect whose text does not occur once in its file, and each test that is not there."""
    troubles = [
        f"{each.name} ({name}): {trouble}"
        for each in defects.read()
        for name in ("release", "today")
        for trouble in _troubles(each, name)
    ]
    print("\n".join(troubles) or f"all {len(defects.read())} defects can be seeded into both trees")
    return 1 if troubles else 0


def _troubles(defect: Defect, name: EditionName) -> list[str]:
    edition = defect.edition(name)
    try:
        edition.seeded(_content(name, edition.file))
        tests = (*edition.tests, *edition.cluster_tests)
        return [f"there is no test {each}" for each in tests if not _has_test(name, each)]
    except SeedError as error:
        return [str(error)]


def _has_test(name: EditionName, test: str) -> bool:
    """Whether a file of tests is there, with the function if one is named. Raises SeedError."""
    file, _, function = test.partition("::")
    return f"def {function}" in _content(name, file)


def _content(name: EditionName, file: str) -> str:
    """Return a file's text: of the release from the repository's history. Raises SeedError."""
    if name == "today":
        path = CHECKOUT / file
        if not path.is_file():
            raise SeedError(f"there is no {file}")
        return path.read_text(encoding="utf-8")
    command = ("git", "-C", str(CHECKOUT), "show", f"{defects.RELEASE}:{file}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SeedError(done.stderr.strip())
    return done.stdout


def measure(options: argparse.Namespace) -> int:
    """Measure which tests reach which lines of a tree."""
    tree = Tree(options.tree.resolve())
    tree.check()
    return reach.measure(tree, options.suites, options.workers)


def run(options: argparse.Namespace) -> int:
    """Try defects, and print what became of each; 1 where one is missed."""
    chosen = defects.chosen(defects.read(), options.names)
    tree = Tree(options.tree.resolve())
    tree.check()
    known = reach.load(tree)
    limits = trials.Limits(options.seconds, ON_CLUSTER if options.cluster else None)
    outcomes: dict[str, Outcome] = {}
    for each in chosen:
        outcome = trials.judge(tree, each.edition(options.edition), known, limits)
        outcomes[each.name] = outcome
        print(f"{each.name}: {outcome.verdict} in {outcome.seconds:g} s", file=sys.stderr, flush=True)
        if options.keep:
            _keep(options.keep, options.edition, outcomes)
    _show(chosen, outcomes, options)
    return 1 if any(each.verdict == "missed" for each in outcomes.values()) else 0


def _keep(file: Path, edition: EditionName, outcomes: Mapping[str, Outcome]) -> None:
    """Write outcomes into a file beside those that it has, also of the other edition."""
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    kept.setdefault(edition, {}).update({name: each.document() for name, each in outcomes.items()})
    file.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _show(chosen: Sequence[Defect], outcomes: Mapping[str, Outcome], options: argparse.Namespace) -> None:
    if options.output == "json":
        found = {name: each.document() for name, each in outcomes.items()}
        print(json.dumps({options.edition: found}, indent=2))
    stream = sys.stderr if options.output == "json" else sys.stdout
    _table([_row(each, outcomes[each.name]) for each in chosen], stream)
    counts = Counter(each.verdict for each in outcomes.values())
    print(", ".join(f"{counts[each]} {each}" for each in ("caught", "missed", "not run")), file=stream)


def results(_options: argparse.Namespace) -> int:
    """Print what became of each defect in both trees when they were tried last."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = [("ROOM", "DEFECT", "0.1.0", "TODAY", "CAUGHT TODAY BY, OR WHY NOT")]
    for each in defects.read():
        release, today = (kept[name].get(each.name, {}) for name in ("release", "today"))
        verdicts = (str(outcome.get("verdict", "not tried")) for outcome in (release, today))
        rows.append((each.room, each.name, *verdicts, today.get("by") or today.get("why", "")))
    _table(rows, sys.stdout)
    return 0


def _table(rows: Sequence[tuple[str, ...]], stream: TextIO) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(line.rstrip(), file=stream)


def _row(defect: Defect, outcome: Outcome) -> tuple[str, ...]:
    message = outcome.by or outcome.why
    return defect.room, defect.name, outcome.verdict, str(outcome.tests), f"{outcome.seconds:.0f} s", message


def _parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m tests.seeded_defects", description=__doc__, formatter_class=kept
    )
    commands = parser.add_subparsers(required=True, metavar="check|reach|run|results")
    checking = commands.add_parser("check", help="see whether every defect can be seeded into both trees")
    checking.set_defaults(command=check)
    measuring = commands.add_parser("reach", help="measure which tests reach which lines; minutes")
    measuring.add_argument("tree", type=Path)
    measuring.add_argument("suites", nargs="*", help="added to what is measured; without any: all, anew")
    measuring.add_argument("--workers", default="auto", help="as pytest -n has it")
    measuring.set_defaults(command=measure)
    running = commands.add_parser("run", help="seed defects, and run the tests that reach them")
    running.add_argument("names", nargs="*", metavar="NAME", help="defects or rooms; all without any")
    running.add_argument("--tree", type=Path, required=True, help="clean in git, with its environment")
    running.add_argument("--edition", choices=("release", "today"), default="today")
    running.add_argument("--cluster", action="store_true", help="also the tests that need a cluster")
    running.add_argument("--seconds", type=float, default=trials.SECONDS, help="a defect at most")
    running.add_argument("--keep", type=Path, metavar="FILE", help="write each outcome there at once")
    running.add_argument("--output", choices=("table", "json"), default="table")
    running.set_defaults(command=run)
    showing = commands.add_parser("results", help="show what was found when both trees were tried last")
    showing.set_defaults(command=results)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; what is wrong is said in a line."""
    for signum in (signal.SIGINT, signal.SIGTERM):  # also where a shell's background ignores the former
        signal.signal(signum, _interrupt)
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except SeedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
