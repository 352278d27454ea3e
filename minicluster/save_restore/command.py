"""The start script's commands: one for each step of a save, and of the start after a restore.

    settle SECONDS            bring the jobs to rest; a timeout in the operator's command goes first
    keep TEMPORARY ARCHIVE    check the dump, make it durable, rename it; print the termination message
    fail TEXT                 note that the save failed
    check DUMP STATE          before a restore: check that this engine can read the dump, and the room in
                              STATE; if not, print the termination message
    resume                    after a restore, before the queues start: hold jobs that do not fit

The exit code is 0, or 1 after an error, which is printed on standard error.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minicluster.broker_link.errors import InstanceError, reason
from minicluster.save_restore import dumps, hold
from minicluster.save_restore.errors import DumpUnusable, SavingError
from minicluster.save_restore.quiesce import settle
from minicluster.save_restore.state_files import FAILED, StateFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.broker_link.link import LeadLink
    from minicluster.save_restore.state_files import JSON

MAX_MESSAGE_BYTES = 3900
"""Bytes of a termination message: Kubernetes keeps 4,096."""
_NO_JOB = "the main command is no job (flux.launcher): it was ended, and begins anew after the restore"


def report(text: str) -> None:
    """Write a line as the start script does."""
    print(f"minicluster[{os.environ.get('JOB_COMPLETION_INDEX', '0')}]: {text}", file=sys.stderr, flush=True)


class EngineAdapter(NamedTuple):
    """What differs between the two engines."""

    name: str
    connect: Callable[[], LeadLink]
    """Opens a link to the broker."""
    examine: Callable[[Path], object] = lambda _dump: None
    """Raises DumpUnusable for a dump that the engine cannot read."""


def main(arguments: Sequence[str], engine: EngineAdapter) -> int:
    """Run one command; return its exit code."""
    state_files = StateFiles(os.environ["MINICLUSTER_RUN"])
    command, rest = arguments[0], arguments[1:]
    try:
        _COMMANDS[command](state_files, rest, engine)
    except (SavingError, InstanceError, OSError) as error:
        report(reason(error))
        if command in ("settle", "keep") and state_files.ordered_timeout() is not None:
            state_files.progress(FAILED, error=reason(error))
        return 1
    return 0


def _settle(state_files: StateFiles, rest: Sequence[str], engine: EngineAdapter) -> None:
    timeout = state_files.ordered_timeout()
    if timeout is not None:
        dumps.writable(Path(rest[1]))  # a command can be refused before anything is stopped
    link = engine.connect()
    try:
        settle(link, state_files, float(rest[0]) if timeout is None else timeout, report)
    finally:
        link.close()


def _keep(state_files: StateFiles, rest: Sequence[str], _engine: EngineAdapter) -> None:
    temporary, archive = Path(rest[0]), Path(rest[1])
    size = dumps.keep(temporary, archive)
    print(message(str(archive), size, state_files.settled(), launcher="launcher" in rest[2:]))


def message(archive: str, size: int, settled: JSON, *, launcher: bool) -> str:
    """Return the termination message after a save. Lists are cut to keep it within MAX_MESSAGE_BYTES."""
    restarted, lost = list(settled.get("restarted", ())), list(settled.get("lost", ()))
    if launcher:
        lost.insert(0, ["", _NO_JOB])
    body: JSON = {
        "saved": archive,
        "bytes": size,
        "jobs": settled.get("jobs", 0),
        "restarted": restarted,
        "lost": lost,
        "restarted_total": len(restarted),
        "lost_total": len(lost),
    }
    while len(text := json.dumps(body)) > MAX_MESSAGE_BYTES and (restarted or lost):
        max(restarted, lost, key=lambda each: len(json.dumps(each))).pop()
    return text


def _fail(state_files: StateFiles, rest: Sequence[str], _engine: EngineAdapter) -> None:
    known = state_files.saving() or {}
    if known.get("phase") != FAILED:
        state_files.progress(FAILED, error=rest[0])


def _check(_state_files: StateFiles, rest: Sequence[str], engine: EngineAdapter) -> None:
    dump = Path(rest[0])
    try:
        dumps.check_for(dump, engine.name)
        engine.examine(dump)
        dumps.check_room(dump, Path(rest[1]))
    except DumpUnusable as error:
        print(json.dumps({"error": str(error)[:MAX_MESSAGE_BYTES]}))
        raise


def _resume(state_files: StateFiles, _rest: Sequence[str], engine: EngineAdapter) -> None:
    link = engine.connect()
    try:
        hold.resume(link, state_files, report)
    finally:
        link.close()


_COMMANDS = {"settle": _settle, "keep": _keep, "fail": _fail, "check": _check, "resume": _resume}
