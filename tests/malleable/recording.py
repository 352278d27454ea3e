"""Hooks that keep what they were called with, and what drives their program."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minicluster.malleable import Hooks, Refusal, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.malleable import Grow, Member, Program, Shrink
    from tests.malleable.played import Played


@dataclass
class RecordingHooks(Hooks):
    """Keeps what it was called with; `refuses` and `fails` name the hook that refuses or has a mistake."""

    refuses: str = ""
    called: list[tuple[Any, ...]] = field(default_factory=list)
    fails: str = ""

    def _call(self, name: str, *arguments: Any) -> None:
        self.called.append((name, *arguments))
        if name == self.fails:
            raise KeyError("row 7" * 10_000)
        if name == self.refuses:
            raise Refusal("little work left")

    def before_grow(self, order: Grow) -> None:
        self._call("before_grow", order.hosts)

    def after_grow(self, workers: Sequence[Member]) -> None:
        self._call("after_grow", *[(member.task, member.address) for member in workers])

    def before_shrink(self, order: Shrink) -> Sequence[int]:
        self._call("before_shrink", order.count)
        return [3, 2, 1][: order.count]

    def after_shrink(self, workers: Sequence[int]) -> None:
        self._call("after_shrink", *workers)

    def expired(self, order: int, reason: str) -> None:
        self._call("expired", order, reason)


def joins(played: list[Played]) -> Callable[[int, int], object]:
    """What a worker does that joins at once, in a thread."""

    def start(task: int, order: int) -> None:
        worker = Worker.from_environment(played[0].environment(task, order))
        threading.Thread(target=worker.join, args=(f"addr{task}",), daemon=True).start()

    return start


def until(program: Program, condition: Callable[[], object]) -> None:
    """Poll as a program does until something is true."""
    for _ in range(600):
        program.poll(0.1)
        if condition():
            return
    raise AssertionError("the program never saw it")
