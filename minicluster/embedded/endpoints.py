"""Where the lead is, by the [bootstrap] table of broker.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config import hostlist
from broker_config.errors import BrokerConfigError
from minicluster.embedded.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping


def names_of(table: Mapping[str, Any]) -> tuple[str, ...]:
    """The hosts that [bootstrap] lists, in rank order. Raises ConfigurationError."""
    try:
        return tuple(name for entry in table.get("hosts", []) for name in hostlist.decode(entry["host"]))
    except (BrokerConfigError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"Config file error [bootstrap]: hosts: {error}") from error


def endpoint(table: Mapping[str, Any], key: str, lead: str) -> str:
    """Where the lead binds or is connected to: of its own entry, which is the first, or the default."""
    template = table["hosts"][0].get(key, table.get(f"default_{key}"))
    if template is None:
        raise ConfigurationError(f"bootstrap: config: host {lead} needs {key} (or default_{key})")
    return str(template).replace("%h", lead).replace("%p", str(table.get("default_port", "")))


def lead_host(config: Mapping[str, Any]) -> str | None:
    """Return by which name followers reach the lead; None where all are on its machine.

    It is the host in the endpoint to which they connect.
    """
    table = config.get("bootstrap", {})
    names = names_of(table)
    if len(names) < 2:
        return None
    host = endpoint(table, "connect", names[0]).removeprefix("tcp://").rpartition(":")[0]
    return None if host == "localhost" or host.startswith("127.") else host
