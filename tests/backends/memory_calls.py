"""Calls of `minicluster` in this process, with a back end in memory beside ours."""

from __future__ import annotations

import contextlib
import json
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.backends import discovery
from minicluster.cli import backend_choice, queue_view
from minicluster.cli.main import run
from tests.backends import memory_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Call = Callable[..., tuple[int, str, str]]


@contextlib.contextmanager
def _watching(instance: Any, _minimum: int = 1) -> Iterator[Any]:
    """Stands for what follows an instance's jobs: the instance in memory has no such stream."""
    active = sum(job.result is None for job in instance.found.values())
    samples = [
        SimpleNamespace(name="flux_jobs_pending", labels={}, value=float(active)),
        SimpleNamespace(name="flux_nodes_demanded", labels={}, value=float(instance.size)),
    ]
    yield SimpleNamespace(samples=lambda: samples)


@pytest.fixture(name="call")
def call_memory(monkeypatch: pytest.MonkeyPatch, capfdbinary: Any, tmp_path: Path) -> Iterator[Call]:
    """Call `minicluster` with a back end called memory beside ours, and a cluster mc of two brokers in it."""
    ours = discovery.entry_points(group=discovery.GROUP)
    more = EntryPoint("memory", "tests.backends.memory_backend:KIND", discovery.GROUP)
    monkeypatch.setattr(discovery, "entry_points", lambda group: (*ours, more))
    monkeypatch.setattr(queue_view, "watching", _watching)
    monkeypatch.setenv("MINICLUSTER_ON", "memory")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    backend_choice.registry.cache_clear()
    memory_backend.RACKS.clear()
    document = {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": "mc"},
        "spec": {"size": 2, "maxSize": 4, "containers": [{"image": "test", "command": "hostname"}]},
    }
    (tmp_path / "mc.yaml").write_text(json.dumps(document))
    document["metadata"] = {"name": memory_backend.REFUSED}
    (tmp_path / "unlucky.yaml").write_text(json.dumps(document))

    def answer(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["minicluster", *words])
        code: int | str | None = 0
        try:
            run()
        except SystemExit as end:
            code = end.code
        out, err = capfdbinary.readouterr()
        return int(code or 0), out.decode(), err.decode()

    assert answer("up", "mc.yaml") == (0, "cluster mc is up in memory\n", "minicluster: mc is remembered\n")
    yield answer
    backend_choice.registry.cache_clear()


def lines_of(outcome: tuple[int, str, str]) -> tuple[int, list[str]]:
    """Return the exit code, and what was printed as lines of words with single spaces."""
    code, out, err = outcome
    return code, [" ".join(line.split()) for line in (out + err).splitlines()]


def message_of(outcome: tuple[int, str, str]) -> tuple[int, str]:
    """Return the exit code, and what was printed as one line, without the frame of an error."""
    code, lines = lines_of(outcome)
    return code, " ".join(" ".join(lines).replace("│", "").split())
