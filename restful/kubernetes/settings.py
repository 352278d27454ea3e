"""The settings of the service on Kubernetes, from the command line: one frozen record, and its checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.database import DatabaseUrlInvalid, given_url
from restful.cli.errors import WrongOptions

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.kube_client.access import Access
    from minicluster.kube_client.logs import LogFormat, LogLevel
    from restful.cli.endpoint import ServeEndpoint
    from restful.cli.login_options import LoginOptions
    from restful.clusters.spec import Tenancy


@dataclass(frozen=True, slots=True)
class RestApiSettings:
    """The settings of one replica."""

    access: Access
    namespaces: tuple[str, ...]
    """Those whose MiniClusters it serves; none: all."""
    secret: tuple[str, str]
    """Namespace and name of the Secret with the keys for leads."""
    tenancy: Tenancy
    """Of MiniClusters that state none."""
    database: str
    """A URL, or "file:" and the path of a file with one."""
    master_key: Path
    endpoint: ServeEndpoint
    host_names: tuple[str, ...]
    """Further names by which it is reached."""
    metrics: tuple[str, int]
    """Address (empty: every one) and port (0: any) of /metrics and the probes."""
    logins: LoginOptions
    log_format: LogFormat
    log_level: LogLevel
    identity: str
    """Its name in the API server's audit log."""


def database_url(text: str) -> str:
    """Return the URL of the database, perhaps out of its file. Raises WrongOptions, DatabaseError."""
    try:
        return given_url(text)
    except DatabaseUrlInvalid as error:
        raise WrongOptions(str(error)) from error
