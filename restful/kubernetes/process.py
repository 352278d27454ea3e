"""The service on Kubernetes as a process: its watches, its servers, its start and its end."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from minicluster.database import DatabaseError, address, open_database
from minicluster.kube_client import service_process
from minicluster.kube_client.api import Selection
from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.errors import KubernetesError
from minicluster.kube_client.resources import MINICLUSTERS
from minicluster.kube_client.watch import Watch
from restful.cli import login_providers, server
from restful.cli.application import ApplicationSettings, application, payer_key
from restful.cli.errors import ServeError
from restful.cli.tls import CertificateFiles
from restful.front.origins import HostNames
from restful.front.request_log import RequestLog, with_request
from restful.identity.master_key import MasterKeyError, mounted_master_key
from restful.identity.settings import IdentitySettings
from restful.kubernetes.finder import ClusterFinder
from restful.kubernetes.job_keys import JobKeys
from restful.kubernetes.lead_instances import LeadInstances, by_name
from restful.kubernetes.measurements import RestMeasurements
from restful.kubernetes.observed import MiniClusters
from restful.kubernetes.probes import ProbeServer
from restful.kubernetes.settings import database_url
from restful.store.schema import SCHEMA

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine, Iterable

    from minicluster.database import Database
    from minicluster.kube_client.api import Api
    from restful.cli.application import Application
    from restful.identity.identities import Identities
    from restful.kubernetes.lead_instances import LeadEndpoint
    from restful.kubernetes.observed import FoundCluster
    from restful.kubernetes.settings import RestApiSettings
    from restful.services import Services

STREAMS_TIMEOUT = 2.0
"""Seconds that live streams are given to end by themselves."""
TALKATIVE = ("alembic", "httpx2")
"""Loggers whose lines help nobody who runs this: a look at the tables, a question to an OpenID provider."""

log = logging.getLogger("restful.kubernetes")


def run(settings: RestApiSettings) -> int:
    """Serve until SIGTERM or Ctrl-C; return the exit code: 0, or 1 after an error."""
    prepare(settings)

    def serve() -> None:
        url = database_url(settings.database)
        with only_process(url), server.listening(settings.endpoint) as sock:
            import uvloop  # noqa: PLC0415 - of the extra `rest`, as all that this package needs

            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_Replica(settings, url).serve(sock))

    known = (ServeError, KubernetesError, DatabaseError, MasterKeyError)
    return service_process.exit_code("service", serve, log, known)


def prepare(settings: RestApiSettings) -> None:
    """Set this process up to run for long, with a log whose lines name their request."""
    service_process.prepare(settings.log_format, settings.log_level)
    for handler in logging.getLogger().handlers:
        handler.addFilter(with_request)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


@contextlib.contextmanager
def only_process(url: str) -> Any:
    """Lock SQLite's database for this process: it is for one replica. Raises ServeError."""
    parsed = address.parsed(url)
    if parsed.engine != address.SQLITE:
        yield
        return
    with _lock_file(parsed.path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ServeError(
                f"another process serves {url}: SQLite is for one replica, with the strategy Recreate; for"
                " several take PostgreSQL"
            ) from error
        yield


def _lock_file(path: Path) -> IO[str]:
    try:
        return Path(f"{path}.lock").open("w", encoding="utf-8")
    except OSError as error:
        raise ServeError(
            f"sqlite:///{path}: {error.strerror}: `minicluster rest-api migrate` makes it"
        ) from error


def names_of(settings: RestApiSettings) -> HostNames:
    """Return the names by which the service is reached."""
    return HostNames(settings.endpoint.names.hosts | {each.lower() for each in settings.host_names})


class _Replica:
    """The parts of one replica, put together."""

    def __init__(self, settings: RestApiSettings, url: str) -> None:
        self._settings = settings
        self._url = url
        self._measurements = RestMeasurements()
        self._probes = ProbeServer(self._measurements)
        self._tasks: list[asyncio.Task[None]] = []

    async def serve(self, sock: socket.socket) -> None:
        """Serve until a signal. Raises ServeError, DatabaseError, MasterKeyError, KubernetesError."""
        settings = self._settings
        async with contextlib.AsyncExitStack() as stack:
            where = await stack.enter_async_context(self._probes.serving(settings.metrics))
            log.info("/metrics, /healthz and /readyz are served on %s:%d", *where)
            master = mounted_master_key(settings.master_key)
            database = await open_database(self._url, SCHEMA)
            stack.push_async_callback(database.close)
            port = int(sock.getsockname()[1])
            made = application(database, master, self._of_application(port))
            log.info("payerKeys of a burst service that knows its users: [%s]", payer_key(master))
            self._measurements.serve(made.services, made.identities)
            made.app.add_middleware(RequestLog, observe=self._measurements.answered)
            client = await stack.enter_async_context(self._client())
            found = MiniClusters(settings.namespaces, settings.tenancy)
            self._begin(parts(client, made.services, made.identities, found, settings.secret))
            await self._serve(sock, made, database)

    def _of_application(self, port: int) -> ApplicationSettings:
        settings = self._settings
        return ApplicationSettings(
            identity=IdentitySettings(issuer=settings.endpoint.address(port)),
            names=names_of(settings),
            proxies=settings.endpoint.proxies,
            providers=login_providers.load(settings.logins),
            logged_in=self._measurements.logged_in,
        )

    def _client(self) -> ApiClient:
        observe, identity = self._measurements.requested, self._settings.identity
        return ApiClient(self._settings.access, observe=observe, identity=identity)

    def _begin(self, parts: Iterable[Coroutine[Any, Any, None]]) -> None:
        self._tasks += [asyncio.ensure_future(each) for each in parts]

    async def _serve(self, sock: socket.socket, made: Application, database: Database) -> None:
        """Serve requests until a signal, or until a part fails, which is raised."""
        endpoint, files = self._settings.endpoint, None
        if endpoint.certificate:
            files = CertificateFiles(Path(endpoint.certificate), Path(endpoint.key))
        config = server.configuration(made.app, files)

        async def before_end() -> None:
            self._cancel()
            await made.services.streams.hub.close(STREAMS_TIMEOUT)

        def ready() -> None:
            self._probes.database = database
            log.info("served at %s", endpoint.address(int(sock.getsockname()[1])))

        http = server.HttpServer(config, ready, before_end)
        for each in self._tasks:
            each.add_done_callback(lambda _: setattr(http, "should_exit", True))
        await server.run(http, sock, files)
        self._cancel()
        for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended

    def _cancel(self) -> None:
        for each in self._tasks:
            each.cancel()


def parts(
    client: Api,
    services: Services,
    identities: Identities,
    found: MiniClusters,
    secret: tuple[str, str],
    endpoint: Callable[[FoundCluster], LeadEndpoint] = by_name,
) -> list[Coroutine[Any, Any, None]]:
    """Return what goes on beside the requests, without an end."""

    def renewed() -> None:
        finder.awaken()

    keys = JobKeys(client, secret, renewed)
    finder = ClusterFinder(services, identities, found, LeadInstances(found, keys, endpoint))
    watches = [
        Watch(
            client,
            found,
            Selection(MINICLUSTERS, namespace),
            finder.changed,
            failed=partial(finder.failed, namespace),
        )
        for namespace in found.namespaces or ("",)
    ]
    return [*(each.run() for each in watches), keys.keep(), finder.work(), identities.watch()]
