"""Takes pictures of every page of jobs: on a phone and on a desk, light and dark.

python -m tests.restful.browser.pictures FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.embedded.broker.launcher import write_bin
from restful.identity.principal import Role
from tests.conformance.laboratory import Laboratory
from tests.restful.browser import chromium
from tests.restful.browser.service import serving
from tests.restful.browser.tabs import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.restful.browser.service import BrowserService

WIDTHS = {"phone": 360, "desk": 1280}
THEMES = ("light", "dark")
SCRIPT = (
    'i=0; while [ $i -lt 12 ]; do i=$((i+1)); echo "step $i of 12: energy -$i.0813"; done;'
    ' echo "restart file is old" >&2'
)
LONG_NAME = "a-job-with-a-long-name-that-somebody-gave-it-2026-11-26"


def main(folder: Path) -> None:
    """Take them."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mcp-") as temporary:
        path = Path(temporary)
        laboratory = Laboratory("embedded", write_bin(path / "bin").parent, path / "e", reached="embedded")
        laboratory.start()
        try:
            with serving(path, laboratory) as service, chromium.launched() as browser:
                _take(Tabs(browser, service), service, folder)
        finally:
            laboratory.stop()


def _take(tabs: Tabs, service: BrowserService, folder: Path) -> None:
    olga = service.add_user("olga", Role.OPERATOR)
    service.operate(olga)
    alice = service.add_user("alice")
    ended = service.submit(alice, "sh", "-c", SCRIPT, name="lmp-melt", time_limit="1h")
    ended.await_end()
    service.submit(alice, "sh", "-c", "exit 3", name="postprocess").await_end()
    service.submit(olga, "hostname", name="check-nodes", tasks=2).await_end()
    running = service.submit(alice, "sh", "-c", f"{SCRIPT}; sleep 600", name="lmp-reaxff", tasks=2, nodes=2)
    waiting = service.submit(alice, "true", name=LONG_NAME, nodes=2)
    service.submit(alice, "true", name="on-hold", urgency=0)
    pages = {
        "jobs": ("/jobs?owner=*", None),
        "none": ("/jobs?name=nothing", None),
        "new": ("/jobs/new", None),
        "refused": ("/jobs/new", _refused),
        "ended": (ended.path, _followed),
        "running": (running.path, _followed),
        "waiting": (waiting.path, _followed),
        "account": ("/account", None),
        "absent": ("/jobs/mc/f2", None),
    }
    for width, pixels in WIDTHS.items():
        for theme in THEMES:
            options = {"color_scheme": theme, "viewport": {"width": pixels, "height": 800}}
            tabs.open(None, "/login", **options).screenshot(path=folder / f"login-{width}-{theme}.png")
            tab = tabs.open(olga, "/jobs", **options)
            for name, (path, prepare) in pages.items():
                tab.goto(path)
                if prepare is not None:
                    prepare(tab)
                tab.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)
    tabs.close()
    service.cancel_all(alice)


def _refused(tab: Page) -> None:
    tab.get_by_label("Command").fill("sh -c 'x")
    tab.get_by_label("Time limit").fill("soon")
    tab.get_by_role("button", name="Submit").click()
    tab.locator(".alert").wait_for()


def _followed(tab: Page) -> None:
    tab.locator("#stream-status", has_text="Live").or_(tab.locator("#stream-status", has_text="ended")).or_(
        tab.locator("#stream-status", has_text="Nothing")
    ).wait_for()
    tab.wait_for_function("() => new Promise(requestAnimationFrame)")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
