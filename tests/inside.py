"""`minicluster` called in the process of the test: a new one would cost a fraction of a second each time."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING
from unittest import mock

from minicluster.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def completed(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in this environment, with what follows `minicluster` in its command line."""
    command = ["minicluster", *words]
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True) for _ in range(2)
    )
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "argv", command),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = _exit_code()
    written = [each.buffer.getvalue().decode(errors="surrogateescape") for each in (out, err)]
    return subprocess.CompletedProcess(command, code, *written)


def _exit_code() -> int:
    try:
        run()
    except SystemExit as end:
        return int(end.code or 0)
    return 0
