"""Calls of `minicluster` in this process, as a shell or kubectl would call it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from minicluster.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable


class Answer(NamedTuple):
    """What a call printed, and its exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Call a program of ours with some words; words of messages are separated by single spaces."""
    monkeypatch.setenv("MINICLUSTER_ON", "")  # so that it is as before at the end: the plug-in sets it
    monkeypatch.delenv("MINICLUSTER_ON")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "dumb")

    def answer(*words: str, program: Callable[[], None] = main.run) -> Answer:
        monkeypatch.setattr(sys, "argv", ["minicluster", *words])
        code: int | str | None = 0
        try:
            program()
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return Answer(int(code or 0), out, " ".join(err.replace("│", "").split()))

    return answer
