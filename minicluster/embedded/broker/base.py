"""The common part of lead and follower: attributes, local socket, tasks of jobs on this rank."""

from __future__ import annotations

import asyncio
import os
import signal
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from broker_config.formats import hostlist
from minicluster.embedded.broker.local_socket import LocalSocket
from minicluster.embedded.broker.rank_enforcer import RankEnforcer
from minicluster.embedded.errors import BootError
from minicluster.embedded.execution.processes import MARKER, Reaper, signal_family
from minicluster.embedded.execution.rank.rank_job import RankSettings
from minicluster.embedded.execution.rank.spawn import BrokerEnv
from minicluster.embedded.overlay.overlay import VERSION, OverlayTimeouts
from minicluster.embedded.services import Registry
from minicluster.embedded.settings import configured

if TYPE_CHECKING:
    from minicluster.embedded.broker import boot
    from minicluster.embedded.broker.attributes import Attributes
    from minicluster.embedded.broker.options import Options
    from minicluster.embedded.log import Log
    from minicluster.embedded.ports import JSON

KILL_TIMEOUT = 5.0
"""Seconds between SIGTERM and SIGKILL; `[exec] kill-timeout` overrides it, as in Flux."""


class BrokerBase:
    """The common part of lead and follower: attributes, local socket, tasks of jobs on this rank."""

    def __init__(
        self, options: Options, config: JSON, attributes: Attributes, log: Log, position: boot.BrokerPosition
    ) -> None:
        self.options = options
        self.config = config
        self.attributes = attributes
        self.log = log
        self.position = position
        self.rank = position.boot.rank
        self.registry = Registry(log)
        self.reaper = Reaper()
        self.rundir, self._own_rundir = _rundir(attributes)
        self.uri = attributes.get("local-uri") or f"local://{self.rundir}/local-{self.rank}"
        described = {"local-uri": self.uri, "rundir": self.rundir, **_description(config, position)}
        for name, value in described.items():
            attributes.set(name, value)
        unique = str(attributes.get("broker.uuid"))[:8]
        self.enforcer = RankEnforcer(config, str(self.rundir), self.rank, unique, log)
        self.end: asyncio.Event = asyncio.Event()
        self._socket: LocalSocket | None = None
        attributes.register(self.registry)

    @property
    def timing(self) -> OverlayTimeouts:
        """Return the overlay's time limits."""
        names = ("tbon.connect_timeout", "tbon.tcp_user_timeout")
        return OverlayTimeouts(*(configured(self.attributes.get(name), name) for name in names))

    @property
    def grace(self) -> float:
        """Return the seconds from SIGTERM to SIGKILL."""
        return configured(
            self.config.get("exec", {}).get("kill-timeout", KILL_TIMEOUT), "[exec] kill-timeout"
        )

    def task_settings(self) -> RankSettings:
        """Return the settings for the jobs on this rank."""
        outer = os.environ.get(MARKER)
        mine = str(self.attributes.get("broker.uuid"))[:8]
        broker = BrokerEnv(self.uri, self.rundir, f"{outer}/{mine}" if outer else mine)
        host = self.position.boot.hosts[self.rank]
        return RankSettings(host, broker, self.reaper, self.grace, enforcer=self.enforcer)

    async def open(self) -> None:
        """Handle ended children and signals, and open the local socket."""
        self.reaper.open()
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, self.terminate, signum)
        self._socket = LocalSocket(Path(self.uri.removeprefix("local://")), self.registry, os.getuid())
        await self._socket.open()

    def terminate(self, signum: int) -> None:
        """Begin to end because of a signal."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the local socket, kill processes that are left below, and remove an own run directory."""
        if self._socket is not None:
            await self._socket.close()
        signal_family(self.reaper.orphans(), signal.SIGKILL)
        await self.enforcer.close()
        if self._own_rundir:
            import shutil  # noqa: PLC0415 - brokers start light

            shutil.rmtree(self.rundir, ignore_errors=True)


def _description(config: JSON, position: boot.BrokerPosition) -> dict[str, object]:
    """Return the attributes that describe the broker."""
    found: dict[str, object] = {
        "rank": position.boot.rank,
        "size": position.boot.size,
        "version": VERSION,
        "instance-level": position.level,
        "hostlist": hostlist.encode(position.boot.hosts),
        "hostname": position.boot.hosts[position.boot.rank],
        "broker.pid": os.getpid(),
        "broker.starttime": f"{time.time():.2f}",
        "broker.uuid": uuid.uuid4(),
        "broker.boot-method": "config" if "bootstrap" in config else "simple",
        "security.owner": os.getuid(),
    }
    outer = {"jobid": position.jobid, "parent-uri": position.parent_uri}
    return found | {name: text for name, text in outer.items() if text is not None}


def _rundir(attributes: Attributes) -> tuple[Path, bool]:
    given = attributes.get("rundir")
    if given is None:
        import tempfile  # noqa: PLC0415 - brokers start light

        return Path(tempfile.mkdtemp(prefix="flux-")), True
    path = Path(given)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BootError(f"rundir error creating {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise BootError(f"rundir {path} is not writable")
    return path, False
