"""Which of these files `.ci/run` leaves out."""

from pathlib import Path

import pytest

PROOFS = {"test_clouds_image.py"}
"""What `make prove-clouds` alone runs."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that only `--prove-bursts` asks for."""
    return True if collection_path.name in PROOFS and not config.getoption("--prove-bursts") else None
