"""Chromium: the machine's own, or its distribution's package, driven by Playwright."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.devcluster import debian

NAMES = ("chromium", "chromium-browser", "google-chrome")
PACKAGE = "chromium"
OPTIONS = ("--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none")


def program(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the browser's program; under CI=true its package is installed. Raises MissingProgramsError."""
    debian.require(_missing, "a browser for tests needs", environ)
    return Path(_found()[0])


def _missing() -> list[str]:
    return [] if _found() else [PACKAGE]


def _found() -> list[str]:
    return [path for path in map(shutil.which, NAMES) if path]


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """Give a browser without a window. Raises MissingProgramsError.

    While it is there, this thread has a running event loop: `asyncio.run` has to be called in another one.
    """
    path = program()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        try:
            yield browser
        finally:
            browser.close()
