"""The objects of an instance for one job, one fact a test."""

from __future__ import annotations

from typing import Any

import pytest

from burst.errors import CallInvalid
from burst.joining.instances import instance_objects
from burst.joining.worker_document import WorkerSettings
from burst.joining.workers import labels_of
from tests.burst.joining.near import CERTIFICATE, near
from tests.burst.joining.test_workers import BUSY, NOW, SETTINGS, WANTED

ISOLATED = WANTED._replace(isolated=True, slot="isolated-x")


def objects(settings: WorkerSettings = SETTINGS, **spec: Any) -> dict[str, dict[str, Any]]:
    made = instance_objects(near(**(spec or BUSY)), ISOLATED, settings, NOW)
    return {each["kind"]: each for each in made}


def pod() -> dict[str, Any]:
    template: dict[str, Any] = objects()["Job"]["spec"]["template"]
    return template


def test_every_object_and_pod_has_the_burst_and_its_maker() -> None:
    wanted = labels_of(ISOLATED).items()
    assert list(objects()) == ["Secret", "ConfigMap", "NetworkPolicy", "Service", "Job"]
    assert all(wanted <= each["metadata"]["labels"].items() for each in [*objects().values(), pod()])


def test_nothing_of_the_lead_is_there() -> None:
    """Neither its certificate nor its name: there is no way back."""
    text = repr(objects())
    assert CERTIFICATE not in text
    assert "near-0" not in text


def test_its_certificate_is_in_the_secret_alone_and_a_new_one_each_time() -> None:
    one, other = (objects()["Secret"]["data"]["curve.cert"] for _ in range(2))
    assert one != other
    assert one not in repr([each for kind, each in objects().items() if kind != "Secret"])


def test_nobody_but_its_own_pods_is_let_in() -> None:
    policy = objects()["NetworkPolicy"]["spec"]
    [rule] = policy["ingress"]
    [peer] = rule["from"]
    assert peer["podSelector"]["matchLabels"].items() <= pod()["metadata"]["labels"].items()
    assert policy["podSelector"]["matchLabels"].items() <= pod()["metadata"]["labels"].items()


def test_it_has_no_token_and_ends_by_itself() -> None:
    assert pod()["spec"]["automountServiceAccountToken"] is False
    assert objects()["Job"]["spec"]["activeDeadlineSeconds"] == 3600


def test_its_lead_idles_with_cores_as_they_are_requested() -> None:
    config = objects()["ConfigMap"]["data"]
    assert '"core": "0-7", "gpu": "0"' in config["R"]
    assert "lmp" not in config["start.sh"]
    assert "lead-only" not in config["start.sh"]
    assert "umask 077" in config["start.sh"]


def test_what_is_not_there_is_refused() -> None:
    containers = [{"name": "app", "image": "a", "volumes": {"data": {"path": "/data", "claimName": "c"}}}]
    with pytest.raises(CallInvalid, match="volume data is PersistentVolumeClaim c of its own cluster"):
        objects(WorkerSettings(), containers=containers)


def test_it_is_too_late() -> None:
    with pytest.raises(CallInvalid, match="burst 62dgmfw4gk was to end 1 s ago"):
        instance_objects(near(), ISOLATED._replace(until=NOW - 1), SETTINGS, NOW)
