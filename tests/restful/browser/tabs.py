"""Tabs of a browser in which somebody is logged in, and what went wrong in them."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.restful.identity.service import PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

    from restful.store.users import UserRecord
    from tests.restful.browser.service import BrowserService

expect.set_options(timeout=60_000)

NOTE_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error("violation", event.violatedDirective, event.blockedURI, event.sourceFile));
"""
HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


class Tabs:
    """Opens tabs; each has cookies of its own."""

    def __init__(self, browser: Browser, service: BrowserService) -> None:
        self._browser = browser
        self._service = service
        self._contexts: list[BrowserContext] = []
        self.violations: list[str] = []
        """Of the content security policy."""
        self.errors: list[str] = []
        """That no script has caught."""

    def open(self, user: UserRecord | None = None, path: str = "/", **options: Any) -> Page:
        """Return a tab with a page, in which somebody is logged in or nobody."""
        context = self._browser.new_context(base_url=self._service.url, **options)
        self._contexts.append(context)
        context.set_default_timeout(60_000)
        if user is not None:
            context.add_cookies([self._service.cookie(user)])  # type: ignore[list-item]
        context.add_init_script(NOTE_VIOLATIONS)
        tab = context.new_page()
        tab.on("console", self._noted)
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.goto(path)
        return tab

    def _noted(self, message: ConsoleMessage) -> None:
        if "violation" in message.text or "Content Security Policy" in message.text:
            self.violations.append(message.text)

    def close(self) -> None:
        """Close all."""
        for context in self._contexts:
            context.close()


def log_in(tab: Page, name: str) -> None:
    """Fill in the form of the login, and send it."""
    tab.get_by_label("Name").fill(name)
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Log in").click()


def hide(tab: Page, *, hidden: bool) -> None:
    """Have a page believe that nobody sees it, as in a tab behind others."""
    tab.evaluate(HIDE, hidden)


def violations_of(tab: Page, *rules: str) -> list[str]:
    """Return what axe finds of a page that is serious or critical, by some rules or by all: with elements."""
    source = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    tab.evaluate(source)
    found = tab.evaluate("(rules) => axe.run(rules.length ? { runOnly: rules } : {})", list(rules))
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes']]}"
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]


def shown_lines(tab: Page) -> list[str]:
    """Return the lines of the live output."""
    lines: list[str] = tab.locator("#lines .line").all_text_contents()
    return lines
