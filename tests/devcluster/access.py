"""How one user reaches one cluster: a kubeconfig file, and what is in it."""

import base64
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.devcluster.certificates import Pair, write
from tests.devcluster.errors import ContextError


@dataclass(frozen=True, slots=True)
class Access:
    """A user's access: a client certificate or a token authenticates it; `url` has no slash at its end."""

    kubeconfig: Path
    url: str
    authority: bytes | None
    certificate: bytes | None = None
    key: bytes | None = None
    token: str | None = None
    context: str | None = None

    def tls(self) -> ssl.SSLContext:
        """Trust the cluster's authority, and bring the client certificate."""
        trust = None if self.authority is None else self.authority.decode()
        context = ssl.create_default_context(cadata=trust)
        if self.certificate is not None and self.key is not None:
            with tempfile.TemporaryDirectory() as folder:  # the ssl module reads them from files only
                pair = Pair(Path(folder, "client.crt"), Path(folder, "client.key"))
                write(pair.certificate, self.certificate)
                write(pair.key, self.key)
                context.load_cert_chain(pair.certificate, pair.key)
        return context


def write_access(file: Path, url: str, authority: bytes, pair: Pair) -> Access:
    """Write a kubeconfig for the holder of a client certificate."""
    certificate, key = pair.certificate.read_bytes(), pair.key.read_bytes()
    user = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)}
    cluster = {"server": url, "certificate-authority-data": encoded(authority)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": user}],
    }
    write(file, yaml.safe_dump(document, sort_keys=False).encode())
    return Access(file, url, authority, certificate, key, context="test")


def read_access(file: Path, context: str | None = None) -> Access:
    """Read a kubeconfig: the named context, else its current one; by certificate or token.

    Raises ContextError for what is missing, and for users that a plug-in or a provider authenticates.
    """
    try:
        document = yaml.safe_load(file.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ContextError(f"{file}: {error}") from error
    name = context or document.get("current-context") or ""
    chosen = named(document, "contexts", "context", name, file)
    cluster = named(document, "clusters", "cluster", chosen.get("cluster", ""), file)
    user = named(document, "users", "user", chosen.get("user", ""), file)
    certificate, key = material(user, "client-certificate", file), material(user, "client-key", file)
    token = user.get("token")
    if token is None and (certificate is None or key is None):
        raise ContextError(
            f"{file}: context {name!r} has neither a client certificate nor a token; "
            "the tests do not run authentication plug-ins: make a context with a service account's token"
        )
    authority = material(cluster, "certificate-authority", file)
    return Access(file, cluster["server"].rstrip("/"), authority, certificate, key, token, name)


def default_kubeconfig() -> Path:
    """Name the file that kubectl would read first."""
    paths = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    return Path(paths[0]) if paths[0] else Path.home() / ".kube" / "config"


def named(document: Mapping[str, Any], many: str, one: str, name: str, file: Path) -> dict[str, Any]:
    """Find an entry of a kubeconfig's lists by name."""
    entries = {entry["name"]: entry[one] for entry in document.get(many) or []}
    if name not in entries:
        raise ContextError(f"{file}: no {one} {name!r}; there are {', '.join(sorted(entries)) or 'none'}")
    return dict(entries[name] or {})


def material(entry: Mapping[str, Any], key: str, file: Path) -> bytes | None:
    """Return what an entry holds in itself (`<key>-data`) or names by path (`<key>`)."""
    if data := entry.get(f"{key}-data"):
        return base64.b64decode(data)
    if path := entry.get(key):
        return Path(file.parent, path).read_bytes()
    return None


def encoded(content: bytes) -> str:
    """Write bytes as a kubeconfig holds them."""
    return base64.b64encode(content).decode()
