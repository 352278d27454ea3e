"""Jacobi's method for the heat in a plate, on a number of tasks that changes while it runs.

Each task has a block of rows, and swaps its first and last row with its neighbours in each iteration. Every
so many iterations is a safe point: there the first task receives orders, and when it is to grow or shrink,
the rows move to the tasks that own them from then on. Each point is computed alike wherever it lies, so the
result is the same to the last bit for any number of tasks: --check computes it again on one and compares.

    python3 jacobi.py --size 200 --iterations 500 --check            on one task
    flux run -n 4 python3 jacobi.py --check                          on four, with Flux, rigid
    flux submit -n 2 --setattr=user.elastic.min=1 --setattr=user.elastic.max=4 \
        --setattr=user.elastic.malleable=true python3 jacobi.py      on one to four, as the queue allows
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minicluster.malleable import GONE, Frame, Hooks, MalleableError, Program, Refusal, Team, TeamError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.malleable import Grow, Member, Shrink

WORKER_TIMEOUT = 30.0
"""Seconds until a worker that has just started must have answered."""
Rows = tuple[int, int]
"""From the first row to before the second."""


# Who owns which rows.


def row_ranges(rows: int, owners: Sequence[int]) -> dict[int, Rows]:
    """Divide the rows among the tasks: in their order, none with more than one row more than another."""
    bounds = [rows * position // len(owners) for position in range(len(owners) + 1)]
    return {task: (bounds[position], bounds[position + 1]) for position, task in enumerate(owners)}


@dataclass(frozen=True)
class Move:
    """Rows that change their owner, or stay."""

    source: int
    target: int
    first: int
    last: int


def moves(old: dict[int, Rows], new: dict[int, Rows]) -> list[Move]:
    """Return where each row goes, in the order of the rows."""
    found = [
        Move(source, target, max(have[0], want[0]), min(have[1], want[1]))
        for source, have in old.items()
        for target, want in new.items()
    ]
    return [move for move in found if move.first < move.last]


# The plate.


def plate(size: int) -> np.ndarray:
    """Return the plate as it is at first: cold, with one edge that is warm in the middle."""
    grid = np.zeros((size, size))
    grid[0] = 100 * np.sin(np.linspace(0, np.pi, size))
    return grid


@cache
def edges_of(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last row, which belong to nobody and stay as they are."""
    grid = plate(size)
    return grid[0], grid[-1]


def relax(rows: np.ndarray) -> np.ndarray:
    """Return all but the first and last row one iteration later; the outer columns stay as they are."""
    later = rows[1:-1].copy()
    later[:, 1:-1] = 0.25 * (rows[:-2, 1:-1] + rows[2:, 1:-1] + rows[1:-1, :-2] + rows[1:-1, 2:])
    return later


def on_one_task(size: int, iterations: int) -> np.ndarray:
    """Compute it without any other task."""
    grid = plate(size)
    for _ in range(iterations):
        grid[1:-1] = relax(grid)
    return grid


# Tasks.


@dataclass
class Block:
    """What one task has: the inner rows that it owns, and what it needs to know of the others.

    `owners` are in the order of their rows, `coming` those that are about to be. What comes before its time
    waits in `early`.
    """

    team: Team
    size: int
    owners: list[int]
    rows: np.ndarray
    early: list[Frame] = field(default_factory=list)
    coming: list[int] = field(default_factory=list)

    @property
    def row_ranges(self) -> dict[int, Rows]:
        """Which of the inner rows each task owns."""
        return row_ranges(self.size - 2, self.owners) if self.owners else {}

    def take(self, *kinds: str, **matching: int) -> Frame:
        """Return the next frame of these kinds with these fields. Raises TeamError when a task is gone."""
        position = 0
        while True:
            while position < len(self.early):
                frame = self.early[position]
                if frame.kind in kinds and all(frame.fields.get(key) == matching[key] for key in matching):
                    return self.early.pop(position)
                if frame.kind == GONE and frame.sender in (0, *self.owners, *self.coming):
                    raise TeamError(f"task {frame.sender} is gone, and its rows with it")
                position += 1
            received = self.team.receive(WORKER_TIMEOUT)
            self.early += [] if received is None else [received]

    def iterate(self, number: int) -> None:
        """Compute one iteration."""
        position = self.owners.index(self.team.number)
        above = self.owners[position - 1] if position else None
        below = self.owners[position + 1] if position + 1 < len(self.owners) else None
        if above is not None:
            self.team.send(above, "from below", self.rows[0], iteration=number)
        if below is not None:
            self.team.send(below, "from above", self.rows[-1], iteration=number)
        edges = edges_of(self.size)
        upper = edges[0] if above is None else self._row("from above", number)
        lower = edges[1] if below is None else self._row("from below", number)
        self.rows = relax(np.vstack([upper, self.rows, lower]))

    def _row(self, kind: str, number: int) -> np.ndarray:
        return np.frombuffer(self.take(kind, iteration=number).body)

    def redistribute(self, epoch: int, owners: list[int]) -> None:
        """Send and take rows so that these tasks own them; each new owner tells the first when it has all."""
        self.coming = owners
        number, old, new = self.team.number, self.row_ranges, row_ranges(self.size - 2, owners)
        first = old[number][0] if number in old else 0
        mine = np.zeros((new[number][1] - new[number][0], self.size)) if number in new else None
        every = moves(old, new)
        for move in every:
            if move.source == number:
                rows = np.ascontiguousarray(self.rows[move.first - first : move.last - first])
                self.team.send(move.target, "rows", rows, epoch=epoch, first=move.first)
        for move in every:
            if move.target == number and mine is not None:
                body = self.take("rows", epoch=epoch, first=move.first).body
                start = move.first - new[number][0]
                mine[start : start + move.last - move.first] = np.frombuffer(body).reshape(-1, self.size)
        self.owners = owners
        if mine is not None:
            self.rows = mine
            self.team.send(0, "have", epoch=epoch)


@dataclass
class Lead(Hooks):
    """The first task: at safe points it receives orders, and tells all others how to go on."""

    block: Block
    iterations: int
    every: int
    pace: Callable[[int], float]
    hold: Path | None = None
    done: int = 0
    epoch: int = 0
    sizes: list[int] = field(default_factory=list)

    def run(self) -> np.ndarray:
        """Compute, and return the whole plate."""
        self.sizes.append(len(self.block.owners))
        with Program(self) as program:
            while self.done < self.iterations or self._goes_on():
                program.poll()
                began, count = time.monotonic(), min(self.every, self.iterations - self.done)
                self._send_all("go", count=count, done=self.done)
                for number in range(self.done, self.done + count):
                    self.block.iterate(number)
                self.done += count
                program.progress(self.done / self.iterations)
                rest = began + count * self.pace(len(self.block.owners)) - time.monotonic()
                time.sleep(max(0.0, rest))
            return self._gather()

    def end(self) -> None:
        """Let the other tasks go: the last thing, as Flux gives a job only 30 s once a task has ended."""
        self._send_all("end")

    def _goes_on(self) -> bool:
        """Whether to go on for another hundred iterations."""
        goes_on = self.hold is not None and self.hold.exists()
        self.iterations += 100 if goes_on else 0
        return goes_on

    def before_grow(self, order: Grow) -> None:
        """Near the end it is not worth it; nor with more tasks than rows."""
        if self.hold is None and self.iterations - self.done < self.iterations / 20:
            raise Refusal("little work left")
        if order.size > self.block.size - 2:
            raise Refusal(f"there are {self.block.size - 2} rows, too few for {order.size} tasks")

    def after_grow(self, workers: Sequence[Member]) -> None:
        """Give the new tasks their rows."""
        self.block.team.admit({worker.task: worker.address for worker in workers})
        new = [worker.task for worker in workers]
        try:
            for task in new:
                self.block.team.send(task, "hello", size=self.block.size)
            waiting, end = set(new), time.monotonic() + WORKER_TIMEOUT
            while waiting and time.monotonic() < end:
                frame = self.block.team.receive(1.0)
                if frame is not None and frame.kind == "ready":
                    waiting.discard(frame.sender)
                elif frame is not None and frame.kind == GONE and frame.sender in waiting:
                    break
                elif frame is not None:
                    self.block.early.append(frame)
        except TeamError as error:
            raise Refusal(str(error)) from None
        if waiting:
            raise Refusal(f"no word of tasks {sorted(waiting)}")
        self._resize([*self.block.owners, *new])

    def before_shrink(self, order: Shrink) -> Sequence[int]:
        """Those with the highest numbers leave."""
        leaving = sorted(self.block.owners)[-order.count :]
        self._resize([task for task in self.block.owners if task not in leaving])
        self.block.team.dismiss(*leaving)
        return leaving

    def _resize(self, owners: list[int]) -> None:
        began, old = time.monotonic(), list(self.block.owners)
        self.epoch += 1
        team = self.block.team
        addresses = {str(task): team.addresses[task] for task in {*old, *owners}}
        for task in {*old, *owners} - {0}:
            team.send(task, "layout", epoch=self.epoch, old=old, owners=owners, addresses=addresses)
        self.block.redistribute(self.epoch, owners)
        for _ in owners:
            self.block.take("have", epoch=self.epoch)
        self.sizes.append(len(owners))
        took = time.monotonic() - began
        print(f"iteration {self.done}: from {len(old)} to {len(owners)} tasks in {took:.4f} s", flush=True)

    def _send_all(self, kind: str, **fields: int) -> None:
        for task in self.block.owners:
            if task:
                self.block.team.send(task, kind, **fields)

    def _gather(self) -> np.ndarray:
        self._send_all("gather")
        grid = plate(self.block.size)
        for task, (first, last) in self.block.row_ranges.items():
            rows = self.block.rows
            if task:
                body = self.block.take("result", first=first).body
                rows = np.frombuffer(body).reshape(-1, self.block.size)
            grid[first + 1 : last + 1] = rows
        return grid


def follow(block: Block) -> None:
    """Do what the first task says, until it has ended or this task has to leave."""
    while True:
        frame = block.take("hello", "layout", "go", "gather", "end")
        if frame.kind == "hello":
            block.size = frame.fields["size"]
            block.team.send(0, "ready")
        elif frame.kind == "layout":
            block.owners = frame.fields["old"]
            block.team.admit({int(task): address for task, address in frame.fields["addresses"].items()})
            block.redistribute(frame.fields["epoch"], frame.fields["owners"])
            if block.team.number not in block.owners:
                return
            block.team.dismiss(*(task for task in block.team.others if task not in block.owners))
        elif frame.kind == "go":
            done = frame.fields["done"]
            for number in range(done, done + frame.fields["count"]):
                block.iterate(number)
        elif frame.kind == "gather":
            block.team.send(0, "result", block.rows, first=block.row_ranges[block.team.number][0])
        else:
            return


# The command.


def pace_of(text: str) -> Callable[[int], float]:
    """Read "2:0.003,4:0.0017", seconds of an iteration by tasks; between them it is linear."""
    points = [tuple(map(float, item.split(":"))) for item in text.split(",")]
    known, seconds = [point[0] for point in points], [point[1] for point in points]
    return lambda tasks: float(np.interp(tasks, known, seconds))


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Jacobi's method on a number of tasks that may change")
    parser.add_argument("--size", type=int, default=200, help="rows and columns of the plate")
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--every", type=int, default=10, help="iterations between two safe points")
    parser.add_argument(
        "--pace",
        type=pace_of,
        default="1:0",
        metavar="TABLE",
        help="least seconds of an iteration: 2:0.01,4:0.006",
    )
    parser.add_argument("--hold", type=Path, help="go on beyond --iterations as long as this file is there")
    parser.add_argument("--check", action="store_true", help="compute it on one task, too, and compare")
    return parser.parse_args(words)


def lead(team: Team, options: argparse.Namespace) -> int:
    """Be the first task; return the exit code."""
    size, owners = options.size, sorted(team.addresses)
    mine = row_ranges(size - 2, owners)[team.number]
    block = Block(team, size, owners, plate(size)[mine[0] + 1 : mine[1] + 1])
    first = Lead(block, options.iterations, options.every, options.pace, options.hold)
    grid = first.run()
    sizes = " → ".join(map(str, first.sizes))
    print(f"{size} x {size}, {first.done} iterations on {sizes} tasks: heat {grid.sum():.6f}", flush=True)
    right = not options.check or np.array_equal(grid, on_one_task(size, first.done))
    if options.check:
        print("checked: equal to the last bit" if right else "checked: WRONG", flush=True)
    first.end()
    return 0 if right else 1


def worker(team: Team, options: argparse.Namespace) -> int:
    """Be any other task; the first one sends what it needs to one that has joined."""
    size = options.size
    owners = [] if team.joining else sorted(team.addresses)
    mine = (0, 0) if team.joining else row_ranges(size - 2, owners)[team.number]
    follow(Block(team, size, owners, plate(size)[mine[0] + 1 : mine[1] + 1]))
    return 0


def main(words: Sequence[str]) -> int:
    """Run one task."""
    options = arguments(words)
    try:
        with Team.open() as team:
            if not team.joining and len(team.addresses) > options.size - 2:
                print(f"--size {options.size}: too few rows for {len(team.addresses)} tasks", file=sys.stderr)
                return 2
            return worker(team, options) if team.number else lead(team, options)
    except MalleableError as error:
        print(f"jacobi: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
