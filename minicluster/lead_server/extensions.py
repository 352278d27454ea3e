"""Routes that other packages add to the lead API, by entry points of the group `minicluster.door_routes`.

Such an entry point names a function that makes an `Extension`. PACKED of its module lists the files that the
zip for real Flux needs. A zip has no entry points, so it contains a list of their values. An extension that
cannot be loaded is reported on the broker's stderr, and the others are served.
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
    """Return all routes, and the audiences of those from extensions. Our own routes cannot be replaced."""
    table: dict[str, Any] = {}
    audiences: dict[str, str] = {}
    for each in found:
        table.update(each.routes)
        audiences.update(each.audiences)
    return {**table, **own}, {path: who for path, who in audiences.items() if path not in own}


def proxied(found: Iterable[Extension]) -> Mapping[str, AggregatedHandler]:
    """Return the extensions' handlers for requests from the API server, by the first word of a path."""
    return {word: passed for each in found for word, passed in getattr(each, "proxied", {}).items()}


def load(context: ExtensionContext, log: Callable[[str], None]) -> Iterator[Extension]:
    """Yield each extension; log those that cannot be made."""
    for name in named():
        module, _, function = name.partition(":")
        try:
            yield getattr(import_module(module), function)(context)
        except Exception as error:  # noqa: BLE001 - another package's code; the lead API is served without it
            log(f"{name} is not served: {type(error).__name__}: {error}")
