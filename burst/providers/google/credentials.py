"""Whose rights are used at Google Cloud, and how its clients are opened with them."""

from __future__ import annotations

import contextlib
import importlib
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from burst.errors import AccessDenied
from burst.providers.google.api_errors import translated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.errors import ProviderError
    from burst.providers.google.settings import GoogleProject

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
TIMEOUT = 30.0
"""Seconds until a request has failed: the same call is made again later."""
_RUNS = "executable"


@dataclass(slots=True)
class GoogleAccount:
    """Opens clients with the credentials of a provider's settings, which are read at the first call.

    Access tokens are got from the credentials' own token service and kept until shortly before they expire.
    """

    name: str
    """The provider's."""
    settings: GoogleProject
    _credentials: Any = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @contextlib.contextmanager
    def visit(self, location: str) -> Iterator[GoogleClients]:
        """Open clients for some calls. Raises ProviderError for whatever these raise."""
        clients = GoogleClients(self)
        try:
            yield clients
        except Exception as error:
            raise self._refused(error, location) from error
        finally:
            clients.close()

    def token(self, location: str) -> str:
        """Return an access token that is good for some minutes at least. Raises ProviderError."""
        try:
            found = self.credentials()
            with self._lock:
                if not found.valid:
                    found.refresh(self.module("google.auth.transport.requests").Request())
                return str(found.token)
        except Exception as error:
            raise self._refused(error, location) from error

    def _refused(self, error: Exception, location: str) -> ProviderError:
        """Return the error for one of a client's; credentials that are refused are read anew afterwards."""
        found = translated(error, location)
        if isinstance(found, AccessDenied):
            self._credentials = None
        return found

    def credentials(self) -> Any:
        """Return the credentials. Raises AccessDenied, which names the file."""
        with self._lock:
            if self._credentials is None:
                self._credentials = self._read()
            return self._credentials

    def module(self, name: str) -> Any:
        """Import a module of Google's clients."""
        return importlib.import_module(name)

    def _read(self) -> Any:
        auth = self.module("google.auth")
        errors = self.module("google.auth.exceptions")
        path = self.settings.credentials_file
        try:
            if path is None:
                return auth.default(scopes=SCOPES)[0]
            return self._of_file(json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise AccessDenied(f"credentials file {path} cannot be read: {error.strerror}") from error
        except (ValueError, AttributeError, LookupError, errors.MalformedError) as error:
            text = str(error) or type(error).__name__
            raise AccessDenied(f"credentials file {path} is no JSON of a service account: {text}") from error
        except errors.DefaultCredentialsError as error:
            raise AccessDenied(f"application default credentials: {error}") from error

    def _of_file(self, content: dict[str, Any]) -> Any:
        kind = content.get("type")
        if kind == "service_account":
            service = self.module("google.oauth2.service_account")
            return service.Credentials.from_service_account_info(content, scopes=SCOPES)
        source = content.get("credential_source") or {}
        if kind != "external_account" or _RUNS in source:
            wrong = "runs a program" if _RUNS in source else f"is of type {kind!r}"
            raise AccessDenied(
                f"credentials file {self.settings.credentials_file} {wrong}, which is refused: right would be"
                " a service_account, or an external_account that reads a file or asks a URL"
            )
        name = "aws" if str(source.get("environment_id", "")).startswith("aws") else "identity_pool"
        return self.module(f"google.auth.{name}").Credentials.from_info(content, scopes=SCOPES)


class GoogleClients:
    """The official clients, each opened where it is used first, over REST."""

    def __init__(self, account: GoogleAccount) -> None:
        self._account = account
        self._open: dict[str, Any] = {}

    def compute(self, service: str) -> Any:
        """Return a client of Compute Engine, such as `RegionInstances`."""
        return self._client("compute_v1", service, service)

    @property
    def clusters(self) -> Any:
        """The client of GKE."""
        return self._client("container_v1", "ClusterManager", "ClusterManager")

    def post(self, url: str, path: str, body: object) -> Any:
        """Return the answer of another service of Google's, by its URL and path, as `requests` has it."""
        session = self._open.get("session")
        if session is None:
            transport = self._account.module("google.auth.transport.requests")
            session = self._open["session"] = transport.AuthorizedSession(self._account.credentials())
        address = self._account.settings.endpoint or url
        return session.post(f"{address}{path}", json=body, timeout=TIMEOUT)

    def close(self) -> None:
        """Close their connections."""
        for each in self._open.values():
            close = getattr(each, "close", None) or each.transport.close
            close()

    def _client(self, package: str, service: str, key: str) -> Any:
        found = self._open.get(key)
        if found is None:
            module = self._account.module(f"google.cloud.{package}")
            client = getattr(module, f"{service}Client")
            transport = client.get_transport_class("rest")
            given = {"host": endpoint} if (endpoint := self._account.settings.endpoint) else {}
            found = self._open[key] = client(
                transport=transport(credentials=self._account.credentials(), **given)
            )
        return found
