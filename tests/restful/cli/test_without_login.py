"""`minicluster serve --no-auth`, as one tries it on a laptop: in the directory with one's programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from restful.cli.composition import jobs_directory
from tests.restful.cli.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a program."""
    found = tmp_path_factory.mktemp("programs")
    (found / "sq.py").write_text("import sys\nprint(int(sys.argv[1]) ** 2)\n")
    return found


@pytest.fixture(scope="module")
def served(directory: Path) -> Iterator[Served]:
    """A service that was started there, without a login."""
    with serving("--no-auth", directory=directory) as found:
        yield found


def test_jobs_run_where_it_was_started(served: Served) -> None:
    done = served.machine.call(
        "submit", "mc", "--server", served.url, "--quiet", "--watch", "--", "python3", "sq.py", "3"
    )
    assert (done.stdout, done.stderr, done.returncode) == ("9\n", "", 0)


def test_the_recipe_for_many_runs(served: Served, tmp_path: Path) -> None:
    """docs/how-to.md is true, with six runs in place of 200, of which one fails."""
    section = (ROOT / "docs" / "how-to.md").read_text().partition("## Collect the output of 200 runs")[2]
    program = section.partition("```python\n")[2].partition("```")[0]
    few = program.replace("range(200)", "[0, 1, 2, 3, 4, 'x']")
    assert few != program
    (tmp_path / "runs.py").write_text(few)
    done = subprocess.run(
        [sys.executable, tmp_path / "runs.py"],
        env={**os.environ, "MINICLUSTER_SERVER": served.url}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    squares = {f"{number} {number**2}" for number in range(5)}
    assert squares <= set(done.stdout.splitlines())
    assert " failed with exit code 1; its standard error ends with\n" in done.stdout
    assert "  ValueError: invalid literal for int() with base 10: 'x'\n" in done.stdout


def test_it_states_where_jobs_run(served: Served, directory: Path) -> None:
    assert f"minicluster: jobs run in {directory}, unless they name another directory\n" in served.text


def test_it_shows_no_secret_where_nobody_logs_in(served: Served) -> None:
    assert "warning: there is no login: everybody on this machine can run programs as you" in served.text
    assert "/login/link" not in served.text


def test_jobs_of_a_unit_run_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """systemd.exec(5): a unit without WorkingDirectory= is started in /."""
    monkeypatch.chdir("/")
    assert jobs_directory({"HOME": "/home/flux"}) == "/home/flux"
