"""Broker attributes: the names a broker knows, set by -S, read by `flux getattr`."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from minicluster.embedded.errors import ConfigurationError, RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.ports import JSON
    from minicluster.embedded.services import Registry, Request

_SETTABLE = frozenset(
    [
        "broker.boot-method",
        "broker.quorum",
        "broker.quorum-warn",
        "broker.rc1_path",
        "broker.rc2_none",
        "broker.rc3_path",
        "broker.shutdown-timeout",
        "broker.cleanup-timeout",
        "broker.exit-restart",
        "broker.module-nopanic",
        "broker.starttime",
        "conf.shell_initrc",
        "conf.shell_pluginpath",
        "content.backing-module",
        "content.dump",
        "content.hash",
        "content.restore",
        "hostname",
        "instance-level",
        "jobid",
        "local-uri",
        "log-critical-level",
        "log-filename",
        "log-forward-level",
        "log-level",
        "log-ring-size",
        "log-stderr-level",
        "log-stderr-mode",
        "log-syslog-enable",
        "log-syslog-level",
        "parent-uri",
        "rundir",
        "rundir-cleanup",
        "security.owner",
        "statedir",
        "statedir-cleanup",
        "tbon.connect_timeout",
        "tbon.fanout",
        "tbon.interface-hint",
        "tbon.prefertcp",
        "tbon.tcp_user_timeout",
        "tbon.topo",
        "tbon.torpid_max",
        "tbon.torpid_min",
        "tbon.zmq_io_threads",
        "tbon.zmqdebug",
    ]
)
_DEFAULTS = {
    "broker.boot-method": "simple",
    "broker.quorum-warn": "1m",
    "broker.shutdown-timeout": "none",
    "content.backing-module": "sqlite",
    "log-forward-level": "3",
    "log-level": "7",
    "log-stderr-level": "3",
    "log-stderr-mode": "local",
    "tbon.connect_timeout": "30s",
    "tbon.tcp_user_timeout": "20s",
    "tbon.topo": "kary:0",
}


class Attributes:
    """Name and value pairs of one broker; values are text."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        for name in settings:
            if name not in _SETTABLE:
                raise ConfigurationError(f"{name}: unknown attribute")
        self._values = {**_DEFAULTS, **settings}

    def get(self, name: str) -> str | None:
        """Return the value, or None where the attribute is not set."""
        return self._values.get(name)

    def set(self, name: str, value: object) -> None:
        """Set an attribute from inside the broker."""
        self._values[name] = str(value)

    def register(self, registry: Registry) -> None:
        """Serve attr.get, attr.set, attr.list and attr.rm."""
        registry.register("attr.get", self._get)
        registry.register("attr.set", self._set)
        registry.register("attr.rm", self._remove)
        registry.register("attr.list", self._list)

    async def _get(self, request: Request) -> JSON:
        value = self.get(request.need("name", str))
        if value is None:
            raise RpcError(errno.ENOENT)
        return {"value": value, "flags": 0}

    async def _set(self, request: Request) -> JSON:
        name, value = request.need("name", str), request.need("value", str)
        if name not in _SETTABLE:
            known = name in self._values
            raise RpcError(errno.EPERM, "attribute is immutable" if known else f"{name}: unknown attribute")
        self._values[name] = value
        return {}

    async def _remove(self, request: Request) -> JSON:
        if self._values.pop(request.need("name", str), None) is None:
            raise RpcError(errno.ENOENT)
        return {}

    async def _list(self, request: Request) -> JSON:  # noqa: ARG002 - it asks for nothing
        return {"names": sorted(self._values)}


def seconds(text: str, name: str) -> float:
    """Parse a Flux duration (RFC 23: `5s`, `1.5m`, `2h`, `1d`, bare seconds, `none` = 0)."""
    if text in {"none", "infinity", "inf"}:
        return 0.0
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
    unit = next((unit for unit in units if text.endswith(unit)), "")
    try:
        value = float(text[: len(text) - len(unit)]) * units.get(unit, 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ConfigurationError(f"{name}: {text!r} is no duration; right would be 5s, 1.5m, 2h, 1d or none")
    return value
