"""Where a cluster is installed: its files, its processes, its API server's address, and its users."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.devcluster import components
from tests.devcluster.access import Access, write_access
from tests.devcluster.api import Api
from tests.devcluster.certificates import Authority
from tests.devcluster.components import Endpoint, Flags
from tests.devcluster.errors import ComponentError
from tests.devcluster.lookup import Programs
from tests.devcluster.processes import Guardian
from tests.devcluster.waiting import until

READY_SECONDS = 300.0  # it takes 3 s; a machine that also builds something takes longer


@dataclass(frozen=True, slots=True)
class Installation:
    """What every part of a cluster builds on; `users` signs client certificates, `api` may do everything."""

    directory: Path
    programs: Programs
    guardian: Guardian
    endpoint: Endpoint
    users: Authority
    api: Api

    @property
    def url(self) -> str:
        """The API server's base URL."""
        return self.endpoint.url

    def user(self, name: str, groups: Iterable[str] = ()) -> Access:
        """Return a way in for a user that has no rights but those bound to its name and groups."""
        file = f"user-{quote(name, safe='')}"
        pair = self.users.issue(file, name, groups)
        written = self.directory / f"{file}.kubeconfig"
        return write_access(written, self.url, self.users.file.read_bytes(), pair)

    def run(self, name: str, flags: Flags, changes: Flags) -> None:
        """Start one of the programs."""
        self.guardian.start(name, components.command(self.programs[name], flags, changes), components.GO)

    def wait(self, probe: Callable[[], bool], name: str, what: str) -> None:
        """Wait for a step; a program that ends meanwhile, or takes too long, raises with its log."""

        def poll() -> bool:
            self.guardian.check()
            return probe()

        try:
            until(poll, f"{name} {what}", READY_SECONDS)
        except TimeoutError as error:
            raise ComponentError(f"{error}; the end of its log:\n{self.guardian.tail(name)}") from error
