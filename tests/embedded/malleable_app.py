"""A program that grows and shrinks, for tests: it records in a directory what its tasks receive and do.

Its workers wait until there is a file `leave-N` or `end`. MODE selects a failure. "dies": joining workers end
before they join. "hangs": they never join. "stubborn": workers that leave ignore it. "hasty": they fail
before they are released.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.malleable import Hooks, Program, Worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.malleable import Member, Shrink

HERE = Path(sys.argv[1])
MODE = os.environ.get("MODE", "")
FILE = os.environ.get("MINICLUSTER_MALLEABLE", "")


def wait(*names: str) -> None:
    """Wait until one of these files exists."""
    while not any((HERE / name).exists() for name in names):
        time.sleep(0.01)


class Mine(Hooks):
    """Takes on all workers that join, and releases the newest."""

    def after_grow(self, workers: Sequence[Member]) -> None:
        (HERE / "grown").write_text(json.dumps([worker.task for worker in workers]))

    def before_shrink(self, order: Shrink) -> Sequence[int]:
        given = sorted(program.workers)[-order.count :]
        for task in given:
            (HERE / f"leave-{task}").touch()
        if MODE == "hasty":  # they are gone before the instance receives their release
            wait(*(f"gone-{task}" for task in given))
            time.sleep(0.3)
        return given


me = Worker.from_environment()
seen = {"pid": os.getpid(), "broker": os.getppid(), "mode": oct(Path(FILE).stat().st_mode) if FILE else ""}
seen |= {"size": os.environ["FLUX_JOB_SIZE"], "order": me.order, "pmi": "PMI_FD" in os.environ}
(HERE / f"task-{me.number}.new").write_text(json.dumps(seen))
(HERE / f"task-{me.number}.new").rename(HERE / f"task-{me.number}")
if me.number == 0:
    with Program(Mine()) as program:
        while not (HERE / "end").exists():
            program.poll(0.01)
else:
    if me.joining and MODE == "dies":
        sys.exit(3)
    if me.joining and MODE == "hangs":
        signal.pause()
    if me.joining:
        me.join("nowhere:1")
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        wait("end")
    wait("end", f"leave-{me.number}")
    if MODE == "hasty" and not (HERE / "end").exists():
        (HERE / f"gone-{me.number}").touch()
        os._exit(9)
print(f"task {me.number} ends", flush=True)
