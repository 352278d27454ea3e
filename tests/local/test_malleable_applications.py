"""The example applications in a cluster: jobs of more urgency come and go, and their answers stay right."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from local_machine import document, eventually

if TYPE_CHECKING:
    from local_machine import Machine

EXAMPLES = Path(__file__).parents[2] / "examples"
ELASTIC = [f"--setattr=user.elastic.{each}" for each in ("min=1", "max=4", "malleable=true")]
TIMEOUT = 400.0


def _nodes(machine: Machine, job: str) -> int:
    return int(machine.good("shell", "mc", "--", "flux", "jobs", "-no", "{nnodes}", job).stdout)


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("jacobi", ["--size", "60", "--pace", "1:0.002", "--check"], "checked: equal to the last bit"),
        ("queens", ["11", "--pause", "0.01"], "checked: right"),
    ],
)
def test_an_application_gives_way_and_comes_back(
    embedded: Machine, tmp_path: Path, name: str, arguments: list[str], answer: str
) -> None:
    """Under priority-elastic it is shrunk and grown twice; what it holds is what its tasks run on."""
    if name == "jacobi":
        pytest.importorskip("numpy", reason="needs numpy: pip install 'minicluster[examples]'")
    path = document(tmp_path, size=4, spec={"interactive": True})
    done = embedded.up(path, "--policy", "priority-elastic:gap=0")
    assert done.returncode == 0, done.stderr
    hold = tmp_path / "hold"
    hold.touch()
    program = str(EXAMPLES / name / f"{name}.py")
    words = [*ELASTIC, "-N1", sys.executable, program, *arguments, "--hold", str(hold)]
    flux = ("shell", "mc", "--", "flux")
    job = embedded.good(*flux, "submit", *words).stdout.strip()
    for _ in range(2):
        eventually(lambda: _nodes(embedded, job) == 4, "all four nodes", TIMEOUT)
        embedded.good(*flux, "run", "-N2", "--urgency=20", "true", timeout=TIMEOUT)
    eventually(lambda: _nodes(embedded, job) == 4, "all four nodes once more", TIMEOUT)
    hold.unlink()
    output = embedded.good("attach", "mc", job, timeout=TIMEOUT).stdout
    assert answer in output
    (sizes,) = re.findall(r"on ([\d →]+) tasks", output)
    changes = [int(size) for size in sizes.split(" → ")]
    assert sum(later < earlier for earlier, later in itertools.pairwise(changes)) >= 2
    assert sum(later > earlier for earlier, later in itertools.pairwise(changes)) >= 2
    log = embedded.good(*flux, "job", "eventlog", job).stdout
    assert log.count("resource-update") >= len(changes) - 1
