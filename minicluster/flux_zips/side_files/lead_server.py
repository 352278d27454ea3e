"""The Flux module `minicluster-door` of a lead broker: it runs the lead server as a child, and restarts it.

The lead server's code is in the zip beside this file. This module survives every failure of it: a module that
fails would end the instance.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ZIP = str(Path(__file__).absolute().with_name("flux_modules.zip"))
MIN_RETRY_DELAY, MAX_RETRY_DELAY = 0.25, 30.0
"""Seconds before a lead server that died is started again: doubled each time."""
LIVED = 60.0
"""Seconds: a lead server that ran longer is restarted after MIN_RETRY_DELAY again."""
STOP_TIMEOUT = 3.0
"""Seconds that the lead server has to close."""
_CODE = """\
import json, sys
sys.path[:] = {paths!r}
from minicluster.lead_server.flux_module import main
sys.exit(main({uri!r}, json.loads({settings!r})))
"""


def _log_line(text: str) -> None:
    print(f"minicluster-door: {text}", file=sys.stderr, flush=True)


class LeadServerSupervisor(threading.Thread):
    """Runs the lead server until it exits with 0. The reactor beside this thread answers the broker."""

    def __init__(self, uri: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name="door-supervisor", daemon=True)
        code = _CODE.format(paths=[ZIP, *sys.path], uri=uri, settings=json.dumps(settings))
        self._command = [sys.executable, "-I", "-X", "utf8", "-c", code]
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Start the lead server, and restart it when it fails."""
        pause = MIN_RETRY_DELAY
        while not self._ending.is_set():
            began = time.monotonic()
            how = self._live()
            if self._ending.is_set() or not how:
                return
            pause = MIN_RETRY_DELAY if time.monotonic() - began >= LIVED else pause
            _log_line(f"the lead server {how}; it is started again in {pause:g} s")
            self._ending.wait(pause)
            pause = min(2 * pause, MAX_RETRY_DELAY)

    def _live(self) -> str:
        """Run one lead server; return how it failed, empty if it did not."""
        try:
            with self._lock:
                if self._ending.is_set():
                    return ""
                # It ends with its stdin, which ends with this process, however that ends.
                self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE, start_new_session=True)
            code = self._child.wait()
        except Exception as error:  # noqa: BLE001 - memory or processes may be free again later
            return f"was not started: {type(error).__name__}: {error}"
        if code < 0:
            return f"was killed by signal {-code}"
        return f"ended with {code}" if code else ""

    def end(self) -> None:
        """Have the lead server close; kill it after STOP_TIMEOUT seconds."""
        with self._lock:
            self._ending.set()
            child = self._child
        if child is not None and child.stdin is not None:
            child.stdin.close()
            self.join(STOP_TIMEOUT)
            child.kill()


def mod_main(handle: Any, *_arguments: str) -> None:
    """Run until the broker unloads the module. Raises nothing, as that would end the instance."""
    supervisor = None
    try:
        supervisor = LeadServerSupervisor(
            handle.attr_get("local-uri"), handle.conf_get("minicluster.modules.door", {})
        )
        supervisor.start()
    except Exception as error:  # noqa: BLE001 - see above
        _log_line(f"the instance runs without the lead API: {type(error).__name__}: {error}")
    try:
        handle.reactor_run()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - see above
        _log_line(f"the module ends: {type(error).__name__}: {error}")
    if supervisor is not None:
        supervisor.end()
