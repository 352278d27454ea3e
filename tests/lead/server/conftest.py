"""A server with routes of the tests' own, its keys, and a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from minicluster.lead_server import files
from minicluster.lead_server.server import Server
from tests.lead.client import Client
from tests.lead.keys import Authority
from tests.lead.server.served import Served
from tests.lead.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, str, Path]:
    directory = tmp_path_factory.mktemp("secret")
    authority = Authority()
    return authority, authority.write(directory), directory


@pytest.fixture
def served() -> Served:
    return Served()


@pytest.fixture
def running(keys: tuple[Authority, str, Path], served: Served) -> Iterator[Server]:
    _, _, directory = keys
    made = Server(
        0, files.ServerCredentials(str(directory)), served.routes(), served.log.append, served.audiences
    )
    with serving(made):
        yield made


@pytest.fixture
def lead_api(running: Server, keys: tuple[Authority, str, Path]) -> Client:
    authority, token, _ = keys
    return Client(running.port, authority.certificate, token)
