"""Jobs that bring their resources along, as Flux's jobtap plugin alloc-bypass has them.

Such a job has an R in `attributes.system.alloc-bypass.R`. It starts as soon as it waits for nothing, also in
a stopped queue and on a full or drained node; the scheduler never sees it. A MiniCluster's lead runs so what
takes nothing: a job that stands in for one elsewhere. The plugin is loaded by broker.toml alone:

    [job-manager]
    plugins = [{load = "alloc-bypass.so"}]
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from broker_config.formats import resource_set
from broker_config.formats.errors import ResourceSetError
from broker_config.formats.jobspec import system_of
from minicluster.embedded.errors import ConfigurationError, RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.ports import JSON

PLUGIN = "alloc-bypass.so"
FLAG = "alloc-bypass"
_KINDS = {str: "string", bool: "true", int: "integer", float: "real", list: "array", type(None): "null"}


def is_loaded(config: Mapping[str, Any]) -> bool:
    """Return whether broker.toml loads the plugin. Raises ConfigurationError."""
    plugins = config.get("job-manager", {}).get("plugins", [])
    if not isinstance(plugins, list) or not all(isinstance(each, dict) for each in plugins):
        raise ConfigurationError(
            f'broker.toml, [job-manager] plugins: tables such as [{{load = "{PLUGIN}"}}] are right'
        )
    return any(each.get("load") == PLUGIN for each in plugins)


def brought(spec: JSON) -> JSON | None:
    """Return the R that a jobspec brings along, if any. Raises RpcError, in Flux's words but for details."""
    system = system_of(spec)
    if FLAG not in system:
        return None
    table = system[FLAG]
    if not isinstance(table, dict):
        raise _invalid("invalid system.alloc-bypass.R", table)
    if "R" not in table:
        return None
    found = table["R"]
    if not isinstance(found, dict):
        raise _invalid("alloc-bypass: invalid R", found)
    try:
        resource_set.read(found)
    except ResourceSetError as error:
        raise RpcError(errno.EINVAL, f"alloc-bypass: invalid R: {error}") from None
    return dict(found)


def _invalid(what: str, value: Any) -> RpcError:
    kind = "false" if value is False else _KINDS.get(type(value), "object")
    return RpcError(errno.EINVAL, f"{what}: Expected object, got {kind}")
