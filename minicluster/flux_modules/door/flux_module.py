"""The door as a module of real Flux's lead, in a process that the broker starts at rc1.

The broker's end or order ends it; its own death ends nothing (`broker.module-nopanic`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.flux_modules.door.door import WITHOUT, Door, say, say_broken
from minicluster.flux_modules.door.errors import FilesUnusable
from minicluster.flux_modules.door.flux_link import FluxLink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def begin(uri: str, settings: Mapping[str, Any]) -> Callable[[], None]:
    """Open the door in threads, beside the module's own reactor; what is returned closes it."""
    try:
        door = Door(settings, lambda: FluxLink(uri), say, say_broken)
    except FilesUnusable as error:
        say(f"{WITHOUT}: {error}")
        return lambda: None
    door.open()
    return door.close
