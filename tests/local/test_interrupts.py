"""A signal while a cluster is being made: it counts once what has begun is known, so that nothing stays."""

from __future__ import annotations

import os
import signal
import tempfile
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from local_machine import Machine, document

from minicluster.backends.documents import DocumentText
from minicluster.backends.port import Reporter
from minicluster.local import documents, launch, preparation, state_directory
from minicluster.local.errors import Interrupted
from minicluster.local.run import RunRequest, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from _pytest.monkeypatch import MonkeyPatch


def _with_a_signal(function: Callable[..., Any]) -> Callable[..., Any]:
    def interrupted(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options)
        os.kill(os.getpid(), signal.SIGINT)
        return result

    return interrupted


@pytest.mark.parametrize(
    ("module", "step"),
    [
        (tempfile, "mkdtemp"),
        (state_directory, "_furnish"),
        (preparation, "_planned"),
        (preparation, "prepare"),
    ],
)
def test_a_run_that_is_interrupted_as_it_begins_leaves_no_directory(
    embedded: Machine, tmp_path: Path, monkeypatch: MonkeyPatch, module: Any, step: str
) -> None:
    monkeypatch.setenv("MINICLUSTER_RUNTIME_DIR", str(embedded.root))
    monkeypatch.setattr(module, step, _with_a_signal(getattr(module, step)))
    source = documents.parse(document(tmp_path, command="true").read_text(), "mc.yaml")
    with pytest.raises(Interrupted):
        run(RunRequest(source, engine="embedded"), mock.create_autospec(Reporter))
    assert embedded.left() == ([], [])


@pytest.mark.parametrize("step", ["_claimed", "_started"])
def test_a_cluster_whose_supervisor_has_just_begun_is_ended(
    embedded: Machine, tmp_path: Path, monkeypatch: MonkeyPatch, step: str
) -> None:
    monkeypatch.setenv("MINICLUSTER_RUNTIME_DIR", str(embedded.root))
    monkeypatch.setattr(launch, step, _with_a_signal(getattr(launch, step)))
    text = DocumentText(document(tmp_path, command="true").read_text(), "mc.yaml")
    with pytest.raises(Interrupted):
        launch.up(text, mock.create_autospec(Reporter), engine="embedded")
    assert embedded.left() == ([], [])
