"""What others serve at the door: found by name, and no harm where it fails."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, ClassVar

from minicluster import flux_zips
from minicluster.lead_server import extensions
from minicluster.lead_server.routes import ExtensionContext

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CONTEXT = ExtensionContext({}, lambda: None, lambda _: None)  # type: ignore[arg-type,return-value]


def test_the_queues_metrics_are_served() -> None:
    """By the entry point of this very project."""
    assert "metrics_api.lead.routes:extension" in extensions.named()


def test_from_the_zip_by_its_list(tmp_path: Path) -> None:
    """Where there are no entry points, and nothing but the zip."""
    (tmp_path / flux_zips.ZIP).write_bytes(flux_zips.pack())
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / flux_zips.ZIP)!r})\n"
        "from minicluster.lead_server import extensions, routes\n"
        "made = extensions.load(routes.ExtensionContext({'min-size': 2}, None, None), print)\n"
        "print(sorted(path for each in made for path in each.routes))"
    )
    shown = subprocess.check_output([sys.executable, "-I", "-S", "-c", program], text=True)
    assert shown == "['/healthz', '/metrics', '/v1/queue']\n"


def test_what_the_api_server_passes_on_is_answered_from_the_zip(tmp_path: Path) -> None:
    (tmp_path / flux_zips.ZIP).write_bytes(flux_zips.pack())
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / flux_zips.ZIP)!r})\n"
        "from minicluster.lead_server import extensions, routes\n"
        "settings = {'metrics-tls': '/tls', 'namespace': 'default', 'name': 'mc', 'service': 'mc'}\n"
        "made = list(extensions.load(routes.ExtensionContext(settings, None, None), print))\n"
        "asked = ['GET', '/apis/custom.metrics.k8s.io', {}, '', routes.Identity('jane'), False]\n"
        "answer = extensions.proxied(made)['apis'](routes.AggregatedRequest(*asked))\n"
        "print(answer.code, answer.kind)"
    )
    shown = subprocess.check_output([sys.executable, "-I", "-S", "-c", program], text=True)
    assert shown == "200 application/json\n"


def test_one_that_fails_is_named_and_the_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    named = ["nowhere.at_all:extension", "io:no_such_function", "metrics_api.lead.routes:extension"]
    monkeypatch.setattr(extensions, "named", lambda: named)
    log: list[str] = []
    (made,) = extensions.load(CONTEXT, log.append)
    assert "/v1/queue" in made.routes
    missing, empty = log
    assert missing == "nowhere.at_all:extension is not served: ModuleNotFoundError: No module named 'nowhere'"
    assert empty.startswith("io:no_such_function is not served: AttributeError: ")


def test_one_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings may be wrong."""
    log: list[str] = []
    made: list[Any] = list(extensions.load(CONTEXT._replace(settings={"min-size": "two"}), log.append))
    assert made == []
    assert log[0].startswith("metrics_api.lead.routes:extension is not served: ValueError: ")


def test_the_servers_own_routes_are_not_replaced() -> None:
    """Nor opened to others."""

    class Greedy:
        routes: ClassVar = {"/v1/status": {"GET": None}, "/more": {"GET": None}}
        audiences: ClassVar = {"/v1/status": "all", "/more": "all"}

    own: Any = {"/v1/status": {"GET": len}}
    table, audiences = extensions.joined(own, [Greedy()])  # type: ignore[list-item]
    assert table == {"/more": {"GET": None}, "/v1/status": {"GET": len}}
    assert audiences == {"/more": "all"}
