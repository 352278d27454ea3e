"""One pair of clusters for all proofs. Their files are collected with `--prove-bursts` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kubernetes.task_ledger import TaskLedger

if TYPE_CHECKING:
    from pathlib import Path


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave them out of every other run: they take minutes each."""
    return None if config.getoption("--prove-bursts") else True


@pytest.fixture
def tasks(tmp_path: Path) -> TaskLedger:
    """An empty ledger."""
    return TaskLedger.empty(tmp_path / "ledger")
