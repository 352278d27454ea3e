"""Why an instance cannot be connected to, in words; and when the keys are read again."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.instance.errors import InstanceGone
from minicluster.kube_client.objects import Name
from minicluster.lead_client.errors import LeadBusyError, LeadError, LeadTokenError
from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import JOBS, PurposeKeys
from minicluster.plan.constants import LEAD_API_PORT
from restful.clusters.spec import Tenancy
from restful.kubernetes import lead_instances
from restful.kubernetes.lead_instances import LeadInstances, by_name
from restful.kubernetes.observed import MiniClusters, observed
from tests.restful.kubernetes.test_observed import item

NAME = Name("team-a", "lammps")
KEYS = (LeadAuthority.make().purpose(JOBS),)


class Keys:
    """The keys of a service."""

    trouble = "Secret system/minicluster-jobs with the keys for leads is missing: the operator makes it"

    def __init__(self, current: tuple[PurposeKeys, ...] = KEYS) -> None:
        self.current = current
        self.refusals = 0

    def refused(self) -> None:
        self.refusals += 1


def instances(keys: Keys, **more: Any) -> LeadInstances:
    """Return those of one MiniCluster."""
    found = MiniClusters()
    found.see("MiniCluster", item(**more))
    return LeadInstances(found, keys)  # type: ignore[arg-type]  # as far as it is used


CASES: dict[str, tuple[dict[str, Any], str, tuple[PurposeKeys, ...], str]] = {
    "another life": ({}, "u0", KEYS, "its MiniCluster was deleted"),
    "suspended": (
        {"phase": "Suspended"}, "u1", KEYS,
        "its MiniCluster is suspended: `minicluster resume` starts it again",
    ),
    "no keys": ({}, "u1", (), Keys.trouble),
}  # fmt: skip


@pytest.mark.parametrize(("more", "uid", "keys", "message"), CASES.values(), ids=CASES)
def test_nothing_is_asked(
    more: dict[str, Any], uid: str, keys: tuple[PurposeKeys, ...], message: str
) -> None:
    with pytest.raises(InstanceGone) as caught:
        instances(Keys(keys), **more).open(NAME, uid)
    assert str(caught.value) == message


def test_one_that_is_not_known_any_more_is_not_asked() -> None:
    with pytest.raises(InstanceGone, match="its MiniCluster was deleted"):
        instances(Keys()).open(Name("team-a", "other"), "u1")


ANSWERS: dict[str, tuple[Exception, str, str, int]] = {
    "begins": (LeadError("refused"), "Starting", "its MiniCluster begins (phase Starting): refused", 0),
    "runs": (LeadBusyError("8 connections"), "Running", "8 connections", 0),
    "other keys": (LeadTokenError("does not accept the token"), "Running", "does not accept the token", 1),
}


@pytest.mark.parametrize(("error", "phase", "message", "refusals"), ANSWERS.values(), ids=ANSWERS)
def test_what_a_lead_answers(
    error: Exception, phase: str, message: str, refusals: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str, int]] = []

    def open_instance(uid: str, host: str, keys: object, *, called: str, port: int) -> None:
        asked.append((uid, host, port))
        assert (keys, called) == (KEYS, "team-a/lammps")
        raise error

    monkeypatch.setattr(lead_instances, "open_instance", open_instance)
    keys = Keys()
    with pytest.raises(InstanceGone) as caught:
        instances(keys, phase=phase).open(NAME, "u1")
    assert (str(caught.value), keys.refusals) == (message, refusals)
    assert asked == [("u1", "lammps-0.lammps.team-a.svc", LEAD_API_PORT)]


def test_a_lead_is_found_by_dns() -> None:
    assert by_name(observed(item(), Tenancy.SHARED)) == ("lammps-0.lammps.team-a.svc", 8443)
