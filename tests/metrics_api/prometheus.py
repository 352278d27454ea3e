"""A real Prometheus on this machine, and queries to it."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from tests.lead.client import until
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Prometheus:
    """Sends queries to its HTTP API."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}"

    def is_ready(self) -> bool:
        """Return whether it is ready."""
        try:
            with urlopen(f"{self._address}/-/ready", timeout=10) as answer:
                return bool(answer.status == 200)
        except (URLError, ConnectionError):
            return False

    def _get(self, path: str, **words: str) -> Any:
        with urlopen(f"{self._address}/api/v1/{path}?{urlencode(words)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def values(self, expression: str) -> list[float]:
        """Evaluate an expression now: a value for each series that there is."""
        return [float(each["value"][1]) for each in self._get("query", query=expression)["result"]]

    def alerts(self) -> dict[str, tuple[str, str]]:
        """Return its alerts: by name, the state and the summary."""
        found = self._get("alerts")["alerts"]
        return {
            each["labels"]["alertname"]: (each["state"], each["annotations"]["summary"]) for each in found
        }

    def trouble(self) -> set[str]:
        """Return the last errors of its targets."""
        return {each["lastError"] for each in self._get("targets")["activeTargets"]} - {""}


@contextmanager
def running(program: Path, configuration: Path) -> Iterator[Prometheus]:
    """Start it with a configuration; its data lie beside that."""
    port = free_port()
    with configuration.with_name("prometheus.log").open("wb") as log:
        argv = [
            program, f"--config.file={configuration}", f"--storage.tsdb.path={configuration.parent}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ]  # fmt: skip
        process = subprocess.Popen(argv, stdout=log, stderr=log)
        try:
            server = Prometheus(port)
            until(server.is_ready, f"Prometheus to be ready, see {log.name}")
            yield server
        finally:
            process.terminate()
            process.wait(30)
