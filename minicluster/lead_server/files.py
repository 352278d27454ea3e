"""The door's files, of which only a Secret holds the originals: certificate chain, key and tokens."""

from __future__ import annotations

import ssl
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from minicluster.lead_server import aggregation
from minicluster.lead_server.aggregation import Aggregation, ProxyContext
from minicluster.lead_server.errors import FilesUnusable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_Context = TypeVar("_Context", bound=ssl.SSLContext)
CERTIFICATE, KEY, TOKEN = "door.crt", "door.key", "door.token"
DOMAIN = ".door.minicluster"
"""The end of the name by which the operator asks for the door's own certificate."""
READERS_CERTIFICATE, READERS_KEY, READERS_AUTHORITY = "tls.crt", "tls.key", "ca.crt"
"""In another directory: the document's certificate for readers of metrics, and the authority of theirs."""
METRICS_TOKEN = "metrics.token"  # noqa: S105 - a file's name
PAUSE = 1.0
"""Seconds between two looks whether the files have changed."""
SHORTEST_TOKEN = 32
"""Characters; a token that somebody could guess is no token."""


class ServerCredentials:
    """The TLS side and the tokens, read again when the files change; `log` hears of files that are no good.

    In the directory `readers` is the certificate that is shown to whoever asks for another name than the
    door's own; without one everybody is shown the door's. By the name that is given there for the API server
    it is shown as well, but of clients only the API server's front proxy is believed then. Raises
    FilesUnusable where the door's files are no good from the beginning.
    """

    def __init__(
        self, directory: str, log: Callable[[str], None] = lambda _: None, readers: str = ""
    ) -> None:
        self._directory = directory
        self._readers = readers
        self._for_readers: ssl.SSLContext | None = None
        self._for_proxy: ProxyContext | None = None
        self._log = log
        self._lock = threading.Lock()
        self._seen = self._signature()
        self._read_at = time.monotonic()
        self._load()

    def _load(self) -> None:
        made, read = context(self._directory), token(self._directory).encode()
        there = (Path(self._directory) / METRICS_TOKEN).exists()
        metrics = token(self._directory, METRICS_TOKEN).encode() if there else b""
        if self._readers:
            self._load_readers()
            self._load_proxy()
            made.verify_mode = ssl.CERT_OPTIONAL  # of the first context, whichever takes its place
            made.sni_callback = self._choose
        if self._for_proxy is not None:
            # Nothing is resumed, which older TLS would be by itself: each connection proves who it is.
            made.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context, self.token, self.metrics_token = made, read, metrics

    def _load_readers(self) -> None:
        try:
            self._for_readers = readers_context(self._readers)
        except FilesUnusable as error:
            instead = "that from before stays in use" if self._for_readers else "the door's own is shown"
            self._log(f"the certificate for readers of metrics: {error}; {instead}")

    def _load_proxy(self) -> None:
        try:
            self._for_proxy = proxy_context(self._readers)
        except FilesUnusable as error:
            instead = "that from before is believed" if self._for_proxy else "nobody is believed to be it"
            self._log(f"the API server's front proxy: {error}; {instead}")

    @property
    def aggregation(self) -> Aggregation | None:
        """Return what is believed of the API server; None: none of its APIs is served."""
        return self._for_proxy.aggregation if self._for_proxy is not None else None

    def _choose(self, connection: Any, name: str | None, _context: ssl.SSLContext) -> None:
        proxy = self._for_proxy
        if proxy is not None and (name or "").lower() == proxy.aggregation.host:
            connection.context = proxy
        elif self._for_readers is not None and not (name or "").endswith(DOMAIN):
            connection.context = self._for_readers

    def refresh(self) -> None:
        """Read the files anew where they have changed; while they are no good, the old ones stay in use."""
        with self._lock:
            if time.monotonic() - self._read_at < PAUSE:
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
        """Return what differs when a file was replaced, as Secrets' files are: by another one."""
        paths = [Path(self._directory) / name for name in (CERTIFICATE, KEY, TOKEN, METRICS_TOKEN)]
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
    """Return the TLS side. Raises FilesUnusable, which names the file."""
    return _context(Path(directory, CERTIFICATE), Path(directory, KEY), ssl.SSLContext)


def readers_context(directory: str) -> ssl.SSLContext:
    """Return the TLS side for readers of metrics; clients may bring a certificate, where ca.crt is there.

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
    """Return the TLS side for the API server's front proxy, where the directory says what it is known by.

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
    made.num_tickets = 0  # nobody resumes a session, and each ticket costs its client memory
    try:
        made.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise FilesUnusable(f"{certificate} and {key} are no certificate with its key: {error}") from error
    return made


def token(directory: str, name: str = TOKEN) -> str:
    """Return a token. Raises FilesUnusable, which names the file and not what it holds."""
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
