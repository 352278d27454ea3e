"""Jobs without resources, which have the place of those that run in instances of their own elsewhere.

Flux's plugin alloc-bypass gives a job of the instance's owner the R that it names, and refuses it to all
others. It is loaded by broker.toml, so that it is there before jobs are taken up from the state.
Source: flux-config-job-manager(5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_config.settings import BrokerSettings

PLUGIN = "alloc-bypass.so"
_LOADED = {"load": PLUGIN}


def tables(settings: BrokerSettings) -> dict[str, Any]:
    """Return the table [job-manager] where bursts are isolated."""
    return {"job-manager": {"plugins": [_LOADED]}} if settings.bursting.isolated else {}


def kept(settings: BrokerSettings, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's own tables, to be merged: the plugin stays among theirs."""
    table = own.get("job-manager")
    plugins = table.get("plugins") if isinstance(table, dict) else None
    if not settings.bursting.isolated or not isinstance(plugins, list) or _LOADED in plugins:
        return dict(own)
    return {**own, "job-manager": {**own["job-manager"], "plugins": [*plugins, _LOADED]}}
