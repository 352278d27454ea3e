"""What others serve at the door: named by entry points of the group `minicluster.door_routes`.

Such an entry point names a function that makes an `Extension`. Its module says in PACKED which files the zip
for real Flux needs; the zip has a list of the names, as it has no entry points. One that cannot be loaded is
named on the broker's stderr, and the door goes on without it.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from minicluster.lead_server.routes import AggregatedHandler, Extension, ExtensionContext, Routes

GROUP = "minicluster.door_routes"
LIST = "extensions.txt"
"""In the zip, beside this file: a name a line, as `package.module:function`."""


def named() -> list[str]:
    """Return the names of all extensions, as `package.module:function`."""
    try:
        listed = pkgutil.get_data(__package__, LIST)
    except OSError:
        listed = None
    if listed is not None:
        return listed.decode().split()
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, and not needed in the zip

    return sorted({each.value for each in entry_points(group=GROUP)})


def joined(own: Routes, found: Iterable[Extension]) -> tuple[Routes, Mapping[str, str]]:
    """Return all routes, and who may ask for those of extensions, which replace none of the door's own."""
    table: dict[str, Any] = {}
    audiences: dict[str, str] = {}
    for each in found:
        table.update(each.routes)
        audiences.update(each.audiences)
    return {**table, **own}, {path: who for path, who in audiences.items() if path not in own}


def proxied(found: Iterable[Extension]) -> Mapping[str, AggregatedHandler]:
    """Return what extensions answer of what the API server passes on."""
    return {word: passed for each in found for word, passed in getattr(each, "proxied", {}).items()}


def load(context: ExtensionContext, log: Callable[[str], None]) -> Iterator[Extension]:
    """Make each extension; one that fails is told of."""
    for name in named():
        module, _, function = name.partition(":")
        try:
            yield getattr(import_module(module), function)(context)
        except Exception as error:  # noqa: BLE001 - somebody else's code: the door is there without it
            log(f"{name} is not served: {type(error).__name__}: {error}")
