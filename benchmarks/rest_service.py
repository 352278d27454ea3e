"""The service as benchmarks/rest.py measures it: over one instance, its users ask as fast as they can.

python benchmarks/rest_service.py STATE URI

Everything else is as `minicluster serve` has it: logins, owner checks, the audit log. The address comes on
standard output once it serves.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import uvloop

from minicluster.database import migrate, open_database
from minicluster.instance.connection import connect
from restful.cli import server, state
from restful.cli.application import ApplicationSettings, application
from restful.cli.endpoint import ServeEndpoint
from restful.clusters.spec import ENVIRONMENT, ClusterSpec
from restful.identity.master_key import load_master_key
from restful.identity.settings import IdentitySettings
from restful.jobs.jobspecs import Base
from restful.settings import RequestLimits, Settings
from restful.store.schema import SCHEMA

CLUSTER = "mc"
STREAMS_TIMEOUT = 2.0


async def serve(folder: Path, uri: str) -> None:
    """Serve until SIGTERM."""
    directory = state.opened(folder)
    endpoint = ServeEndpoint(port=0)
    sock = server.listening(endpoint)
    port = int(sock.getsockname()[1])
    master = load_master_key(directory.master_key)
    await migrate(directory.database, SCHEMA)
    database = await open_database(directory.database, SCHEMA)
    limits = Settings(requests=RequestLimits(requests_per_second=1e9, burst=10**9))
    spec = ClusterSpec(CLUSTER, lambda: connect(uri), base=Base(dict(ENVIRONMENT), "/tmp"))
    own = IdentitySettings(issuer=endpoint.address(port))
    made = application(
        database, master, ApplicationSettings(own, endpoint.names, limits=limits, specs=(spec,))
    )

    async def end_streams() -> None:
        await made.services.streams.hub.close(STREAMS_TIMEOUT)

    config = server.configuration(made.app, None)
    http = server.HttpServer(config, lambda: print(endpoint.address(port), flush=True), end_streams)
    try:
        await server.run(http, sock, None)
    finally:
        await database.close()


def main() -> None:
    """Serve."""
    folder, uri = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(Path(folder), uri))


if __name__ == "__main__":
    main()
