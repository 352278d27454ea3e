"""The door's files: what cannot be used is named, and never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from minicluster.lead_server import files
from minicluster.lead_server.errors import FilesUnusable
from tests.lead.keys import Authority

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    Authority().write(tmp_path)
    return tmp_path


def test_good_files(directory: Path) -> None:
    """The token comes without its line break."""
    files.context(str(directory))
    assert files.token(str(directory)) == (directory / "door.token").read_text().strip()


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        pytest.param(
            "door.crt", lambda file: file.unlink(), "No such file or directory", id="no certificate"
        ),
        pytest.param("door.key", lambda file: file.unlink(), "No such file or directory", id="no key"),
        pytest.param("door.token", lambda file: file.unlink(), "No such file or directory", id="no token"),
        pytest.param("door.key", lambda file: file.write_bytes(b"\xff"), "it is no text", id="bytes"),
        pytest.param(
            "door.key",
            lambda file: file.write_text("x"),
            "are no certificate with its key",
            id="no key in it",
        ),
        pytest.param(
            "door.crt", lambda file: file.write_text(""), "are no certificate", id="empty certificate"
        ),
        pytest.param(
            "door.token", lambda file: file.write_text("guess\n"), "at least 32 ASCII characters", id="short"
        ),
        pytest.param("door.token", lambda file: file.write_text(""), "at least 32 ASCII", id="empty token"),
        pytest.param(
            "door.token",
            lambda file: file.write_text("a" * 40 + "\n" + "b" * 40),
            "at least 32",
            id="two lines",
        ),
        pytest.param("door.token", lambda file: file.write_text("é" * 40), "ASCII", id="not ascii"),
    ],
)
def test_spoiled_files(directory: Path, name: str, spoil: Callable[[Path], object], message: str) -> None:
    """The message names the file, and holds nothing of it."""
    spoil(directory / name)
    read = files.token if name == "door.token" else files.context
    with pytest.raises(FilesUnusable, match=message) as raised:
        read(str(directory))
    assert str(directory / name) in str(raised.value)
    assert "guess" not in str(raised.value)


def test_key_of_another_certificate(directory: Path, tmp_path: Path) -> None:
    """Both files are named: either may be the wrong one."""
    Authority().write(tmp_path / "other")
    (directory / "door.key").write_text((tmp_path / "other" / "door.key").read_text())
    with pytest.raises(FilesUnusable, match=r"door\.crt and .*door\.key are no certificate with its key"):
        files.context(str(directory))


@pytest.fixture
def credentials(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[files.ServerCredentials, list[str]]:
    """Those of the directory, looked at without a pause, and what they log."""
    monkeypatch.setattr(files, "POLL_INTERVAL", 0.0)
    log: list[str] = []
    return files.ServerCredentials(str(directory), log.append), log


def test_changed_files_are_read_anew(
    directory: Path, credentials: tuple[files.ServerCredentials, list[str]]
) -> None:
    """Certificate and tokens together."""
    kept, log = credentials
    before = kept.context
    kept.refresh()
    assert kept.context is before
    token = Authority().write(directory)
    kept.refresh()
    assert kept.context is not before
    assert (kept.token, log) == (token.encode(), [])
    assert kept.tokens["metrics"] == (directory / "metrics.token").read_text().strip().encode()


def test_changed_files_that_are_no_good(
    directory: Path, credentials: tuple[files.ServerCredentials, list[str]]
) -> None:
    """Those from before stay in use, which is told once; better ones are taken."""
    kept, log = credentials
    before = kept.token
    (directory / "door.key").write_text("half a file")
    kept.refresh()
    kept.refresh()
    assert kept.token == before
    assert len(log) == 1
    assert log[0].startswith("the files have changed, and those from before stay in use: ")
    token = Authority().write(directory)
    kept.refresh()
    assert kept.token == token.encode()


def test_without_a_token_for_metrics_there_is_none(directory: Path) -> None:
    """The door's own is good for metrics as well."""
    (directory / "metrics.token").unlink()
    assert files.ServerCredentials(str(directory)).tokens == {}


def test_short_token_for_metrics(directory: Path) -> None:
    (directory / "metrics.token").write_text("short")
    with pytest.raises(
        FilesUnusable, match=r"metrics\.token: a token of at least 32 ASCII characters is right"
    ):
        files.ServerCredentials(str(directory))
