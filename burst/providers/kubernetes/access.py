"""Kubeconfigs of administrators: nothing in them may run a program, or have a file read.

Such a file may have been written by somebody else, as that of a cloud's console is; the service would run
what it names, with its own rights.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from minicluster.kube_client import service_account
from minicluster.kube_client.access import Access
from minicluster.kube_client.errors import AccessError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from minicluster.kube_client.credentials import ApiCredentials

_RUNS = {
    "exec": "runs a program",
    "auth-provider": "runs a plug-in",
}
_READS = {
    "tokenFile": "token",
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
    "certificate-authority": "certificate-authority-data",
}
"""Fields with a path, and those with the same inside the file."""
_HINT = "`kubectl create token` makes a token, and `kubectl config view --flatten` writes files inside"


@dataclass(frozen=True, slots=True)
class CheckedAccess(Access):
    """Credentials of a kubeconfig that runs nothing and reads no file, or of the service's own pod."""

    def connect(self) -> ApiCredentials:
        """Return address and credentials, read and checked anew. Raises AccessError."""
        if not self.kubeconfig:
            return service_account.credentials()
        check(Path(self.kubeconfig), self.context)
        return Access(self.kubeconfig, self.context).connect()


def server(access: Access) -> str:
    """Return the address of the API server. Raises AccessError."""
    return access.connect().server if access.kubeconfig else "in-cluster"


def check(path: Path, context: str) -> None:
    """Raise AccessError where a context of a kubeconfig runs a program, or has a file read."""
    if found := list(_refused(*_parts(path, context))):
        raise AccessError(f"kubeconfig {path}: {'; '.join(found)}: {_HINT}")


def _refused(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> Iterator[str]:
    for key, why in _RUNS.items():
        if user.get(key):
            yield f"`{key}` {why}, which is refused"
    for key, inside in _READS.items():
        if user.get(key) or cluster.get(key):
            yield f"`{key}` names a file, which is refused; `{inside}` would be right"


def _parts(path: Path, context: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return cluster and user of a context."""
    try:
        found = yaml.safe_load(path.read_bytes()) or {}
        chosen = _named(found, "contexts", context or found.get("current-context") or "")["context"]
        cluster = _named(found, "clusters", chosen["cluster"])["cluster"]
        return cluster, _named(found, "users", chosen["user"]).get("user") or {}
    except OSError as error:
        raise AccessError(f"kubeconfig {path} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise AccessError(f"kubeconfig {path} is no YAML") from error
    except KeyError as error:
        raise AccessError(f"kubeconfig {path} is not complete: it lacks {error}") from error
    except (TypeError, AttributeError) as error:
        raise AccessError(f"kubeconfig {path} has no contexts, clusters and users as it should") from error
    except LookupError as error:
        raise AccessError(f"kubeconfig {path}: {error}") from error


def _named(found: Mapping[str, Any], section: str, name: str) -> Mapping[str, Any]:
    listed = found.get(section) or ()
    for each in listed:
        if each["name"] == name:
            named: Mapping[str, Any] = each
            return named
    if not name:
        raise LookupError("it has no current context; name one of its own in the settings")
    names = ", ".join(each["name"] for each in listed)
    raise LookupError(f"its {section} have no {name!r}, but {names or 'nothing'}")
