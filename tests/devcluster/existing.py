"""A cluster that is there already, named by a context of a kubeconfig."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.devcluster.access import Access, default_kubeconfig, read_access
from tests.devcluster.api import BROKEN, Api
from tests.devcluster.control_plane import CRDS, wait_served
from tests.devcluster.errors import ContextError
from tests.devcluster.options import Object


@dataclass(frozen=True, slots=True)
class ExistingCluster:
    """The part of a ControlPlane that tests may use on an existing cluster."""

    admin: Access
    api: Api

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig; its context is `admin.context`."""
        return self.admin.kubeconfig

    @property
    def url(self) -> str:
        """The API server's base URL."""
        return self.admin.url

    @property
    def version(self) -> str:
        """The API server's version, such as v1.36.3."""
        return str(self.api.get("/version")["gitVersion"])

    def stop(self) -> None:
        """Hang up; the cluster stays as it is."""
        self.api.hang_up()


def connect(context: str, crds: Sequence[Object] = (), kubeconfig: Path | None = None) -> ExistingCluster:
    """Use the cluster of a context, with these CRDs applied; raise ContextError for an unusable one."""
    admin = read_access(kubeconfig or default_kubeconfig(), context)
    found = ExistingCluster(admin, Api(admin))
    try:
        found.api.get("/version")
    except BROKEN as error:
        raise ContextError(f"context {context!r}: {admin.url} cannot be reached: {error}") from error
    for crd in crds:
        found.api.apply(f"{CRDS}/{crd['metadata']['name']}", crd)
    for crd in crds:
        wait_served(found.api, crd)
    return found
