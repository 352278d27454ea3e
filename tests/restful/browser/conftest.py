"""A browser, and a service for it: one of each for the tests of a file."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from restful.identity.principal import Role
from tests.devcluster.errors import HarnessError, MissingProgramsError
from tests.devcluster.reporting import unavailable
from tests.restful.browser.service import serving
from tests.restful.browser.tabs import Tabs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from restful.store.users import UserRecord
    from tests.conformance.laboratory import Laboratory
    from tests.restful.browser.service import BrowserService


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install the browser now, where a test needs it and it is to be installed: that takes long."""
    option = session.config.getoption
    if not any("browser" in getattr(item, "fixturenames", ()) for item in session.items):
        return
    if not option("collectonly") or option("--build"):
        from tests.restful.browser import chromium  # noqa: PLC0415 - few tests need its driver

        with contextlib.suppress(HarnessError):  # the tests report it, each for itself
            chromium.program()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window. It ends with its file: what others call needs a thread without a loop."""
    from tests.restful.browser import chromium  # noqa: PLC0415 - few tests need its driver

    try:
        chromium.program()
    except MissingProgramsError as error:
        unavailable(error, what="browser")
    with chromium.launched() as launched:
        yield launched


@pytest.fixture(scope="module")
def service(embedded: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserService]:
    """A service that has the cluster mc."""
    with serving(tmp_path_factory.mktemp("browser"), embedded) as service:
        yield service


@pytest.fixture(scope="module")
def alice(service: BrowserService) -> UserRecord:
    """A user."""
    return service.add_user("alice")


@pytest.fixture(scope="module")
def olga(service: BrowserService) -> UserRecord:
    """An operator."""
    user = service.add_user("olga", Role.OPERATOR)
    service.operate(user)
    return user


@pytest.fixture
def tabs(browser: Browser, service: BrowserService, alice: UserRecord, olga: UserRecord) -> Iterator[Tabs]:
    """Tabs of the browser; at the end none of them has seen anything that the policy of its page forbids."""
    tabs = Tabs(browser, service)
    yield tabs
    tabs.close()
    for user in (alice, olga):
        service.cancel_all(user)
    assert tabs.violations == []
    assert tabs.errors == []
    service.await_streams(0)
