"""Back ends that plug-ins bring: found by entry point, named where they do not load."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.backends import discovery
from minicluster.backends.errors import BackendPlugin, UnknownBackend
from tests.backends.installed_backend import install_backend

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).parents[2]
WRONG = (
    "minicluster: {}back end cloud (my_cloud:KIND) does not load:"
    " ModuleNotFoundError: No module named 'my_cloud'{}"
)
WARNING = WRONG.format("warning: ", "; it is passed over\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a back end that does not load."""
    install_backend(tmp_path / "site", "cloud", "my_cloud:KIND")
    return tmp_path / "site"


@pytest.fixture
def call(site: Path, tmp_path: Path) -> Call:
    """Run `minicluster` where that plug-in is installed."""
    paths = [str(site), str(ROOT)]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name != "MINICLUSTER_ON"}
        more = {"MINICLUSTER_RUNTIME_DIR": str(tmp_path / "m"), "COLUMNS": "120", "TERM": "dumb"}
        return subprocess.run(
            [sys.executable, "-m", "minicluster.cli", *arguments],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            env={**kept, **more, "PYTHONPATH": os.pathsep.join(paths)},
        )

    return run


def test_other_back_ends_work_with_one_warning(call: Call) -> None:
    done = call("list")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no cluster is up\n", WARNING)


def test_the_back_end_itself_is_an_error(call: Call) -> None:
    done = call("list", "--on", "cloud")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", WRONG.format("", "\n"))


def test_help_names_it_and_does_not_need_it(call: Call) -> None:
    done = call("list", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert " local|kubernetes|server|cloud " in done.stdout


def test_one_that_loads_adds_its_options_and_serves(call: Call, site: Path) -> None:
    install_backend(site, "memory", "tests.backends.memory_backend:KIND")
    shown = call("list", "--help")
    assert "--rack" in shown.stdout
    assert "Memory: which rack." in shown.stdout
    done = call("list", "--on", "memory", "--rack", "second")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no cluster is up\n", WARNING)
    refused = call("list", "--rack", "second")
    text = " ".join(refused.stderr.replace("│", "").split())
    assert (refused.returncode, "Invalid value for --rack: has a meaning only with --on memory" in text) == (
        2,
        True,
    ), text


def test_an_unknown_back_end_is_refused(call: Call) -> None:
    done = call("list", "--on", "mars")
    assert done.returncode == 2
    text = " ".join(done.stderr.replace("│", "").split())
    assert "'mars' is not one of 'local', 'kubernetes', 'server', 'cloud'" in text


@pytest.fixture
def found(site: Path, monkeypatch: pytest.MonkeyPatch) -> discovery.BackendRegistry:
    """What is found beside ours: one that does not load, one that is none, and one with a name of ours."""
    install_backend(site, "number", "math:pi")
    install_backend(site, "local", "my_local:KIND")
    monkeypatch.syspath_prepend(str(site))
    return discovery.registry()


def test_ours_come_first_and_keep_their_names(found: discovery.BackendRegistry) -> None:
    assert found.names == ("local", "kubernetes", "server", "cloud", "number")
    assert list(found.kinds) == ["local", "kubernetes", "server"]
    assert found.kind("local").run is not None


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("cloud", BackendPlugin, "back end cloud (my_cloud:KIND) does not load: ModuleNotFoundError"),
        ("number", BackendPlugin, "back end number (math:pi) is no minicluster.backends.port.BackendKind"),
        ("mars", UnknownBackend, "unknown back end 'mars'; known are local, kubernetes"),
    ],
)
def test_what_cannot_be_used_reports_why(
    found: discovery.BackendRegistry, name: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as refusal:
        found.kind(name)
    assert str(refusal.value).startswith(words)


def test_a_command_for_this_machine_imports_no_client_of_kubernetes(tmp_path: Path) -> None:
    """Of the other back ends only what they declare is imported."""
    program = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    program += "from minicluster.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", program, "list"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MINICLUSTER_RUNTIME_DIR": str(tmp_path / "m"), "MINICLUSTER_ON": "local"},
    )
    loaded = set(done.stderr.split())
    assert "minicluster.remote.backend" in loaded
    assert not loaded & {"kubernetes", "aiohttp", "asyncio", "minicluster.kube_client"}
