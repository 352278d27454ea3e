"""The table [bootstrap] of broker.toml: which hosts have brokers, and their endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats import hostlist
from broker_config.formats.errors import BootstrapError, ParseError

if TYPE_CHECKING:
    from collections.abc import Mapping


def names_of(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the hosts that the table lists, in the order of their ranks. Raises BootstrapError."""
    try:
        return tuple(name for entry in table.get("hosts", []) for name in hostlist.decode(entry["host"]))
    except (ParseError, KeyError, TypeError, AttributeError) as error:
        raise BootstrapError(f"Config file error [bootstrap]: hosts: {error}") from error


def endpoint(table: Mapping[str, Any], key: str, lead: str) -> str:
    """Return the endpoint that the lead binds, or that others connect to.

    It is in the table's first entry, else the default one. Raises BootstrapError.
    """
    template = table["hosts"][0].get(key, table.get(f"default_{key}"))
    if template is None:
        raise BootstrapError(f"bootstrap: config: host {lead} needs {key} (or default_{key})")
    return str(template).replace("%h", lead).replace("%p", str(table.get("default_port", "")))


def lead_host(config: Mapping[str, Any]) -> str | None:
    """Return the host in the address to which followers connect; None if all are on the lead's machine.

    Raises BootstrapError.
    """
    table = config.get("bootstrap", {})
    names = names_of(table)
    if len(names) < 2:
        return None
    address = endpoint(table, "connect", names[0])
    host = (address.removeprefix("tcp://")).rpartition(":")[0]
    return None if host == "localhost" or host.startswith("127.") else host
