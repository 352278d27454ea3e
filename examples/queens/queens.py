"""All ways to put n queens on a board so that none attacks another, on a number of tasks that changes.

Each task has a bag of boards that are filled to some row, and goes through it. Who has an empty bag is given
half of another's; who has to leave gives its bag back, so nothing is lost and nothing is counted twice. The
first task passes bags on, receives orders between two handfuls of boards, and adds up. Up to 15 queens the
answer is checked.

    python3 queens.py 9                         on one task
    flux run -n 4 python3 queens.py 11          on four, with Flux, rigid
    flux submit -n 1 --setattr=user.elastic.min=1 --setattr=user.elastic.max=4 \
        --setattr=user.elastic.malleable=true python3 queens.py 12
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.malleable import GONE, Frame, Hooks, MalleableError, Program, Refusal, Team, TeamError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.malleable import Member, Shrink

KNOWN = (1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184)
HANDFUL = 500
"""Boards that a task goes through before it looks what others want."""
Board = tuple[int, int, int, float]
"""Columns taken, diagonals attacked from the left and the right, and its fraction of the whole work."""


@dataclass
class Bag:
    """Boards to go through, and what came of those that were: solutions, boards, fraction of the work."""

    queens: int
    boards: list[Board] = field(default_factory=list)
    solutions: int = 0
    seen: int = 0
    done: float = 0.0

    def work(self, count: int = HANDFUL) -> None:
        """Go through some boards."""
        full = (1 << self.queens) - 1
        for _ in range(count):
            if not self.boards:
                return
            columns, left, right, fraction = self.boards.pop()
            self.seen += 1
            squares = full & ~(columns | left | right)
            if columns == full:
                self.solutions += 1
            if not squares:
                self.done += fraction
                continue
            fraction /= squares.bit_count()
            while squares:
                square = squares & -squares
                squares ^= square
                self.boards.append((columns | square, (left | square) << 1, (right | square) >> 1, fraction))

    def split(self) -> list[Board]:
        """Give away every other board; one alone stays."""
        given = self.boards[::2] if len(self.boards) > 1 else []
        if given:
            self.boards = self.boards[1::2]
        return given

    def merge(self, boards: Sequence[Sequence[float]], solutions: int = 0, seen: int = 0) -> None:
        """Take what another had, and what it has found."""
        self.boards += [(int(a), int(b), int(c), fraction) for a, b, c, fraction in boards]
        self.solutions += solutions
        self.seen += seen


@dataclass
class Lead(Hooks):
    """The first task. `hungry` have nothing to do; `asked` is who was asked for boards, and for whom.

    `leaving` were sent away and are no `workers` any more: boards sent to them would be lost.
    """

    team: Team
    bag: Bag
    pause: float = 0.0
    hold: Path | None = None
    workers: set[int] = field(default_factory=set)
    leaving: set[int] = field(default_factory=set)
    hungry: set[int] = field(default_factory=set)
    asked: dict[int, int] = field(default_factory=dict)
    poor: set[int] = field(default_factory=set)
    fractions: dict[int, float] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)

    def run(self) -> None:
        """Go on until no task has a board left; all of them have then been added up."""
        self.workers = set(self.team.others)
        self.sizes.append(1 + len(self.workers))
        self.bag.boards.append((0, 0, 0, 1.0))
        for task in self.workers:
            self.team.send(task, "start", queens=self.bag.queens, pause=self.pause)
        with Program(self) as program:
            while not self._finished():
                program.poll()
                self.bag.work(self._handful())
                time.sleep(self.pause if self.bag.boards else 0)
                program.progress(self.bag.done + sum(self.fractions.values()))
                self._receive(0 if self.bag.boards else 0.02)
                self._distribute()
            self._collect(sorted(self.workers))

    def _handful(self) -> int:
        """As long as it must not end, one board has to stay here."""
        if self.hold is None or not self.hold.exists():
            return HANDFUL
        return 1 if len(self.bag.boards) > 1 or not self.bag.seen else 0

    def after_grow(self, workers: Sequence[Member]) -> None:
        """New tasks begin with an empty bag: they will be given boards."""
        self.team.admit({worker.task: worker.address for worker in workers})
        try:
            for worker in workers:
                self.team.send(worker.task, "start", queens=self.bag.queens, pause=self.pause)
        except TeamError as error:
            raise Refusal(str(error)) from None
        self.workers |= {worker.task for worker in workers}
        self._resized()

    def before_shrink(self, order: Shrink) -> Sequence[int]:
        """Those that free whole memory domains give their bags back, else those with the highest numbers."""
        able = [each for each in order.prefer if each in self.workers]
        able += sorted(self.workers - set(able), reverse=True)
        leaving = able[: order.count]
        self._collect(leaving)
        self._resized()
        return leaving

    def _resized(self) -> None:
        self.sizes.append(1 + len(self.workers))
        print(
            f"from {self.sizes[-2]} to {self.sizes[-1]} tasks after {self.bag.seen} boards here", flush=True
        )

    def _finished(self) -> bool:
        return not self.bag.boards and not self.asked and self.hungry >= self.workers

    def _collect(self, leaving: Sequence[int]) -> None:
        """Have these tasks leave, and wait until all that they had is here."""
        for group in (self.workers, self.hungry, self.poor):
            group.difference_update(leaving)
        self.leaving.update(leaving)
        for task in leaving:
            self.team.send(task, "leave")
        while self.leaving:
            self._receive(60)
        self.team.dismiss(*leaving)

    def _receive(self, timeout: float) -> None:
        frame = self.team.receive(timeout)
        while frame is not None:
            self._take(frame)
            frame = self.team.receive(0)

    def _take(self, frame: Frame) -> None:
        task = frame.sender
        if frame.kind == GONE and task in self.workers | self.leaving:
            raise TeamError(f"task {task} is gone, and its boards with it")
        if "done" in frame.fields:
            self.fractions[task] = frame.fields["done"]
        if frame.kind == "idle" and task in self.workers:
            self.hungry.add(task)
        elif frame.kind == "boards":
            self._pass_on(self.asked.pop(task), task, frame.fields["boards"])
        elif frame.kind == "left":
            self.leaving.discard(task)
            self.bag.merge(frame.fields["boards"], frame.fields["solutions"], frame.fields["seen"])

    def _pass_on(self, to: int, giver: int, boards: list[Board]) -> None:
        if not boards:
            self.poor.add(giver)
            if to in self.workers:
                self.hungry.add(to)
        elif to in self.workers:
            self.team.send(to, "work", boards=boards)
        else:
            self.bag.merge(boards)  # asked for this task, or for one that leaves or has left

    def _distribute(self) -> None:
        """Have those who are hungry given half of somebody's bag."""
        for task in sorted(self.hungry):
            given = self.bag.split()
            if given:
                self.hungry.discard(task)
                self.team.send(task, "work", boards=given)
        wanting = sorted(self.hungry) + ([] if self.bag.boards or 0 in self.asked.values() else [0])
        able = sorted(self.workers - self.hungry - self.poor - set(self.asked) - set(self.asked.values()))
        for task, giver in zip(wanting, able, strict=False):
            self.asked[giver] = task
            self.hungry.discard(task)
            self.team.send(giver, "split")
        self.poor.clear()


def follow(team: Team) -> None:
    """Go through one's bag, and do what the first task says."""
    bag, pause = Bag(0), 0.0
    while True:
        frame = team.receive(0 if bag.boards else None)
        if frame is None:
            bag.work()
            time.sleep(pause)
            if not bag.boards:
                team.send(0, "idle", done=bag.done)
        elif frame.kind == "start":
            bag, pause = Bag(frame.fields["queens"]), frame.fields["pause"]
            team.send(0, "idle")
        elif frame.kind == "work":
            bag.merge(frame.fields["boards"])
        elif frame.kind == "split":
            team.send(0, "boards", boards=bag.split(), done=bag.done)
        elif frame.kind == "leave":
            report = {"boards": bag.boards, "solutions": bag.solutions, "seen": bag.seen, "done": bag.done}
            team.send(0, "left", **report)
            return
        elif frame.kind == GONE:
            raise TeamError("the first task is gone")


def lead(team: Team, options: argparse.Namespace) -> int:
    """Be the first task; return the exit code."""
    bag = Bag(options.queens)
    first = Lead(team, bag, options.pause, options.hold)
    first.run()
    sizes = " → ".join(map(str, first.sizes))
    print(f"{options.queens} queens: {bag.solutions} ways, {bag.seen} boards, on {sizes} tasks", flush=True)
    if options.queens < len(KNOWN):
        right = bag.solutions == KNOWN[options.queens]
        print("checked: right" if right else f"checked: WRONG, there are {KNOWN[options.queens]}", flush=True)
        return 0 if right else 1
    return 0


def main(words: Sequence[str]) -> int:
    """Run one task."""
    parser = argparse.ArgumentParser(description="Count the ways to put queens on a board")
    parser.add_argument("queens", type=int, nargs="?", default=10)
    parser.add_argument("--pause", type=float, default=0.0, help=f"seconds after each {HANDFUL} boards")
    parser.add_argument("--hold", type=Path, help="do not end as long as this file is there")
    options = parser.parse_args(words)
    try:
        with Team.open() as team:
            if team.number == 0:
                return lead(team, options)
            follow(team)
            return 0
    except MalleableError as error:
        print(f"queens: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
