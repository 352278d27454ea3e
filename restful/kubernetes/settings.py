"""The settings of the service on Kubernetes, from the command line: one frozen record, and its checks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.database import address
from restful.cli.errors import WrongOptions

if TYPE_CHECKING:
    from minicluster.kube_client.access import Access
    from minicluster.kube_client.logs import LogFormat, LogLevel
    from restful.cli.endpoint import ServeEndpoint
    from restful.cli.login_options import LoginOptions
    from restful.clusters.spec import Tenancy

FILE = "file:"
MAX_URL_BYTES = 4096


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
    if text.startswith(FILE):
        return _content(Path(text.removeprefix(FILE)))
    if address.parsed(text).has_password:
        raise WrongOptions(
            "--database: a password on the command line is seen by everybody on the node: write the URL into"
            " a file, and give --database file:PATH"
        )
    return text


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_URL_BYTES + 1)
        text = content.decode().strip()
    except OSError as error:
        raise WrongOptions(f"--database {FILE}{path}: {error.strerror}") from error
    except ValueError:
        text = ""
    if not text or len(content) > MAX_URL_BYTES or len(text.split()) != 1:
        raise WrongOptions(f"--database {FILE}{path}: needed is a file with a URL alone, on one line")
    address.parsed(text)  # raises, without a word of it
    return text
