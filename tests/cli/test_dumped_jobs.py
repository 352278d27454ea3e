"""`jobs --from`: what ran, once the cluster is gone."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.calls import Answer

    Call = Callable[..., Answer]

DOCUMENT = {
    "apiVersion": "flux-framework.org/v1alpha2",
    "kind": "MiniCluster",
    "metadata": {"name": "gone"},
    "spec": {"size": 1, "interactive": True, "containers": [{"image": "none"}]},
}
NEEDED = "needed is a file that `minicluster down NAME --dump FILE` wrote, of the embedded instance"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a short path, for the state of clusters too."""
    root = Path(tempfile.mkdtemp(prefix="mct-", dir="/tmp"))
    monkeypatch.setenv("MINICLUSTER_RUNTIME_DIR", str(root / "run"))
    monkeypatch.chdir(root)
    yield root
    shutil.rmtree(root)


def _rows(call: Call, *words: str) -> list[dict[str, Any]]:
    done = call("jobs", *words, "--output", "json")
    assert done.code == 0, done.err
    return list(json.loads(done.out))


def test_a_dump_has_the_rows_that_the_cluster_had(call: Call, folder: Path) -> None:
    """With all numbers, without commands; what waits still waits. Listings are restricted as others are."""
    (folder / "mc.yaml").write_text(json.dumps(DOCUMENT))
    assert call("up", "mc.yaml", "--engine", "embedded").code == 0
    try:
        assert call("submit", "gone", "--wait", "--job-name", "good", "true").code == 0
        assert call("submit", "gone", "--wait", "-t", "1h", "sh", "-c", "exit 3").code == 3
        at_rest = call("submit", "gone", "--urgency", "hold", "--job-name", "later", "true").out.strip()
        assert call("urgency", "gone", at_rest, "hold").code == 0
        before = [{**row, "command": None} for row in _rows(call, "gone", "--all")]
    finally:
        down = call("down", "gone", "--dump", "gone.dump")
    assert down.code == 0, down.err
    later, *ended = _rows(call, "--from", "gone.dump")
    assert ended == before[1:]
    times = {name: pytest.approx(before[0][name], abs=1) for name in ("t_submit", "t_depend")}
    assert later == {**before[0], **times, "info": "held: its urgency is 0"}
    assert [row["name"] for row in _rows(call, "--from", "gone.dump", "-S", "failed")] == ["sh"]
    assert [row["name"] for row in _rows(call, "--from", "gone.dump", "--job-name", "g*")] == ["good"]
    assert [row["name"] for row in _rows(call, "--from", "gone.dump", "--since", "now")] == ["later"]
    assert _rows(call, "--from", "gone.dump", "--user", str(os.getuid() + 1)) == []
    table = call("jobs", "--from", "gone.dump").out.splitlines()
    assert (table[0].split()[:3], "exit code 3" in table[2]) == (["ID", "USER", "NAME"], True)


def _archive(path: Path) -> None:
    with tarfile.open(path, "w") as made:
        made.add(__file__, "x")


WRONG = [
    pytest.param(lambda _path: None, "the dump cannot be read: No such file or directory", id="absent"),
    pytest.param(lambda path: path.write_text("text"), "no dump of the embedded instance", id="text"),
    pytest.param(
        _archive,
        "a dump of Flux (a tar archive); this is the embedded instance, which restores only dumps of the"
        " embedded instance",
        id="of real Flux",
    ),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_a_file_that_is_no_dump_is_refused(
    call: Call, folder: Path, make: Callable[[Path], None], message: str
) -> None:
    make(folder / "x.dump")
    assert call("jobs", "--from", "x.dump") == (2, "", f"minicluster: x.dump: {message}; {NEEDED}")


def test_what_is_of_a_cluster_that_is_up_is_refused(call: Call) -> None:
    done = call("jobs", "--from", "x.dump", "-n", "research")
    message = "Invalid value for --namespace: has a meaning only with a cluster that is up, not with --from"
    assert (done.code, message in done.err) == (2, True), done.err
