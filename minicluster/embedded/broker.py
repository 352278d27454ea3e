"""`flux broker`: one process of an instance, lead (rank 0) or follower.

`flux broker [-c PATH] [-Sattr=value]… [program…]`. The lead runs the program once its quorum joined and ends
with the program's exit code; a follower ends with 0 when the lead ended the instance or it was told to leave
(SIGTERM), with 1 when it was refused or lost its lead, which a signal to the lead means too.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from broker_config import hostlist
from minicluster.embedded import boot, configuration
from minicluster.embedded.attributes import Attributes
from minicluster.embedded.durations import configured
from minicluster.embedded.errors import BootError, ConfigurationError, EmbeddedError
from minicluster.embedded.local_socket import LocalSocket
from minicluster.embedded.log import CRIT, DEBUG, ERR, INFO, Log
from minicluster.embedded.overlay import VERSION, FollowerOverlay, Timing
from minicluster.embedded.processes import MARKER, Reaper, signal_family
from minicluster.embedded.services import Registry
from minicluster.embedded.spawn import Surroundings
from minicluster.embedded.tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.embedded.ports import JSON

USAGE = "Usage: flux broker [-c PATH] [-S NAME=VALUE]... [PROGRAM [ARGUMENTS...]]"
KILL_TIMEOUT = 5.0
"""Seconds between SIGTERM and SIGKILL; `[exec] kill-timeout` overrides it, as in Flux."""


class Options:
    """The command line: `config` path, `settings` of -S, and the initial program's words."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.config: str | None = None
        self.settings: dict[str, str] = {}
        words = list(argv)
        while words and words[0].startswith("-"):
            word = words.pop(0)
            if word == "--":
                break
            self._option(word, words)
        self.program = words

    def _option(self, word: str, rest: list[str]) -> None:
        for short, long in (("-c", "--config-path"), ("-S", "--setattr")):
            if word in {short, long}:
                if not rest:
                    raise ConfigurationError(f"option {word} needs a value\n{USAGE}")
                return self._set(short, rest.pop(0))
            if word.startswith(f"{long}="):
                return self._set(short, word.removeprefix(f"{long}="))
            if word.startswith(short) and not word.startswith("--"):
                return self._set(short, word[2:])
        if word not in {"-v", "--verbose"}:
            raise ConfigurationError(f"unknown option {word}\n{USAGE}")
        return None

    def _set(self, option: str, value: str) -> None:
        if option == "-c":
            self.config = value
        else:
            name, given, text = value.partition("=")
            self.settings[name] = text if given else "1"


class Broker:
    """What lead and follower have in common: attributes, local socket, tasks of jobs on this rank."""

    def __init__(
        self, options: Options, config: JSON, attributes: Attributes, log: Log, place: boot.Place
    ) -> None:
        self.options = options
        self.config = config
        self.attributes = attributes
        self.log = log
        self.place = place
        self.rank = place.boot.rank
        self.registry = Registry(log)
        self.reaper = Reaper()
        self.rundir, self._own_rundir = _rundir(attributes)
        self._describe()
        self.end: asyncio.Event = asyncio.Event()
        self._socket: LocalSocket | None = None
        attributes.register(self.registry)

    def _describe(self) -> None:
        path = self.attributes.get("local-uri") or f"local://{self.rundir}/local-{self.rank}"
        self.uri = path
        known = {
            "rank": self.rank,
            "size": self.place.boot.size,
            "local-uri": path,
            "rundir": self.rundir,
            "version": VERSION,
            "instance-level": self.place.level,
            "hostlist": hostlist.encode(self.place.boot.hosts),
            "hostname": self.place.boot.hosts[self.rank],
            "broker.pid": os.getpid(),
            "broker.starttime": f"{time.time():.2f}",
            "broker.uuid": uuid.uuid4(),
            "broker.boot-method": "config" if "bootstrap" in self.config else "simple",
            "security.owner": os.getuid(),
        }
        for name, value in known.items():
            self.attributes.set(name, value)
        for name, text in (("jobid", self.place.jobid), ("parent-uri", self.place.parent_uri)):
            if text is not None:
                self.attributes.set(name, text)

    @property
    def timing(self) -> Timing:
        """Return the overlay's time limits."""
        names = ("tbon.connect_timeout", "tbon.tcp_user_timeout")
        return Timing(*(configured(self.attributes.get(name), name) for name in names))

    @property
    def grace(self) -> float:
        """Return the seconds from SIGTERM to SIGKILL."""
        return configured(
            self.config.get("exec", {}).get("kill-timeout", KILL_TIMEOUT), "[exec] kill-timeout"
        )

    def surroundings(self) -> Surroundings:
        """Return what this broker adds to its tasks."""
        outer = os.environ.get(MARKER)
        mine = str(self.attributes.get("broker.uuid"))[:8]
        return Surroundings(self.uri, self.rundir, f"{outer}/{mine}" if outer else mine)

    async def open(self) -> None:
        """Begin to serve: children, signals, local socket."""
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
        """Hang up, end whatever still runs below, remove what was made for this run only."""
        if self._socket is not None:
            await self._socket.close()
        signal_family(self.reaper.orphans(), signal.SIGKILL)
        if self._own_rundir:
            shutil.rmtree(self.rundir, ignore_errors=True)


class Follower(Broker):
    """A broker that serves the lead."""

    async def run(self) -> int:
        """Live until the lead, the link or a signal ends it; return the exit code."""
        from minicluster.embedded.forwarding import FollowerSide  # noqa: PLC0415 - a lead never needs it

        self._code = 0
        overlay = self._overlay = FollowerOverlay(self.place.boot, self.log, self.timing)
        overlay.ended = self._ended
        self.registry.fallback = FollowerSide(overlay).forward
        host = self.place.boot.hosts[self.rank]
        tasks = Tasks(overlay, self.reaper, self.surroundings(), host, self.grace)
        await self.open()
        try:
            overlay.open()
            self._naming = asyncio.ensure_future(self._take_names())
            await self.end.wait()
            self._naming.cancel()
            await tasks.end_all()
            overlay.goodbye("shutdown")
        finally:
            overlay.close()
            await self.close()
        return self._code

    async def _take_names(self) -> None:
        welcome = await asyncio.shield(self._overlay.welcome)
        self.attributes.set("hostlist", hostlist.encode(welcome["hosts"]))
        self.attributes.set("hostname", welcome["hosts"][self.rank])
        self.log(INFO, f"joined {self.place.boot.connect} as rank {self.rank}")

    def _ended(self, error: BootError | None) -> None:
        if not self.end.is_set():
            if error is not None:
                self._code = 1
                self.log(CRIT, str(error), "overlay")
            else:
                self.log(DEBUG, "the lead ended the instance", "overlay")
            self.end.set()

    def terminate(self, signum: int) -> None:
        """Leave: the lead gives this rank no more work, and fails what it ran."""
        self.log(INFO, f"{signal.Signals(signum).name}: administrative shutdown")
        self._overlay.goodbye("administrative shutdown")
        self.end.set()


def _rundir(attributes: Attributes) -> tuple[Path, bool]:
    given = attributes.get("rundir")
    if given is None:
        return Path(tempfile.mkdtemp(prefix="flux-")), True
    path = Path(given)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BootError(f"rundir error creating {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise BootError(f"rundir {path} is not writable")
    return path, False


def main(argv: Sequence[str]) -> int:
    """Run `flux broker` and return its exit code."""
    log = Log(os.uname().nodename)
    try:
        options = Options(argv)
        attributes = Attributes(options.settings)
    except ConfigurationError as error:
        print(f"broker: {error}", file=sys.stderr)
        return 1
    try:
        return _run(options, attributes, log)
    except (EmbeddedError, OSError) as error:
        log(CRIT if isinstance(error, ConfigurationError) else ERR, str(error))
        return 1
    except KeyboardInterrupt:
        return 130


def _run(options: Options, attributes: Attributes, log: Log) -> int:
    level = attributes.get("log-stderr-level") or "3"
    if not level.isdigit() or not 0 <= int(level) <= 7:
        raise ConfigurationError(
            f"log-stderr-level: {level!r} is no level; right would be 0 (emerg) to 7 (debug)"
        )
    log.level = int(level)
    hostname = attributes.get("hostname") or os.uname().nodename
    log.name = hostname
    config = configuration.load(options.config)
    place = boot.find(config, hostname, os.environ)
    log.name = str(place.boot.rank)
    return asyncio.run(_live(options, config, attributes, log, place))


async def _live(options: Options, config: JSON, attributes: Attributes, log: Log, place: boot.Place) -> int:
    if place.boot.rank:
        return await Follower(options, config, attributes, log, place).run()
    from minicluster.embedded.lead import Lead  # noqa: PLC0415 - followers never load the engine

    return await Lead(options, config, attributes, log, place).run()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main(sys.argv[1:]))
