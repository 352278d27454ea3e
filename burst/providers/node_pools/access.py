"""The API server of a cloud's cluster, reached with the cloud's credentials: address, authority and token."""

from __future__ import annotations

import base64
import hashlib
import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from minicluster.kube_client import proxies
from minicluster.kube_client.access import Access
from minicluster.kube_client.credentials import ApiCredentials

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEPT_SECONDS = 600.0
"""For how long the answer of the cloud is kept: a cluster of the same name may be another one by then."""


class ClusterEndpoint(NamedTuple):
    """Where a cluster's API server is, as its cloud reports it."""

    server: str
    """Its URL."""
    authority: str = ""
    """Base64 of the certificates that may sign its own, in PEM; empty: those of this machine."""


@dataclass(slots=True)
class _KeptEndpoint:
    endpoint: ClusterEndpoint | None = None
    asked: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudAccess(Access):
    """Asks the cloud where the API server is, and shows it a token that is made anew for each connection."""

    endpoint: Callable[[], ClusterEndpoint]
    """Asks the cloud. Raises ProviderError."""
    token: Callable[[], str]
    """Returns a token, which is secret. Raises ProviderError."""
    folder: Path
    """A private directory for certificates of authorities: clients read them from a file."""
    pods_namespace: str = "default"
    _kept: _KeptEndpoint = field(default_factory=_KeptEndpoint, repr=False, compare=False)

    def connect(self) -> ApiCredentials:
        """Return address and credentials. Raises ProviderError and AccessError."""
        found = self._endpoint()
        return ApiCredentials(
            server=found.server,
            ca_path=self._written(found.authority),
            scheme="Bearer",
            token=self.token(),
            default_namespace=self.pods_namespace,
            proxy_url=proxies.usable(found.server, proxies.of_environment(found.server)),
        )

    def namespace(self) -> str:
        """Return the namespace of bursts."""
        return self.pods_namespace

    def _endpoint(self) -> ClusterEndpoint:
        with self._kept.lock:
            now = time.monotonic()
            if self._kept.endpoint is None or now - self._kept.asked > KEPT_SECONDS:
                self._kept.endpoint, self._kept.asked = self.endpoint(), now
            return self._kept.endpoint

    def _written(self, authority: str) -> str | None:
        """Return a file with these certificates, which are not secret; it is never written in part."""
        if not authority:
            return None
        data = base64.b64decode(authority)
        path = self.folder / f"{hashlib.sha256(data).hexdigest()[:16]}.crt"
        if not path.exists():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
            part.write_bytes(data)
            part.replace(path)
        return str(path)
