"""Users of the RESTful API, with a browser and with the command line, by HTTPS from outside the cluster."""

import contextlib
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import httpx2

from tests import forked, inside
from tests.kubernetes.command_line import Done
from tests.kubernetes.rest_release import RestRelease
from tests.restful.page.service import OURS, hidden

PASSWORD = "correct horse battery"
ELSEWHERE = {"KUBECONFIG", "MINICLUSTER_ON", "MINICLUSTER_TOKEN"}
"""Variables that choose another way to clusters, or another user."""
SECONDS = 240.0  # for an answer, on a machine that does other things as well


@contextlib.contextmanager
def client(release: RestRelease) -> Iterator[httpx2.Client]:
    """Give a client that knows who vouches for the service; it keeps cookies, and follows no redirect."""
    context = ssl.create_default_context(cafile=str(release.authority))
    with httpx2.Client(base_url=release.url, verify=context, timeout=SECONDS) as made:
        yield made


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser, which sends forms as they are."""

    client: httpx2.Client

    def fill(self, page: str, action: str, **form: str) -> httpx2.Response:
        """Load a page, and send one of its forms with what a user fills in."""
        text = self.client.get(page).raise_for_status().text
        return self.client.post(action, data={**hidden(text, action), **form}, headers=OURS)

    def follow(self, link: str) -> None:
        """Log in by a link."""
        parts = urlsplit(link)
        answer = self.fill(f"{parts.path}?{parts.query}", "/login/link")
        assert answer.status_code == 303, answer.text

    def is_logged_in(self) -> bool:
        """Return whether it is not led to where one logs in."""
        answer = self.client.get("/")
        assert answer.status_code < 400, answer.text
        return "/login" not in answer.headers.get("location", "")


@dataclass(frozen=True, slots=True)
class RestUser:
    """Somebody with `minicluster`, whose logins are in a folder."""

    release: RestRelease
    home: Path

    def __call__(self, *words: object) -> Done:
        """Run a command to its end, in this process."""
        return inside.completed([*map(str, words)], self.environment())

    def given(self, text: str, *words: object) -> str:
        """Run a command with a text on its standard input; return what it prints."""
        done = forked.completed([*map(str, words)], self.environment(), text)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextlib.contextmanager
    def begun(self, *words: object) -> Iterator[tuple["subprocess.Popen[str]", IO[str]]]:
        """Have a command run as a process of its own; give it, and what it writes."""
        argv = [sys.executable, "-m", "minicluster.cli", *map(str, words)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=self.environment()) as process:
            assert process.stdout is not None
            try:
                yield process, process.stdout
            finally:
                process.kill()

    def environment(self) -> dict[str, str]:
        """Return an environment that names the server, and neither a user nor another cluster."""
        kept = {name: text for name, text in os.environ.items() if name not in ELSEWHERE}
        own = {"XDG_CONFIG_HOME": str(self.home), "MINICLUSTER_SERVER": self.release.url}
        return {**kept, **own, "COLUMNS": "200", "TERM": "dumb"}


def first_admin(release: RestRelease, home: Path) -> RestUser:
    """Log in as the first admin: by the link, then `minicluster login`, approved in that browser."""
    admin = RestUser(release, home)
    with client(release) as made, admin.begun("login", "--ca-file", release.authority) as (_, printed):
        browser = Browser(made)
        browser.follow(release.admin_link())
        code = printed.readline().split()[-1]
        answer = browser.fill(f"/device?user_code={code}", "/device", decision="approve")
        assert answer.status_code == 200, answer.text
        text = printed.read()
    assert f"logged in to {release.url} as admin (admin)" in text
    return admin


def new_user(admin: RestUser, name: str, home: Path) -> RestUser:
    """Have the admin make a user, who logs in by a personal token."""
    release, user = admin.release, RestUser(admin.release, home)
    admin.given(PASSWORD, "users", "create", name, "--password-stdin")
    with client(release) as made:
        form = {"username": name, "password": PASSWORD}
        token = answered(made.post("/v1/login/access-token", data=form))["access_token"]
        wanted = {"name": "test", "scopes": ["clusters:read", "jobs:read", "jobs:submit"]}
        headers = {"Authorization": f"Bearer {token}"}
        text = answered(made.post("/v2/me/tokens", json=wanted, headers=headers))["token"]
    printed = user.given(text, "login", "--token-stdin", "--ca-file", release.authority)
    assert printed == f"logged in to {release.url} as {name} (user)\n"
    return user


def grant_everyone(admin: RestUser) -> None:
    """Let every user use every cluster."""
    done = admin("tokens", "create", "grants", "--scope", "users:manage")
    assert done.returncode == 0, done.stderr
    with client(admin.release) as made:
        headers = {"Authorization": f"Bearer {done.stdout.strip()}"}
        answered(made.post("/v2/grants", json={"cluster": "*", "role": "use"}, headers=headers))


def answered(answer: httpx2.Response) -> Any:
    """Return what an answer contains, which is none of an error."""
    assert answer.is_success, answer.text
    return answer.json()
