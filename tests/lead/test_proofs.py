"""Which of the two tokens a request shows."""

from __future__ import annotations

from email.message import Message
from types import SimpleNamespace
from typing import Any

import pytest

from minicluster.lead_server import proofs
from minicluster.lead_server.proofs import Tokens

METRICS = frozenset({"metrics"})


@pytest.mark.parametrize(
    ("shown", "metrics", "tokens"),
    [
        pytest.param("Bearer whole", b"metrics", Tokens(whole=True), id="the lead's own"),
        pytest.param("Bearer metrics", b"metrics", Tokens(False, METRICS), id="that for metrics"),
        pytest.param("Bearer other", b"metrics", Tokens(whole=False), id="another one"),
        pytest.param("Basic metrics", b"metrics", Tokens(whole=False), id="another scheme"),
        pytest.param("Bearer ", b"", Tokens(whole=False), id="none where there is none"),
        pytest.param("Bearer", b"", Tokens(whole=False), id="no word where there is none"),
    ],
)
def test_a_token_is_what_it_was_made_for(shown: str, metrics: bytes, tokens: Tokens) -> None:
    headers = Message()
    headers["Authorization"] = shown
    credentials: Any = SimpleNamespace(token=b"whole", tokens={"metrics": metrics, "jobs": b"jobs"})
    assert proofs.tokens(headers, credentials) == tokens
