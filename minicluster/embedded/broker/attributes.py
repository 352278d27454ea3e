"""Broker attributes: set by -S, read by `flux getattr`."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from minicluster.embedded.errors import ConfigurationError, RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.ports import JSON
    from minicluster.embedded.services import Registry, RpcRequest

_NAMES = """
    broker.boot-method broker.cleanup-timeout broker.exit-restart broker.module-nopanic broker.quorum
    broker.quorum-warn broker.rc1_path broker.rc2_none broker.rc3_path broker.shutdown-timeout
    broker.starttime conf.shell_initrc conf.shell_pluginpath content.backing-module content.dump
    content.hash content.restore hostname instance-level jobid local-uri log-critical-level log-filename
    log-forward-level log-level log-ring-size log-stderr-level log-stderr-mode log-syslog-enable
    log-syslog-level parent-uri rundir rundir-cleanup security.owner statedir statedir-cleanup
    tbon.connect_timeout tbon.fanout tbon.interface-hint tbon.prefertcp tbon.tcp_user_timeout tbon.topo
    tbon.torpid_max tbon.torpid_min tbon.zmq_io_threads tbon.zmqdebug
"""
_SETTABLE = frozenset(_NAMES.split())
_DEFAULTS = {"log-stderr-level": "3", "tbon.connect_timeout": "30s", "tbon.tcp_user_timeout": "20s"}


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
        """Serve attr.get, attr.set and attr.list."""
        registry.register("attr.get", self._get)
        registry.register("attr.set", self._set)
        registry.register("attr.list", self._list)

    async def _get(self, request: RpcRequest) -> JSON:
        value = self.get(request.need("name", str))
        if value is None:
            raise RpcError(errno.ENOENT)
        return {"value": value, "flags": 0}

    async def _set(self, request: RpcRequest) -> JSON:
        name, value = request.need("name", str), request.need("value", str)
        if name not in _SETTABLE:
            known = name in self._values
            raise RpcError(errno.EPERM, "attribute is immutable" if known else f"{name}: unknown attribute")
        self._values[name] = value
        return {}

    async def _list(self, request: RpcRequest) -> JSON:  # noqa: ARG002 - it asks for nothing
        return {"names": sorted(self._values)}
