"""What a burst's objects mean, as one phase with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from burst.lifecycle.records import ResourceKey, ResourcePhase
from burst.providers.kubernetes.reports import FoundObjects, listed, report
from burst.providers.provider import WantedBurst

WANTED = WantedBurst("62dgmfw4gk", "here", 2, "c8", spot=False, until=0.0)
KEY = ResourceKey("workers", "mcb-62dgmfw4gk", 2)
QUOTA = 'pods "mcb-x-0-abc" is forbidden: exceeded quota: small'
PULL = {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}


def item(kind: str, uid: str, owner: str = "", **fields: Any) -> dict[str, Any]:
    about = {"name": uid, "uid": uid, "creationTimestamp": "2026-11-01T00:00:00Z", **fields.pop("about", {})}
    if owner:
        about["ownerReferences"] = [{"uid": owner}]
    return {"kind": kind, "metadata": about, **fields}


ANCHOR = item("ConfigMap", "anchor", about={"annotations": {"minicluster-nodes": "2"}})
GOING = {"deletionTimestamp": "2026-11-01T00:01:00Z"}


def job(suspend: bool = False, about: dict[str, Any] | None = None, **condition: str) -> dict[str, Any]:
    conditions = [{"status": "True", **condition}] if condition else []
    spec = {"completions": 2, "suspend": suspend}
    return item("Job", "job", "anchor", about=about or {}, spec=spec, status={"conditions": conditions})


def pod(index: int, phase: str = "Running", about: dict[str, Any] | None = None, **status: Any) -> Any:
    labels = {"batch.kubernetes.io/job-completion-index": str(index)}
    return item(
        "Pod",
        f"pod-{index}",
        "job",
        about={"labels": labels, **(about or {})},
        status={"phase": phase, **status},
    )


def waiting(**state: str) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "flux", "state": {"waiting": state}}]}


def ended(**states: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "flux", **states}]}


REFUSED = {"terminated": {"exitCode": 75, "message": '{"error": "another version"}'}}
UNSCHEDULABLE = {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes: no cpu"}]}
CASES = {
    "nothing": (FoundObjects(None), "absent", ""),
    "no-job": (FoundObjects(ANCHOR), "absent", "its Job is not there"),
    "no-job-but-pods": (FoundObjects(ANCHOR, [pod(0)]), "going", "its Job is not there"),
    "no-pods": (FoundObjects(ANCHOR, [job()]), "coming", "0 of 2 pods run"),
    "suspended": (FoundObjects(ANCHOR, [job(suspend=True)]), "coming", "its Job is suspended"),
    "turned-away": (
        FoundObjects(ANCHOR, [job(), pod(0), pod(1, **ended(lastState=REFUSED, state={"waiting": {}}))]),
        "broken",
        "pod pod-1: another version",
    ),
    "no-lead": (
        FoundObjects(ANCHOR, [job(type="Complete"), pod(0, "Succeeded", **ended(state=REFUSED))]),
        "broken",
        "pod pod-0: another version",
    ),
    "turned-away-before": (
        FoundObjects(ANCHOR, [job(), pod(0), pod(1, **ended(lastState=REFUSED, state={"running": {}}))]),
        "ready",
        "",
    ),
    "all-run": (FoundObjects(ANCHOR, [job(), pod(0), pod(1)]), "ready", ""),
    "one-twice": (FoundObjects(ANCHOR, [job(), pod(0), pod(0)]), "coming", "1 of 2 pods run"),
    "one-leaves": (FoundObjects(ANCHOR, [job(), pod(0), pod(1, about=GOING)]), "coming", "1 of 2 pods run"),
    "no-node": (
        FoundObjects(ANCHOR, [job(), pod(0), pod(1, "Pending", **UNSCHEDULABLE)]),
        "coming",
        "pod pod-1 is on no node: 0/3 nodes: no cpu",
    ),
    "no-image": (
        FoundObjects(ANCHOR, [job(), pod(0, "Pending", **waiting(**PULL))]),
        "coming",
        "pod pod-0, container flux: ImagePullBackOff: Back-off pulling image",
    ),
    "starting": (
        FoundObjects(ANCHOR, [job(), pod(0, "Pending", **waiting(reason="ContainerCreating"))]),
        "coming",
        "0 of 2 pods run",
    ),
    "quota": (
        FoundObjects(ANCHOR, [job()], [f"Error creating: {QUOTA}"]),
        "broken",
        f"its Job cannot make pods: Error creating: {QUOTA}",
    ),
    "passing": (
        FoundObjects(ANCHOR, [job()], ["Error creating: timeout"]),
        "coming",
        "its Job cannot make pods: Error creating: timeout",
    ),
    "former-refusal": (FoundObjects(ANCHOR, [job(), pod(0), pod(1)], [QUOTA]), "ready", ""),
    "failed": (
        FoundObjects(ANCHOR, [job(type="Failed", reason="DeadlineExceeded", message="too long")]),
        "broken",
        "its Job failed: DeadlineExceeded: too long",
    ),
    "complete": (FoundObjects(ANCHOR, [job(type="Complete")]), "broken", "all of its brokers have ended"),
    "anchor-going": (
        FoundObjects({**ANCHOR, "metadata": {**ANCHOR["metadata"], **GOING}}, [job(), pod(0)]),
        "going",
        "1 ConfigMap, 1 Job, 1 Pod are left",
    ),
    "job-going": (FoundObjects(ANCHOR, [job(about=GOING)]), "going", "1 ConfigMap, 1 Job are left"),
    "rest": (FoundObjects(None, [pod(0)]), "going", "1 Pod are left"),
    "hangs-on-nothing": (
        FoundObjects(None, [item("Secret", "secret")]),
        "broken",
        "1 Secret are left, and hang on nothing",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_phase_has_its_reason(name: str) -> None:
    found, phase, reason = CASES[name]
    status = report(KEY, found, WANTED)
    assert (status.phase.value, status.reason) == (phase, reason)
    assert status.key == KEY


def test_what_is_listed_is_never_absent() -> None:
    """Somebody has to delete it."""
    found = listed("62dgmfw4gk", "here", FoundObjects(ANCHOR))
    assert (found.phase, found.key) == (ResourcePhase.BROKEN, KEY)
    assert found.since == 1_793_491_200.0


@pytest.mark.parametrize(
    ("found", "count"),
    [
        (FoundObjects(ANCHOR), 2),
        (FoundObjects(None, [job(), pod(0)]), 2),
        (FoundObjects(None, [pod(0), pod(1), pod(1)]), 2),
        (FoundObjects(None, [item("Secret", "secret")]), 0),
    ],
    ids=["anchor", "job", "pods", "secret"],
)
def test_how_many_nodes_is_known_by_what_is_left(found: FoundObjects, count: int) -> None:
    assert listed("62dgmfw4gk", "here", found).key.nodes == count
