"""The file that tells a task where its instance listens, and proofs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from minicluster.malleable.credentials import Credentials, fresh_token, from_environment, proof, proves
from minicluster.malleable.errors import CredentialsError
from minicluster.malleable.worker import Worker

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    written = Credentials("127.0.0.1:4", "ƒabc", fresh_token(), offset=4)
    (tmp_path / "m.json").write_text(written.text())
    assert from_environment({"MINICLUSTER_MALLEABLE": str(tmp_path / "m.json")}) == written


def test_without_the_variable_the_run_is_rigid() -> None:
    assert from_environment({}) is None
    assert Worker.from_environment({"FLUX_TASK_RANK": "3"}) == Worker(3)


def test_the_token_is_in_no_traceback() -> None:
    token = fresh_token()
    assert token not in repr(Credentials("h:1", "ƒ", token))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(None, "No such file", id="missing"),
        pytest.param("{", "not JSON", id="no JSON"),
        pytest.param("[]", "expected an object", id="no object"),
        pytest.param('{"version":2}', "version 2, this library knows 1", id="version"),
        pytest.param(
            json.dumps({"version": 1, "address": "h:1", "job": "ƒ"}),
            "expected address, job and token",
            id="no token",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: str | None, reason: str) -> None:
    path = tmp_path / "m.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CredentialsError) as raised:
        from_environment({"MINICLUSTER_MALLEABLE": str(path)})
    assert str(path) in str(raised.value)
    assert reason in str(raised.value)


def test_a_rank_that_is_none_is_refused() -> None:
    with pytest.raises(CredentialsError, match="FLUX_TASK_RANK: expected a number, found 'x'"):
        Worker.from_environment({"FLUX_TASK_RANK": "x"})


def test_a_worker_of_a_companion_counts_from_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(Credentials("h:1", "ƒ", "t", offset=4).text())
    environment = {
        "MINICLUSTER_MALLEABLE": str(path),
        "MINICLUSTER_MALLEABLE_ORDER": "7",
        "FLUX_TASK_RANK": "1",
    }
    worker = Worker.from_environment(environment)
    assert (worker.number, worker.order, worker.joining) == (5, 7, True)


def test_a_proof_holds_for_its_claims_alone() -> None:
    """Not for others that read alike, another nonce, or another token."""
    mac = proof("token", "nonce", "join", "ƒ", 1, 23)
    assert proves(mac, "token", "nonce", "join", "ƒ", 1, 23)
    assert not proves(mac, "token", "nonce", "join", "ƒ", 12, 3)
    assert not proves(mac, "token", "other", "join", "ƒ", 1, 23)
    assert not proves(mac, "other", "nonce", "join", "ƒ", 1, 23)
    assert not proves("ü\ud800", "token", "nonce")
