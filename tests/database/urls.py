"""The fixture `url`, for tests of schemas: a conftest.py takes it by its name."""

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database that is not there yet, or empty; for each test a new one."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state/test.db"
    return str(request.getfixturevalue("postgresql").database())
