"""`minicluster serve` as a process: brings the cluster up, puts the service together, and serves it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from restful.cli import clusters, login_providers, server, state
from restful.cli.environment import without_secrets
from restful.cli.login_options import OWN_PASSWORDS, LoginOptions
from restful.cli.tls import CertificateFiles

if TYPE_CHECKING:
    import socket

    from minicluster.backends.port import Backend
    from restful.cli.clusters import ClusterChoice
    from restful.cli.composition import ComposedService
    from restful.cli.endpoint import ServeEndpoint
    from restful.cli.login_providers import LoginProviders
    from restful.cli.state import StateDirectory

LINK_PATH = "/login/link"
"""Where the page takes a token that logs in once."""
STREAMS_TIMEOUT = 2.0
"""Seconds that live streams are given to end by themselves."""


@dataclass(frozen=True, slots=True)
class ServeRequest:
    """What a command line asks for."""

    endpoint: ServeEndpoint
    choice: ClusterChoice
    state: str = ""
    log_level: str = "warning"
    logins: LoginOptions = OWN_PASSWORDS


def run(request: ServeRequest) -> None:
    """Serve until Ctrl-C or SIGTERM. Raises ServeError, BackendError, DocumentError, DatabaseError."""
    logging.basicConfig(format="minicluster: %(levelname)s: %(message)s", level=request.log_level.upper())
    directory = state.opened(Path(request.state) if request.state else state.default())
    providers = login_providers.load(request.logins)
    login_providers.require_no_root(request.logins)
    with state.locked(directory), server.listening(request.endpoint) as sock:
        loading = threading.Thread(target=_load, daemon=True)
        loading.start()  # meanwhile the brokers start
        with without_secrets(os.environ):
            backend, name = clusters.served(request.choice, show)
        loading.join()
        import uvloop  # noqa: PLC0415 - loaded beside the brokers' start

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(request, directory, sock, (backend, name), providers))
    show(f"the service has ended; cluster {name} stays up, with its jobs: `minicluster down {name}` ends it")


def _load() -> None:
    with contextlib.suppress(Exception):  # it is imported again where it is needed, and raised there
        import restful.cli.composition  # noqa: F401, PLC0415 - what takes longest


async def _serve(
    request: ServeRequest,
    directory: StateDirectory,
    sock: socket.socket,
    cluster: tuple[Backend, str],
    providers: LoginProviders,
) -> None:
    from restful.cli.composition import compose, spec_of  # noqa: PLC0415

    endpoint, port, name = request.endpoint, int(sock.getsockname()[1]), cluster[1]
    service = await compose(directory, endpoint, port, (spec_of(*cluster),), providers)
    files = None
    if endpoint.certificate:
        files = CertificateFiles(Path(endpoint.certificate), Path(endpoint.key))
    try:
        config = server.configuration(service.app, files)

        async def end_streams() -> None:
            await service.services.streams.hub.close(STREAMS_TIMEOUT)

        made = server.HttpServer(config, lambda: greet(endpoint, service, port, name), end_streams)
        await server.run(made, sock, files)
    finally:
        await service.services.database.close()


def greet(endpoint: ServeEndpoint, service: ComposedService, port: int, name: str) -> None:
    """Show where the service is, who may use it, and what users can do to each other."""
    url = endpoint.address(port)
    show(f"cluster {name} is served at {url}")
    if service.link:
        minutes = round(service.identities.settings.link_lifetime / 60)
        show(f"log in as the admin, once, within {minutes} minutes: {url}{LINK_PATH}?token={service.link}")
    show(f"jobs run in {service.directory}, unless they name another directory")
    if not endpoint.login:
        show("warning: there is no login: everybody on this machine can run programs as you")
    show(
        "all jobs run as you, with your files: a user's job can read and change what another user's job"
        " writes, cancel it, and submit as that user. The service keeps users apart, not their jobs."
    )


def show(text: str) -> None:
    """Print a line for the user who started the service."""
    print(f"minicluster: {text}", file=sys.stderr, flush=True)
