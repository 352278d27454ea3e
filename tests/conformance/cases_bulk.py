"""Many jobs that are submitted side by side."""

from __future__ import annotations

from typing import Any

from minicluster.instance.records import Resubmission
from tests.conformance.cases import Experiment, case


@case("bulk.submit", "bulk.resubmit", "jobs.jobspec")
def several_side_by_side(lab: Experiment) -> Any:
    names = ("first", "no such queue", "no command", "last")
    found = lab.instance.bulk.submit(
        [
            lab.request("first", "true"),
            lab.request("no such queue", "true", queue="nope"),
            lab.request("no command"),
            lab.request("last", "sh", "-c", "exit 3", urgency=20),
        ]
    )
    outcomes = [lab.outcome(*each) for each in zip(names, found, strict=True)]
    assert isinstance(found[0], int)
    spec = lab.instance.jobs.jobspec(found[0])
    again = lab.instance.bulk.resubmit(
        [Resubmission(spec, urgency=20), Resubmission({**spec, "version": 7}), Resubmission(spec)]
    )
    assert len({*found, *again}) == 7
    return outcomes, [lab.outcome(*each) for each in zip(("again", "wrong", "third"), again, strict=True)]


@case("bulk.submit", "bulk.resubmit")
def none_side_by_side(lab: Experiment) -> Any:
    return lab.instance.bulk.submit([]), lab.instance.bulk.resubmit([])
