"""One pair of clusters for all proofs. Their files are collected with `--prove-bursts` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave them out of every other run: they take minutes each."""
    return None if config.getoption("--prove-bursts") else True
