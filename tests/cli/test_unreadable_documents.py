"""`minicluster validate` with documents that Python cannot read, or of which no plan can be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from minicluster.cli.commands import app

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\nmetadata: {name: mc}\nspec:\n"
VALID = HEAD + "  containers: [{command: hostname}]\n"
POISON = {
    "a character beyond all": VALID + '  logs: "\\UFFFFFFFF"\n',
    "a version of thousands of digits": f"%YAML {'1' * 5_000}.1\n---\n{VALID}",
    "thousands of brackets": VALID + f"  flux: {{brokerConfig: 'a={'[' * 3_000}'}}\n",
    "thousands of commands": VALID.replace("hostname", f"'echo {'$(' * 2_000}'"),
    "a number of thousands of digits": VALID + f"  size: 0x{'f' * 5_000}\n",
    "9e99 cores": VALID.replace("hostname", "hostname, resources: {limits: {cpu: 9e99}}"),
    "two hosts of one name": VALID + "  flux: {bursting: {clusters: [{name: mc, size: 1}]}}\n",
}


@pytest.mark.parametrize("text", POISON.values(), ids=POISON)
def test_what_cannot_be_read_or_planned_is_invalid(tmp_path: Path, text: str) -> None:
    """Without a traceback, in one short line, with the exit code of every invalid document."""
    path = tmp_path / "m.yaml"
    path.write_text(text)
    done = CliRunner().invoke(app, ["validate", str(path)])
    assert isinstance(done.exception, SystemExit)
    [line] = done.output.splitlines()
    assert (done.exit_code, line.startswith(f"{path}:"), len(line) < 500) == (1, True, True)
