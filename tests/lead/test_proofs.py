"""Which of the two tokens a request shows."""

from __future__ import annotations

from email.message import Message
from types import SimpleNamespace
from typing import Any

import pytest

from minicluster.lead_server import proofs
from minicluster.lead_server.proofs import Tokens


@pytest.mark.parametrize(
    ("shown", "metrics_token", "tokens"),
    [
        pytest.param("Bearer whole", b"metrics", Tokens(whole=True, metrics=False), id="the lead's own"),
        pytest.param("Bearer metrics", b"metrics", Tokens(whole=False, metrics=True), id="that for metrics"),
        pytest.param("Bearer other", b"metrics", Tokens(whole=False, metrics=False), id="another one"),
        pytest.param("Basic metrics", b"metrics", Tokens(whole=False, metrics=False), id="another scheme"),
        pytest.param("Bearer ", b"", Tokens(whole=False, metrics=False), id="none where there is none"),
        pytest.param("Bearer", b"", Tokens(whole=False, metrics=False), id="no word where there is none"),
    ],
)
def test_a_token_is_what_it_was_made_for(shown: str, metrics_token: bytes, tokens: Tokens) -> None:
    headers = Message()
    headers["Authorization"] = shown
    credentials: Any = SimpleNamespace(token=b"whole", metrics_token=metrics_token)
    assert proofs.tokens(headers, credentials) == tokens
