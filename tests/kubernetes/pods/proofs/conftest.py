"""One pair of clusters for all proofs. Their files are collected with `--prove-bursts` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kubernetes import script_pods
from tests.kubernetes.task_ledger import TaskLedger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.devcluster import ControlPlane


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave them out of every other run: they take minutes each."""
    return None if config.getoption("--prove-bursts") else True


@pytest.fixture
def remote(other_nodes: ControlPlane) -> ControlPlane:
    """Another cluster, with two nodes; at first nothing passes between the networks of the two."""
    return other_nodes


@pytest.fixture
def remote_space(remote: ControlPlane) -> Iterator[str]:
    """A namespace there."""
    with script_pods.space(remote.api) as name:
        yield name


@pytest.fixture
def reached(nodes: ControlPlane, remote: ControlPlane) -> Iterator[None]:
    """The networks of the two clusters route to each other for the test."""
    nodes.reach(remote)
    yield
    nodes.part(remote)


@pytest.fixture
def tasks(tmp_path: Path) -> TaskLedger:
    """An empty ledger."""
    return TaskLedger.empty(tmp_path / "ledger")
