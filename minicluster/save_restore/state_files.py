"""Files in the lead's run directory by which start script, door and commands tell each other how it stands.

`save` is the door's order, which the start script removes when it is over; `saving` is the progress, as the
status shows it; `settled` is what became of the running jobs; `kept` names jobs that do not fit any more.
Each appears whole at once.
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
_PAUSE = 0.05


class _Files:
    """Documents in JSON in a directory, each of which appears whole at once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, name: str) -> JSON | None:
        """Return what a file says; None where there is none, or nothing sensible in it."""
        try:
            value = json.loads((self._directory / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def create(self, name: str, value: JSON) -> bool:
        """Write a new file; False where there is one already."""
        temporary = self._temporary(name, value)
        try:
            os.link(temporary, self._directory / name)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        return True

    def put(self, name: str, value: JSON) -> None:
        """Write a file, in the place of the one that is there."""
        # Without room for a note the instance goes on: it is only told of.
        with contextlib.suppress(OSError):
            self._temporary(name, value).replace(self._directory / name)

    def _temporary(self, name: str, value: JSON) -> Path:
        path = self._directory / f".{name}.{os.getpid()}.{threading.get_ident()}"
        path.write_text(json.dumps(value), encoding="utf-8")
        return path


class StateFiles:
    """The files in `directory`."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)
        self._files = _Files(self._directory)

    # -- the order -------------------------------------------------------------------------------------

    def order(self, timeout: float) -> bool:
        """Leave the order to save; False where there is one already."""
        return self._files.create("save", {"timeout": timeout})

    def withdraw(self) -> None:
        """Take the order back."""
        with contextlib.suppress(FileNotFoundError):
            (self._directory / "save").unlink()

    def ordered_timeout(self) -> float | None:
        """Return the seconds that running jobs have; None where nothing is ordered."""
        order = self._files.read("save")
        return None if order is None else float(order["timeout"])

    def start_script(self) -> int:
        """Return the process id of the start script. Raises ProcessLookupError where it is not known."""
        try:
            return int((self._directory / "pid").read_text())
        except (OSError, ValueError):
            raise ProcessLookupError from None

    # -- how it stands ---------------------------------------------------------------------------------

    def progress(self, phase: str, waiting_for: int = 0, error: str = "") -> None:
        """Note how saving stands; it began when its first note was left."""
        old = self._files.read("saving") or {}
        goes_on = old.get("phase") in (WAITING, WRITING)
        since = old["since"] if goes_on else _now()
        now = {"phase": phase, "since": since, "waiting_for": waiting_for, "error": error}
        if now != old:
            self._files.put("saving", now)

    def saving(self) -> JSON | None:
        """Return how saving stands; None where nobody saves."""
        return self._files.read("saving")

    def settle(self, outcome: JSON) -> None:
        """Note what became of the running jobs."""
        self._files.put("settled", outcome)

    def settled(self) -> JSON:
        """Return what became of the running jobs, as far as that is known."""
        return self._files.read("settled") or {}

    def remember(self, restarted: list[JSON]) -> None:
        """Note which jobs were restarted because their brokers leave: {"ranks", "old", "new"} each."""
        self._files.put("restarted", {"jobs": restarted})

    def restarted(self) -> list[JSON]:
        """Return which jobs were restarted because their brokers leave."""
        return list((self._files.read("restarted") or {}).get("jobs", ()))

    def keep(self, kept: list[str]) -> None:
        """Note which jobs are kept although they do not fit, each with its reason."""
        self._files.put("kept", {"jobs": kept})

    def kept(self) -> list[str]:
        """Return which jobs are kept although they do not fit."""
        return [str(each) for each in (self._files.read("kept") or {}).get("jobs", ())]

    @contextlib.contextmanager
    def alone(self, timeout: float) -> Iterator[None]:
        """Let nobody else move jobs meanwhile. Raises NotAnswering after `timeout` seconds."""
        end = time.monotonic() + timeout
        with (self._directory / "restarts.lock").open("w") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise NotAnswering("jobs are being restarted already") from None
                    time.sleep(_PAUSE)
            yield


def _now() -> str:
    """Return the time in fine steps: it tells one failure from the next."""
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06}Z"
