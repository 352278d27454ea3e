"""Names, values and messages of others move no cursor: what is not printable is shown as an escape."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from minicluster.backends.errors import BackendError
from minicluster.cli import main, reporting, tables
from minicluster.cli.commands import app
from minicluster.cli.job_follow import exit_code
from minicluster.instance.records import JobException

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "\x1b[2Ja\x9b31mb\x07\u202e\x7f"
SHOWN = r"\x1b[2Ja\x9b31mb\x07\u202e\x7f"
IN_YAML = r'"\e[2Ja\x9b31mb\a\u202e\x7f"'
HEAD = "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\nmetadata: {name: mc}\nspec:\n"
VALID = HEAD + "  containers: [{command: hostname}]\n"
DOCUMENTS = {
    "name": VALID.replace("mc", IN_YAML),
    "text": VALID.replace("hostname", f"hostname, name: {IN_YAML}"),
    "number": VALID + f"  size: {IN_YAML}\n",
    "field": VALID + f"  {IN_YAML}: 1\n",
    "key": VALID + f"  ? !!binary {IN_YAML}\n  : 1\n",
    "variable": VALID + f"  flux: {{environment: {{{IN_YAML}: x}}}}\n",
    "tag": VALID + f"  size: !!int {IN_YAML}\n",
    "version": VALID.replace("flux-framework.org/v1alpha2", IN_YAML),
    "policy": VALID + f"  flux: {{scheduler: {{queuePolicy: {IN_YAML}}}}}\n",
    "hosts": VALID + f"  flux: {{bursting: {{hostlist: {IN_YAML}}}}}\n",
    "configuration": VALID + f"  flux: {{brokerConfig: {IN_YAML}}}\n",
    "another document": f"apiVersion: v1\nkind: {IN_YAML}\nmetadata: {{name: {IN_YAML}}}\n",
    "lines": 'apiVersion: v1\nkind: "a\\nm.yaml: valid (mc)"\n',
}


def called(*words: str | Path) -> tuple[int, str]:
    """Return the exit code and the output of `minicluster`, which raises nothing."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(done.exception, SystemExit | None), done.exception
    return done.exit_code, done.output


def is_safe(output: str) -> bool:
    return all(line.isprintable() for line in output.split("\n"))


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_validate_shows_an_invalid_documents_texts_with_escapes(tmp_path: Path, text: str) -> None:
    """Each problem is on its own line, however a name is broken."""
    path = tmp_path / "m.yaml"
    path.write_text(text)
    code, output = called("validate", path)
    assert (code, is_safe(output)) == (1, True)
    assert all(line.startswith(f"{path}:") for line in output.splitlines())


@pytest.mark.parametrize(("text", "code"), [(VALID, 0), (VALID + "  size: x\n", 1)], ids=["valid", "invalid"])
def test_validate_shows_a_files_name_with_escapes(tmp_path: Path, text: str, code: int) -> None:
    path = tmp_path / f"{HOSTILE}.yaml"
    path.write_text(text)
    found, output = called("validate", path)
    assert (found, is_safe(output)) == (code, True)
    assert f"{SHOWN}.yaml:" in output


def test_json_is_safe_to_see_and_loads_to_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, Any]] = [{"name": HOSTILE + "\U000e0001\n", "size": 1}]
    tables.show(rows, (), "json")
    output = capsys.readouterr().out
    assert is_safe(output)
    assert json.loads(output) == rows


def test_render_is_safe_to_see(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(VALID.replace("hostname", r'hostname, image: "\e[2Ja\x9b31mb\a\x7f"'))
    outputs = [called("render", path, "--output", form)[1] for form in ("yaml", "json")]
    assert [is_safe(output) for output in outputs] == [True, True]


def test_an_error_is_shown_with_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    """Its lines stay lines."""
    main._report_error(BackendError(f"cluster {HOSTILE}: lost\n  last line {HOSTILE}"))
    expected = f"minicluster: cluster {SHOWN}: lost\n  last line {SHOWN}\n"
    assert capsys.readouterr().err == expected


def test_notices_and_warnings_are_shown_with_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    reporting.PlainReporter().notice(HOSTILE)
    reporting.print_warning(HOSTILE)
    assert capsys.readouterr().err == f"minicluster: {SHOWN}\nminicluster: warning: {SHOWN}\n"


def test_why_a_job_ended_is_shown_with_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    """The job wrote that note."""
    job: Any = SimpleNamespace(exception=JobException("exec", 0, HOSTILE), returncode=1)
    assert exit_code(job) == 1
    assert capsys.readouterr().err == f"minicluster: job.exception type=exec: {SHOWN}\n"
