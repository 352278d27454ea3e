"""`minicluster burst-service` refuses what it cannot be started with, and shows no password."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from burst.kubernetes.command import app
from tests.cli.calls import call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.calls import Answer

__all__ = ["app", "call"]
CANARY = "canary-of-the-password"
GIVEN = ["--settings", "burst.yaml", "--state", "/nowhere"]
WRONG: dict[str, tuple[list[str], str]] = {
    "no settings": ([], "--settings: is needed, or the variable MINICLUSTER_BURST_SETTINGS"),
    "no folder": (["--settings", "x"], "--state: is needed, or the variable MINICLUSTER_BURST_STATE"),
    "no port": ([*GIVEN, "--listen", "here"], "--listen: here: needed is ADDRESS:PORT"),
    "half a Lease": (
        [*GIVEN, "--lease", "x"],
        "--lease: x: needed is NAMESPACE/NAME, such as minicluster-system/minicluster-burst",
    ),
    "half a Secret": (
        [*GIVEN, "--tokens-secret", "a/b/c"],
        "--tokens-secret: a/b/c: needed is NAMESPACE/NAME",
    ),
    "no database": ([*GIVEN, "--database", "x"], "a database begins with its kind"),
    "no template of tunnels": (
        [*GIVEN, "--tunnels", "/nowhere/pod.yaml"],
        "/nowhere/pod.yaml: cannot be read: No such file or directory",
    ),
    "a password": (
        [*GIVEN, "--database", f"postgresql://burst:{CANARY}@db/burst"],
        "a password on the command line is seen by everybody on the node: write the URL into a file",
    ),
    "no file with the URL": (
        [*GIVEN, "--database", "file:/nowhere/url"],
        "--database file:/nowhere/url: No such file or directory",
    ),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_wrong_options(call: Callable[..., Answer], words: list[str], message: str) -> None:
    answer = call("burst-service", *words)
    assert answer.code in {1, 2}
    assert message in " ".join(answer.err.split())
    assert CANARY not in answer.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("providers: [{name: far, kind: kubernets}]", 'did you mean "kubernetes"?'),
        ("budgets: [{scope: all}]", "amount"),
    ],
    ids=["no file", "no kind", "not valid"],
)
def test_settings_that_cannot_be_used_end_it_with_their_words(
    call: Callable[..., Answer], tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "burst.yaml"
    if text is not None:
        path.write_text(text)
    state = tmp_path / "state"
    answer = call("burst-service", "--settings", str(path), "--state", str(state))
    assert answer.code == 1
    assert str(path) in answer.err
    assert message in answer.err
