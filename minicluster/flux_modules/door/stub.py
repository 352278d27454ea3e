"""The Flux module `minicluster-door` of a lead broker; its code is in the zip beside this file.

Whatever goes wrong with the door, this module stays: one that fails at the start would end the instance.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

ZIP = str(Path(__file__).absolute().with_name("flux_modules.zip"))


class Opening(threading.Thread):
    """Opens the door beside the reactor: the broker's start need not wait for it."""

    def __init__(self, uri: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name="door-opening", daemon=True)
        self.end: Callable[[], None] | None = None
        self._given = uri, settings

    def run(self) -> None:
        """Import and open."""
        try:
            sys.path.insert(0, ZIP)
            from minicluster.flux_modules.door.flux_module import begin  # noqa: PLC0415 - it may fail

            self.end = begin(*self._given)
        except Exception as error:  # noqa: BLE001 - see above
            words = f"the instance runs without the lead's door: {type(error).__name__}: {error}"
            print(f"minicluster-door: {words}", file=sys.stderr, flush=True)


def mod_main(handle: Any, *_arguments: str) -> None:
    """Run until the broker unloads the module."""
    opening = Opening(handle.attr_get("local-uri"), handle.conf_get("minicluster.modules.door", {}))
    opening.start()
    try:
        handle.reactor_run()
    finally:
        opening.join(5)
        if opening.end is not None:
            opening.end()
