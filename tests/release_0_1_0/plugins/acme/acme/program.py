"""A malleable program: one file a worker in the directory that is its argument; it ends with the file `end`.

It also asks what it may of the MiniCluster that it runs in.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import minicluster
from minicluster import within
from minicluster.malleable import (
    GONE,
    Frame,
    Grow,
    Hooks,
    MalleableError,
    Member,
    Program,
    Refusal,
    Rejected,
    Shrink,
    Team,
    TeamError,
    Worker,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(sys.argv[1])


def note(text: str) -> None:
    """Append a line to the program's diary."""
    with (HERE / "diary").open("a") as file:
        file.write(f"{text}\n")


class Mine(Hooks):
    """Takes on whoever comes and lets the newest go; refuses where there is a file `refuse`."""

    def before_grow(self, order: Grow) -> None:
        """Have a look at the offer."""
        if (HERE / "refuse").exists():
            raise Refusal("not now")
        note(f"offer {len(order.hosts)} more: {order.size}")

    def after_grow(self, workers: Sequence[Member]) -> None:
        """Send each its share."""
        team.admit({worker.task: worker.address for worker in workers})
        for worker in workers:
            team.send(worker.task, "work", b"share", part=worker.task)
        note(f"grown by {len(workers)}")

    def before_shrink(self, order: Shrink) -> Sequence[int]:
        """Let the newest go."""
        leaving = sorted(program.workers)[-order.count :]
        for task in leaving:
            team.send(task, "leave")
        team.dismiss(*leaving)
        return leaving

    def after_shrink(self, workers: Sequence[int]) -> None:
        """Hear of it."""
        note(f"shrunk by {len(workers)}")

    def expired(self, order: int, reason: str) -> None:
        """Forget it."""
        note(f"expired {order}: {reason}")


def ask() -> None:
    """Ask for sizes that there cannot be, and for the one that there is."""
    note(f"inside {within.is_inside()}")
    for scale, size in ((within.scale, 0), (minicluster.scale, 99)):
        try:
            scale(size)
        except within.RefusedError as error:
            note(f"refused {size}: {error.exit_code}")
        except within.WithinError as error:
            note(f"failed {size}: {error}")


def serve() -> None:
    """Be a worker until told to leave."""
    while True:
        frame = team.receive(60.0)
        if not isinstance(frame, Frame) or frame.kind in {"leave", GONE}:
            return
        note(f"worker got {frame.kind} {bytes(frame.body).decode()} {'part' in frame.fields}")


with Team.open() as team:
    if team.number:
        serve()
    else:
        ask()
        me = Worker.from_environment()
        assert not me.joining
        try:
            with Program(Mine()) as program:
                note(f"malleable {program.malleable} at {program.size}")
                while not (HERE / "end").exists():
                    time.sleep(0.01)
                    program.poll()
                    program.progress(0.5)
                for other in team.others:
                    team.send(other, "leave")
        except (MalleableError, Rejected, TeamError) as error:
            note(f"defect {type(error).__name__}: {error}")
        note(f"job {os.environ['FLUX_JOB_ID'][:1]}")
