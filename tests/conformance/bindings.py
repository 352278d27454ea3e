"""Flux's own Python bindings in this process, where they are of this Python's version."""

from __future__ import annotations

import gc
import importlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.broker_link.flux_link import FluxLink

WHERE = "import json, sys; print(json.dumps([sys.version_info[:2], sys.path]))"


def need(flux: str) -> None:
    """Make them importable; `flux` is the real command. Raises ImportError, saying why they are not."""
    location = subprocess.run(
        [flux, "python", "-c", WHERE], capture_output=True, text=True, check=True
    ).stdout
    version, folders = json.loads(location)
    there, here = (".".join(map(str, each)) for each in (version, sys.version_info[:2]))
    if there != here:
        raise ImportError(f"Flux's bindings are for Python {there}, and this is {here}")
    added = (each for each in folders if each.endswith("-packages") or "/flux/" in each)
    sys.path.extend(each for each in added if each not in sys.path)
    importlib.import_module("flux")


class HandleEndpoint:
    """A broker reached by handles of this process; see `Endpoint`."""

    inherits_environment = True
    user: int | None = None

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def link(self) -> FluxLink:
        """Open a handle."""
        from minicluster.broker_link.flux_link import FluxLink  # noqa: PLC0415 - needs the bindings

        return FluxLink(self.uri)

    def close(self) -> None:
        """Have handles really closed: in the main thread Flux's watcher of SIGINT keeps one until then."""
        gc.collect()
