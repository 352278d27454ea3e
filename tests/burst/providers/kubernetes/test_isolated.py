"""Instances for single jobs of an API server that fails as it is asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from burst.errors import RetryLater
from burst.lifecycle.records import ResourcePhase
from burst.providers.provider import IsolatingProvider

if TYPE_CHECKING:
    from tests.burst.providers.kubernetes.conftest import FarCluster


def isolated(far: FarCluster) -> FarCluster:
    return far._replace(wanted=far.wanted._replace(isolated=True, slot="isolated-x"))


def kinds(far: FarCluster) -> dict[str, Any]:
    return {
        each["kind"]: each for each in far.api.items.values() if each["metadata"]["name"].startswith("mcb-")
    }


def test_it_is_made_once_with_the_certificate_that_came_first(far: FarCluster) -> None:
    there = isolated(far)
    there.create()
    first = kinds(there)["Secret"]["data"]
    there.create()
    assert kinds(there)["Secret"]["data"] == first
    assert {"ConfigMap", "Secret", "NetworkPolicy", "Service", "Job"} <= kinds(there).keys()
    assert there.get().phase is ResourcePhase.READY
    there.delete()
    assert there.get().phase is ResourcePhase.ABSENT


def test_its_cores_are_those_of_the_machine(far: FarCluster) -> None:
    isolated(far).create()
    [container] = kinds(far)["Job"]["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"cpu": "8"}


def test_no_instance_answers_where_there_is_none(far: FarCluster) -> None:
    there = isolated(far)
    assert isinstance(there.provider, IsolatingProvider)
    with pytest.raises(RetryLater, match="the lead broker of mcb-62dgmfw4gk does not run"):
        there.provider.instance(there.wanted)


def test_rights_that_are_missing_are_named(far: FarCluster) -> None:
    far.api.denied.add("create pods/exec")
    assert list(far.provider.problems()) == []
    [problem] = far.provider.isolation_problems()
    assert problem == (
        "no job can have an instance of its own there (spec.bursting.join: false), for which the credentials"
        " may not, in namespace bursts: create pods/exec"
    )
