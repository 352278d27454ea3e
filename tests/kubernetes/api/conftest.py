"""The servers that the contract is about."""

import pytest

from tests.kubernetes.contract import SERVERS, Opening, opening


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Opening:
    """The API server in memory, and a real one."""
    return opening(request)
