"""Drive the served OpenAPI document with schemathesis: the routes and the document must agree.

  python -m tests.restful.proofs.contract              all phases, many cases
  python -m tests.restful.proofs.contract --short      what continuous integration runs

Prints what schemathesis reports, and ends with 1 where it has found something. Cases are the same each time.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.client.loopback import on_loopback
from tests.restful.authorization.requests import HOST
from tests.restful.authorization.service import opened
from tests.restful.authorization.users import Asker, shown_by

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

TIMEOUT = 3600.0
SEED = "20261126"
EXCLUDED = (
    # Tokens are checked by tests/restful/owasp/test_api2_authentication.py, which knows all kinds of them.
    "ignored_auth",
    # What a schema allows may still be refused: a cluster that is not there, a command of NULs.
    "positive_data_acceptance",
)
STREAMS = r"/events$"
"""Followed without an end: schemathesis would wait."""


def at_name(app: ASGIApp) -> ASGIApp:
    """Return an application that is asked by the name that it has, whatever the address."""

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [
                (name, HOST.encode() if name == b"host" else value) for name, value in scope["headers"]
            ]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return named


def run(options: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Serve, and run schemathesis as an admin."""
    tokens: list[str] = []

    @contextlib.asynccontextmanager
    async def application() -> AsyncIterator[Any]:
        with tempfile.TemporaryDirectory() as folder:
            async with opened(Path(folder)) as here:
                tokens.append((await shown_by(here.identities, Asker.ADMIN, here.users["admin"])).bearer)
                yield at_name(here.app)

    with on_loopback(application) as url, tempfile.TemporaryDirectory() as folder:
        words = [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--no-color"),
            *("--header", f"Authorization: Bearer {tokens[0]}", "--exclude-path-regex", STREAMS),
            *("--exclude-checks", ",".join(EXCLUDED), "--generation-deterministic", "--seed", SEED),
            *("--suppress-health-check", "all", "--warnings", "off"),
            *("--request-timeout", "30", "--continue-on-failure", *options),
        ]
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT, check=False)


SHORT = ("--phases", "examples,fuzzing", "--max-examples", "3", "--no-shrink")
LONG = ("--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "30")


def main() -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="few cases")
    done = run(SHORT if parser.parse_args().short else LONG)
    print(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
