"""The lead server's files, copies of a Secret: certificate chain, key and tokens."""

from __future__ import annotations

import ssl
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from minicluster.lead_server import aggregation
from minicluster.lead_server.aggregation import Aggregation, ProxyContext
from minicluster.lead_server.errors import FilesUnusable
from minicluster.lead_server.purposes import METRICS, PURPOSES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_Context = TypeVar("_Context", bound=ssl.SSLContext)
CERTIFICATE, KEY, TOKEN = "door.crt", "door.key", "door.token"
DOMAIN = ".door.minicluster"
"""The suffix of the server name (SNI) by which the operator asks for the lead server's own certificate."""
READERS_CERTIFICATE, READERS_KEY, READERS_AUTHORITY = "tls.crt", "tls.key", "ca.crt"
"""In another directory: the document's certificate for readers of metrics, and the authority of theirs."""
METRICS_TOKEN = PURPOSES[METRICS].file_name
"""Also beside the certificate, where release 0.1.0 had it; one in the directory of tokens counts instead."""
POLL_INTERVAL = 1.0
"""Seconds between two checks whether the files have changed."""
SHORTEST_TOKEN = 32
"""Characters. A token that can be guessed protects nothing."""


class ServerCredentials:
    """The TLS contexts and tokens, read again when the files change. Unusable files are logged.

    `tokens` is a directory with a token for each purpose, as far as they are there; they may come later.
    The certificate depends on the server name (SNI) that a client asks for. Names that end in DOMAIN get the
    lead server's own. Others get that of the directory `readers`, if there is one. The name that this
    directory gives for the API server gets it too; of clients only the front proxy is accepted there.

    Raises FilesUnusable if the lead server's own files cannot be used at the beginning.
    """

    def __init__(
        self,
        directory: str,
        log: Callable[[str], None] = lambda _: None,
        readers: str = "",
        tokens: str = "",
    ) -> None:
        self._directory = directory
        self._readers = readers
        self._purposes = Path(tokens) if tokens else None
        self.tokens: Mapping[str, bytes] = {}
        """By purpose: the tokens that are good for it alone."""
        self._for_readers: ssl.SSLContext | None = None
        self._for_proxy: ProxyContext | None = None
        self._log = log
        self._lock = threading.Lock()
        self._seen = self._signature()
        self._read_at = time.monotonic()
        self._load()

    def _load(self) -> None:
        made, read = context(self._directory), token(self._directory).encode()
        tokens = self._read_tokens()
        if self._readers:
            self._load_readers()
            self._load_proxy()
            made.verify_mode = ssl.CERT_OPTIONAL  # `_choose` may replace the context, but not this
            made.sni_callback = self._choose
        if self._for_proxy is not None:
            # Older TLS would resume sessions by itself; each connection has to prove its identity.
            made.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context, self.token, self.tokens = made, read, tokens

    def _read_tokens(self) -> Mapping[str, bytes]:
        """Return the token of each purpose that has one."""
        old = {METRICS: Path(self._directory, METRICS_TOKEN)}
        folder = self._purposes
        own = {name: folder / each.file_name for name, each in PURPOSES.items()} if folder else {}
        paths = {name: path for found in (old, own) for name, path in found.items() if path.exists()}
        return {name: token(str(path.parent), path.name).encode() for name, path in paths.items()}

    def _load_readers(self) -> None:
        try:
            self._for_readers = readers_context(self._readers)
        except FilesUnusable as error:
            instead = "that from before stays in use" if self._for_readers else "the lead's own is shown"
            self._log(f"the certificate for readers of metrics: {error}; {instead}")

    def _load_proxy(self) -> None:
        try:
            self._for_proxy = proxy_context(self._readers)
        except FilesUnusable as error:
            instead = "that from before is believed" if self._for_proxy else "nobody is believed to be it"
            self._log(f"the API server's front proxy: {error}; {instead}")

    @property
    def aggregation(self) -> Aggregation | None:
        """The settings for the API server's front proxy; None: none of its APIs is served."""
        return self._for_proxy.aggregation if self._for_proxy is not None else None

    def _choose(self, connection: Any, name: str | None, _context: ssl.SSLContext) -> None:
        proxy = self._for_proxy
        if proxy is not None and (name or "").lower() == proxy.aggregation.host:
            connection.context = proxy
        elif self._for_readers is not None and not (name or "").endswith(DOMAIN):
            connection.context = self._for_readers

    def refresh(self) -> None:
        """Read the files again if they have changed; while they cannot be used, the old ones stay in use."""
        with self._lock:
            if time.monotonic() - self._read_at < POLL_INTERVAL:
                return
            self._read_at = time.monotonic()
            seen = self._signature()
            if seen == self._seen:
                return
            self._seen = seen
            try:
                self._load()
            except FilesUnusable as error:
                self._log(f"the files have changed, and those from before stay in use: {error}")

    def _signature(self) -> tuple[object, ...]:
        """Return a value that changes when a file is replaced; kubelets replace the files of Secrets."""
        paths = [Path(self._directory) / name for name in (CERTIFICATE, KEY, TOKEN, METRICS_TOKEN)]
        if self._purposes:
            paths += [self._purposes / each.file_name for each in PURPOSES.values()]
        if self._readers:
            names = (READERS_CERTIFICATE, READERS_KEY, READERS_AUTHORITY, *aggregation.FILES)
            paths += [Path(self._readers) / name for name in names]
        return tuple(map(_mark, paths))


def _mark(path: Path) -> object:
    try:
        found = path.stat()
    except OSError as error:
        return error.errno
    return found.st_ino, found.st_mtime_ns, found.st_size


def context(directory: str) -> ssl.SSLContext:
    """Return the TLS context of the lead API. Raises FilesUnusable, which names the file."""
    return _context(Path(directory, CERTIFICATE), Path(directory, KEY), ssl.SSLContext)


def readers_context(directory: str) -> ssl.SSLContext:
    """Return the TLS context for readers of metrics. If ca.crt exists, clients may show a certificate.

    Raises FilesUnusable, which names the file.
    """
    made = _context(Path(directory, READERS_CERTIFICATE), Path(directory, READERS_KEY), ssl.SSLContext)
    authority = Path(directory, READERS_AUTHORITY)
    if authority.exists():
        try:
            made.load_verify_locations(cadata=_read(authority))
        except (ssl.SSLError, ValueError) as error:
            raise FilesUnusable(f"{authority} is no certificate: {error}") from error
    made.verify_mode = ssl.CERT_OPTIONAL
    return made


def proxy_context(directory: str) -> ProxyContext | None:
    """Return the TLS context for the API server's front proxy; None if the directory has no files for it.

    Raises FilesUnusable, which names the file.
    """
    paths = [Path(directory, name) for name in aggregation.FILES]
    there = {path.name: _read(path) for path in paths if path.exists()}
    if not there:
        return None
    try:
        found = Aggregation.of(there)
    except FilesUnusable as error:
        raise FilesUnusable(f"{directory}: {error}") from error
    made = _context(Path(directory, READERS_CERTIFICATE), Path(directory, READERS_KEY), ProxyContext)
    found.proxy.trust(made)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.verify_mode = ssl.CERT_OPTIONAL
    made.aggregation = found
    return made


def _context(certificate: Path, key: Path, kind: type[_Context]) -> _Context:
    for path in (certificate, key):
        _read(path)
    made = kind(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.num_tickets = 0  # no client resumes a session, and each ticket costs the client memory
    try:
        made.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise FilesUnusable(f"{certificate} and {key} are no certificate with its key: {error}") from error
    return made


def token(directory: str, name: str = TOKEN) -> str:
    """Return a token. Raises FilesUnusable, which names the file but not its content."""
    path = Path(directory) / name
    text = _read(path).strip()
    if len(text) < SHORTEST_TOKEN or not text.isascii() or len(text.split()) != 1:
        raise FilesUnusable(f"{path}: a token of at least {SHORTEST_TOKEN} ASCII characters is right")
    return text


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(1 << 20)
    except UnicodeDecodeError as error:
        raise FilesUnusable(f"cannot read {path}: it is no text") from error
    except OSError as error:
        raise FilesUnusable(f"cannot read {path}: {error.strerror}") from error
