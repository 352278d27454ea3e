"""A MiniCluster on real nodes that is saved to a directory of this machine, with a ledger of its jobs."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.devcluster import ControlPlane, until
from tests.kubernetes.ledger import Ledger
from tests.kubernetes.live import SECONDS, Live
from tests.kubernetes.operators import events, path

ARCHIVE = "/archive/mc.tgz"


class Archived:
    """A MiniCluster with an archive on this machine, and a ledger of its jobs."""

    def __init__(self, live: Live, nodes: ControlPlane, folder: Path) -> None:
        self.live = live
        self.ledger = Ledger.of(live, nodes, folder / "ledger")
        self.folder = folder / "archive"
        self.folder.mkdir()
        self.folder.chmod(0o777)

    def create(
        self,
        size: int,
        archive_volume: dict[str, Any] | None = None,
        volumes: dict[str, Any] | None = None,
        resources: dict[str, Any] | None = None,
        brokers: int = 0,
        **spec: Any,
    ) -> None:
        """Create it, and wait until all brokers have joined: as many as its size, or where it is cut more."""
        container = self.ledger.container()
        container["resources"] = resources or container["resources"]
        usual = {"hostPath": str(self.folder), "path": "/archive"}
        container["volumes"] |= {"archive": archive_volume or usual, **(volumes or {})}
        wanted = {"interactive": True, "size": size, "maxSize": 4, "minSize": 1, **spec}
        self.live.create(container, archive={"path": ARCHIVE}, **wanted).joined(brokers or size)

    def shell(self, command: str) -> str:
        """Run a command in the lead's container; return its output."""
        done = self.ledger.minicluster.process("shell", self.live.name, "--", "sh", "-c", command)
        assert done.returncode in {0, 1}, done.stderr  # 1: the disk is full
        return done.stdout

    def release(self) -> None:
        """Let jobs end when their time is over."""
        (self.ledger.folder / "released").touch()

    def suspend_amid_work(self) -> dict[str, Any]:
        """Suspend it while jobs run and wait; let jobs end once those that run are waited for.

        Return its status when that has come to an end.
        """
        running = len(self.ledger.running())
        self.live.change(suspend=True)
        words = f"waiting for {running} {'job' if running == 1 else 'jobs'}"
        until(lambda: words in self.live.message("Suspended"), f"{words!r} to be said", SECONDS)
        self.release()
        return self.live.until(Suspended=("True", "Suspended"))

    def suspend(self) -> dict[str, Any]:
        """Suspend it; return its status once that is done."""
        self.live.change(suspend=True)
        return self.live.until(Suspended=("True", "Suspended"))

    def resume(self, size: int) -> None:
        """Have it go on with so many brokers."""
        self.live.change(suspend=False, size=size)
        self.live.joined(size)

    def pending(self) -> set[str]:
        """Return which jobs wait."""
        return {row["id"] for row in self.ledger.listed("SCHED")}

    def event(self, reason: str) -> str:
        """Wait for an Event of a reason, the only one; return its note."""
        (found,) = until(lambda: self.notes_of(reason), f"the Event {reason}", SECONDS)
        return str(found)

    def notes_of(self, reason: str) -> list[str]:
        """Return the Events of a reason."""
        return [note for _, found, note in events(self.live.api, self.live.namespace) if found == reason]

    def completed(self, but: Collection[str] = ()) -> None:
        """Wait until all jobs have completed, each once; those of `but` may be listed as failed."""
        try:
            until(lambda: not self.missing(but), "all jobs to complete", 2 * SECONDS)
        except TimeoutError as error:
            known = f"{self.ledger.written()} {self.ledger.listed()}"
            raise AssertionError(f"{error}: {known}\n{self.live.picture()}") from error
        assert set(self.ledger.written().values()) == {1}

    def missing(self, but: Collection[str]) -> set[str]:
        """Return the jobs that have neither completed nor, if they may, failed for a reason."""
        failed = (
            {row["id"] for row in self.ledger.listed("FAILED") if row["exception"]} if but else set[str]()
        )
        written = self.ledger.written()
        left = {job for number, job in enumerate(self.ledger.ids) if number not in written}
        return left - (failed & set(but))

    def gone(self) -> None:
        """Wait until it and its pods are gone."""
        pods = f"/api/v1/namespaces/{self.live.namespace}/pods"
        resource_path = path(self.live.namespace, self.live.name)
        until(lambda: not self.live.api.exists(resource_path), "the MiniCluster to be gone", SECONDS)
        until(lambda: not self.live.api.items(pods), "its pods to be gone", SECONDS)
