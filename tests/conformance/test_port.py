"""Each method of the port, on each engine: what it returns is what real Flux 0.88 was recorded to return."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.port import BulkSubmits, Instance, JobOverview, JobQueues, Jobs, Lifecycle, Nodes
from tests.conformance import (
    cases_binding,
    cases_bulk,
    cases_changes,
    cases_instance,
    cases_jobs,
    cases_output,
)
from tests.conformance.cases import Case, Experiment
from tests.conformance.laboratory import BY_LEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conformance.laboratory import Laboratory

PARTS = {
    "jobs": Jobs,
    "bulk": BulkSubmits,
    "overview": JobOverview,
    "queues": JobQueues,
    "nodes": Nodes,
    "life": Lifecycle,
}
GOLDEN = Path(__file__).with_name("golden") / "port"
CASES: list[Case] = [
    value
    for module in (cases_jobs, cases_bulk, cases_output, cases_binding, cases_changes, cases_instance)
    for value in vars(module).values()
    if isinstance(value, Case)
]
SHARED = [case for case in CASES if not case.fresh]
FRESH = [case for case in CASES if case.fresh]


def compare(case: Case, seen: object, record: bool) -> None:
    """Compare with the recorded value, field by field; or record it."""
    golden = GOLDEN / f"{case.name}.json"
    if record:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(json.dumps(seen, indent=1, ensure_ascii=False) + "\n")
    found = list(differences(json.loads(golden.read_text()), seen))
    if found:
        pytest.fail("not as on Flux:\n" + "\n".join(found), pytrace=False)


def differences(flux: object, here: object, where: str = "") -> Iterator[str]:
    """Name each field that is not as on real Flux."""
    if isinstance(flux, dict) and isinstance(here, dict):
        for key in {**flux, **here}:
            yield from differences(flux.get(key, "absent"), here.get(key, "absent"), f"{where}.{key}")
    elif isinstance(flux, list) and isinstance(here, list) and len(flux) == len(here):
        for index, (one, other) in enumerate(zip(flux, here, strict=True)):
            yield from differences(one, other, f"{where}[{index}]")
    elif flux != here:
        yield f"{where}: {flux!r} on Flux, {here!r} here"


def need_rights(case: Case, engine: str) -> None:
    """Skip what a service may not do that has a token for jobs."""
    own = [each for each in case.methods if each.startswith("life.") or each == "uri"]
    if engine in BY_LEAD and own:
        pytest.skip(f"a token for jobs is not good for {', '.join(own)}")


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in SHARED])
def test_a_port_method_does_what_it_does_on_flux(
    case: Case, engine: str, lab: Laboratory, request: pytest.FixtureRequest
) -> None:
    need_rights(case, engine)
    with Experiment.on(lab) as experiment:
        compare(case, experiment.masked(case.run(experiment)), request.config.getoption("--golden-write"))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in FRESH])
def test_a_port_method_does_what_it_does_on_flux_in_an_instance_of_its_own(
    case: Case, engine: str, fresh: Callable[..., Laboratory], request: pytest.FixtureRequest
) -> None:
    need_rights(case, engine)
    with Experiment.on(fresh(case.extra)) as experiment:
        experiment.fresh = fresh
        compare(case, experiment.masked(case.run(experiment)), request.config.getoption("--golden-write"))


def test_every_port_method_has_a_case() -> None:
    """A method without a case would be an unproved promise."""
    methods = {
        f"{part}.{name}"
        for part, kind in PARTS.items()
        for name, _ in inspect.getmembers(kind)
        if name[0] != "_"
    } | {name for name, _ in inspect.getmembers(Instance) if name[0] != "_" and name not in PARTS}
    covered = {method for case in CASES for method in case.methods}
    methods.remove("as_user")  # differs between the engines: test_users.py
    assert methods - covered == set()
    assert covered - methods == set()


def test_every_recorded_value_has_a_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {case.name for case in CASES}
