"""The Python client of flux-restful-api, unchanged, passes its own six tests: with a login and without one.

Each run has a service and a cluster of its own, of one node, as those tests want it. They wait for seconds,
so both runs are at the same time.
"""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.devcluster.errors import MissingProgramsError
from tests.devcluster.reporting import unavailable
from tests.restful.cli.serving import serving
from tests.restful.compat import reference_client
from tests.restful.compat.reference_client import ClientRun

if TYPE_CHECKING:
    from pathlib import Path

USER, PASSWORD = "fluxuser", "correct horse battery"
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ClientRun]]:
    """What became of the client's tests, by whether there was a login."""
    try:
        python = reference_client.installed()
    except MissingProgramsError as error:
        unavailable(error, what="client of flux-restful-api")
    with contextlib.ExitStack() as stack, ThreadPoolExecutor() as pool:
        without = stack.enter_context(serving("--no-auth"))
        with_login = stack.enter_context(serving())
        with_login.add_user(USER, PASSWORD)
        homes: list[Path] = [tmp_path_factory.mktemp(name) for name in ("login", "none")]
        started = {
            "login": pool.submit(
                reference_client.run_tests, python, homes[0], with_login.url, USER, PASSWORD
            ),
            "no login": pool.submit(reference_client.run_tests, python, homes[1], without.url),
        }
        yield {name: each.result() for name, each in started.items()}


@pytest.mark.parametrize("login", ["login", "no login"])
def test_all_of_the_clients_own_tests_pass(runs: dict[str, ClientRun], login: str) -> None:
    assert "6 passed" in runs[login].output
    assert runs[login].code == 0, runs[login].output


@pytest.mark.parametrize("login", ["login", "no login"])
def test_none_of_them_was_left_out(runs: dict[str, ClientRun], login: str) -> None:
    assert "skipped" not in runs[login].output
    assert "warning" not in runs[login].output.lower()
