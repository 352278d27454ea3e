"""Modules of the lead broker: child processes, named in broker.toml by a table `[minicluster.modules.NAME]`.

NAME is one of `PACKAGES`, whose `process.main(uri, settings)` is the module; the broker itself imports none.
A module that dies is started again, after a pause that grows; one that ends with 0 is not. The instance goes
on in either case.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from minicluster.embedded.errors import ConfigurationError
from minicluster.embedded.execution.processes import Reaper, signal_group
from minicluster.embedded.log import ERR, INFO, WARNING, Log

if TYPE_CHECKING:
    from minicluster.embedded.ports import JSON

PACKAGES = {"door": "minicluster.embedded_lead"}
"""The room of each module, by the name that broker.toml gives it."""
MIN_RETRY_DELAY, MAX_RETRY_DELAY = 0.25, 30.0
"""Seconds before a module that died is started again: doubled each time."""
LIVED = 60.0
"""Seconds; a module that ran for longer is started again after the shortest pause."""
_GRACE_PERIOD = 2.0
# As the launcher starts brokers: without `site`, but with `ssl`.
_CODE = """\
import json, sys
sys.path[:] = {paths!r}
from {module} import main
sys.exit(main({uri!r}, json.loads({settings!r})))
"""


def configured(config: JSON) -> dict[str, JSON]:
    """Return the settings of each module by its name. Raises ConfigurationError, which names the table."""
    found = config.get("minicluster", {}).get("modules", {})
    if not isinstance(found, dict):
        raise ConfigurationError("broker.toml, minicluster.modules: a table for each module is right")
    for name, settings in found.items():
        if not isinstance(settings, dict):
            raise ConfigurationError(f"broker.toml, minicluster.modules.{name}: a table would be right")
        if name not in PACKAGES:
            raise ConfigurationError(f"broker.toml, [minicluster.modules.{name}]: there is no such module")
    return found


class Module:
    """One module's process."""

    def __init__(self, name: str, settings: JSON, uri: str, log: Log, reaper: Reaper) -> None:
        self.name = name
        self._code = _CODE.format(
            paths=sys.path, module=f"{PACKAGES[name]}.process", uri=uri, settings=json.dumps(settings)
        )
        self._log = log
        self._reaper = reaper
        self._pid = 0
        self._pause = MIN_RETRY_DELAY
        self._closed = False
        self._again: asyncio.TimerHandle | None = None
        self._ended = asyncio.Event()

    def start(self) -> None:
        """Start the process, in a session of its own: a terminal's signals do not reach it."""
        self._began = time.monotonic()
        self._ended.clear()
        command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", self._code]
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            self._log(ERR, f"cannot start: {error.strerror}", self.name)
            self._died("was not started")
            return
        process.returncode = 0  # the Reaper collects it; Popen must not
        self._pid = process.pid
        self._reaper.watch(process.pid, self._exited)

    def _exited(self, status: int) -> None:
        self._pid = 0
        code = os.waitstatus_to_exitcode(status)
        if code and not self._closed:
            self._died(f"was killed by signal {-code}" if code < 0 else f"ended with {code}")
        else:
            self._ended.set()

    def _died(self, how: str) -> None:
        if time.monotonic() - self._began >= LIVED:
            self._pause = MIN_RETRY_DELAY
        self._ended.set()
        self._log(WARNING, f"module {self.name} {how}; it is started again in {self._pause:g} s", "module")
        self._again = asyncio.get_running_loop().call_later(self._pause, self.start)
        self._pause = min(2 * self._pause, MAX_RETRY_DELAY)

    async def close(self) -> None:
        """End the process by SIGTERM, or by SIGKILL where it does not end."""
        self._closed = True
        if self._again is not None:
            self._again.cancel()
        for signum in (signal.SIGTERM, signal.SIGKILL):
            if not self._pid:
                return
            signal_group(self._pid, signum)
            try:
                await asyncio.wait_for(self._ended.wait(), _GRACE_PERIOD)
            except TimeoutError:
                self._log(INFO, f"module {self.name} does not end", "module")


class Modules:
    """All modules of the lead."""

    def __init__(self, config: JSON, uri: str, log: Log, reaper: Reaper) -> None:
        self._modules = [
            Module(name, settings, uri, log, reaper) for name, settings in configured(config).items()
        ]

    def start(self) -> None:
        """Start each; to be called once the broker's socket is open."""
        for module in self._modules:
            module.start()

    async def close(self) -> None:
        """End all of them."""
        await asyncio.gather(*(module.close() for module in self._modules))
