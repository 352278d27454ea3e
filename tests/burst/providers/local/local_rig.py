"""The provider `local` with a MiniCluster that is files alone: its start script only runs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from burst.joining.records import JoinSettings
from burst.lifecycle.records import ResourcePhase
from burst.providers.local import KIND
from burst.providers.local.provider import MACHINE
from burst.providers.local.records import BurstDirectory, BurstOwner
from burst.providers.local.settings import LocalSettings
from burst.providers.provider import WantedBurst
from minicluster.document import MiniCluster
from minicluster.local import processes
from tests.devcluster.waiting import until

if TYPE_CHECKING:
    from burst.lifecycle.records import ResourceKey
    from burst.providers.local.provider import LocalProvider

BROKER_TOML = """\
[bootstrap]
hosts = [{host = "near-0", bind = "tcp://[::1]:1", connect = "tcp://[::1]:1"}, {host = "burst-0-[0-3]"}]
"""
RUNS = """\
: >"$MINICLUSTER_RUN/local"
exec sleep 1000
"""
DOCUMENT = {
    "apiVersion": "flux-framework.org/v1alpha2",
    "kind": "MiniCluster",
    "metadata": {"name": "near"},
    "spec": {
        "size": 1,
        "flux": {"bursting": {"clusters": [{"name": "burst-0", "size": 4}]}},
        "containers": [{"image": "test"}],
    },
}


class FixedContext:
    """A provider's context with a MiniCluster that is always there."""

    def __init__(self, state: Path, cluster: Path | None, **settings: float) -> None:
        self.state = state
        document = MiniCluster.model_validate(DOCUMENT)
        self.settings = JoinSettings(
            document, "burst-0", "127.0.0.1", 1, "secret", directory=cluster, **settings
        )

    def join(self, wanted: WantedBurst) -> JoinSettings:
        return self.settings


class LocalRig:
    """Directories and processes that only run."""

    machine = MACHINE

    def __init__(self, script: str = RUNS) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="mcl-"))  # short: it has sockets
        self.cluster = self.path / "near"
        config = self.cluster / "etc"
        config.mkdir(parents=True)
        (config / "broker.toml").write_text(BROKER_TOML)
        (config / "start.sh").write_text(script)
        self.provider = self.opened(LocalSettings(most=4))

    def opened(self, settings: LocalSettings, **join: float) -> LocalProvider:
        context = FixedContext(self.path, self.cluster, **join)
        return KIND.open("local", settings, context)  # type: ignore[arg-type]

    @property
    def root(self) -> Path:
        return self.path / "local-bursts"

    def directory(self, key: ResourceKey) -> BurstDirectory:
        return BurstDirectory(self.root / key.name)

    def wait(self) -> None:
        moving = (ResourcePhase.COMING, ResourcePhase.GOING)

        def rests() -> bool:
            found = [each for owner in ("here", "elsewhere") for each in self.provider.owned(owner)]
            for each in found:
                if each.phase is ResourcePhase.GOING:  # as a service does it: until it is gone
                    wanted = WantedBurst(each.burst, each.installation, 0, "", spot=False, until=0.0)
                    self.provider.delete(each.key, wanted)
            return not any(each.phase in moving for each in found)

        until(rests, "all bursts to have come or gone", 60.0)

    def occupy(self, key: ResourceKey) -> None:
        path = self.root / key.name
        path.mkdir(parents=True)
        BurstDirectory(path).write(BurstOwner("other", "elsewhere", 1, 1.0))

    def others(self) -> int:
        owners = [BurstDirectory(path).owner() for path in self.root.glob("mcb-*")]
        return sum(each is not None and each.installation == "elsewhere" for each in owners)

    def running(self, key: ResourceKey) -> set[int]:
        """The processes of a burst's brokers."""
        return {pid for pid in processes.marked(self.root / key.name) if processes.start_time(pid)}

    def close(self) -> None:
        """End what there is."""
        for path in self.root.glob("mcb-*"):
            directory = BurstDirectory(path)
            status = directory.status()
            if status is not None and status.is_alive:
                processes.send(status.pid, 9)
                until(lambda status=status: not status.is_alive, "the supervisor's end", 10)
            processes.sweep(lambda path=path: processes.marked(path))
        until(self._is_removed, "an empty directory", 20)

    def _is_removed(self) -> bool:
        shutil.rmtree(self.path, ignore_errors=True)  # a supervisor may be removing a part of it
        return not self.path.exists()
