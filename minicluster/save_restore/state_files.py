"""Files in the lead's run directory through which start script, lead server and commands share their state.

* `save`: the command to save; the start script removes it when that is over
* `saving`: the progress, as in the status
* `settled`: what became of the running jobs
* `restarted`: jobs that were restarted because their brokers leave
* `kept`: jobs that do not fit any more
* `main-started`: a mark of the start script's: the queues that it starts are started

Each of the others is written atomically.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.save_restore.errors import NotAnswering

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    JSON = dict[str, Any]

WAITING, WRITING, FAILED = "waiting", "writing", "failed"
_POLL_INTERVAL = 0.05
"""Seconds between two attempts to get a lock."""


class _Files:
    """JSON documents in a directory, each written atomically."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, name: str) -> JSON | None:
        """Return a file's object; None if there is no such file, or it contains no JSON object."""
        try:
            value = json.loads((self._directory / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def create(self, name: str, value: JSON) -> bool:
        """Write a new file; return False if there is one already."""
        temporary = self._temporary(name, value)
        try:
            os.link(temporary, self._directory / name)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        return True

    def put(self, name: str, value: JSON) -> None:
        """Write a file, and replace one that exists."""
        # On a full disk the instance goes on without the note.
        with contextlib.suppress(OSError):
            self._temporary(name, value).replace(self._directory / name)

    def _temporary(self, name: str, value: JSON) -> Path:
        path = self._directory / f".{name}.{os.getpid()}.{threading.get_ident()}"
        path.write_text(json.dumps(value), encoding="utf-8")
        return path


class StateFiles:
    """The files in `directory`. `starts_queues` is whether the start script starts queues."""

    def __init__(self, directory: str, *, starts_queues: bool = False) -> None:
        self._directory = Path(directory)
        self._starts_queues = starts_queues
        self._files = _Files(self._directory)

    # -- the command -----------------------------------------------------------------------------------

    def order(self, timeout: float) -> bool:
        """Write the command to save; return False if there is one already."""
        return self._files.create("save", {"timeout": timeout})

    def withdraw(self) -> None:
        """Remove the command to save."""
        with contextlib.suppress(FileNotFoundError):
            (self._directory / "save").unlink()

    def ordered_timeout(self) -> float | None:
        """Return the seconds that running jobs have; None without a command to save."""
        order = self._files.read("save")
        return None if order is None else float(order["timeout"])

    def start_script(self) -> int:
        """Return the process id of the start script. Raises ProcessLookupError if it is not known."""
        try:
            return int((self._directory / "pid").read_text())
        except (OSError, ValueError):
            raise ProcessLookupError from None

    def queues_are_due(self) -> bool:
        """Return whether the start script has yet to start queues: new ones, or those restored."""
        return self._starts_queues and not (self._directory / "main-started").exists()

    # -- the progress ----------------------------------------------------------------------------------

    def progress(self, phase: str, waiting_for: int = 0, error: str = "") -> None:
        """Note the progress of a save. Its `since` is the time of the first note."""
        old = self._files.read("saving") or {}
        goes_on = old.get("phase") in (WAITING, WRITING)
        since = old["since"] if goes_on else _now()
        now = {"phase": phase, "since": since, "waiting_for": waiting_for, "error": error}
        if now != old:
            self._files.put("saving", now)

    def saving(self) -> JSON | None:
        """Return the progress of the save; None if there was none."""
        return self._files.read("saving")

    def settle(self, outcome: JSON) -> None:
        """Note what became of the running jobs."""
        self._files.put("settled", outcome)

    def settled(self) -> JSON:
        """Return what became of the running jobs; empty before that is known."""
        return self._files.read("settled") or {}

    def remember(self, restarted: list[JSON]) -> None:
        """Note which jobs were restarted because their brokers leave: {"ranks", "old", "new"} each."""
        self._files.put("restarted", {"jobs": restarted})

    def restarted(self) -> list[JSON]:
        """Return which jobs were restarted because their brokers leave."""
        return list((self._files.read("restarted") or {}).get("jobs", ()))

    def keep(self, kept: list[str]) -> None:
        """Note the jobs that are held because they do not fit, each with its reason."""
        self._files.put("kept", {"jobs": kept})

    def kept(self) -> list[str]:
        """Return the jobs that are held because they do not fit, each with its reason."""
        return [str(each) for each in (self._files.read("kept") or {}).get("jobs", ())]

    @contextlib.contextmanager
    def alone(self, timeout: float) -> Iterator[None]:
        """Hold the lock for moving jobs. Raises NotAnswering if it is taken for `timeout` seconds."""
        end = time.monotonic() + timeout
        with (self._directory / "restarts.lock").open("w") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise NotAnswering("jobs are being restarted already") from None
                    time.sleep(_POLL_INTERVAL)
            yield


def _now() -> str:
    """Return the time in microseconds, by which one failure differs from the next."""
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06}Z"
