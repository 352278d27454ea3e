"""Fields that other field managers have set: which of them differ, and what a user reads about them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from minicluster.kube_client.errors import Cause
from minicluster.remote import conflicts, documents

TEXT = """\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {name: mc}
spec:
  size: 2
  jobLabels: {kueue.x-k8s.io/queue-name: here}
  containers:
    - image: x
      environment: {A: "1"}
"""
SCALED = 'conflict with "kube-controller-manager" with subresource "scale" using v1'
EDITED = 'conflict with "kubectl-edit" using v1'


def wanted(text: str = TEXT) -> documents.Wanted:
    (found,), _ = documents.read(text, "f")
    return found


def stored(text: str = TEXT) -> dict[str, Any]:
    """Return what is stored of a document: its containers have a default."""
    item: dict[str, Any] = copy.deepcopy(dict(wanted(text).item))
    for container in item["spec"]["containers"]:
        container.setdefault("logs", "/tmp/fluxout")
    return item


def conflict(field: str, message: str = EDITED) -> Cause:
    return Cause(field, message, conflicts.CONFLICT)


def found(cause: Cause, current: dict[str, Any], text: str = TEXT) -> list[str]:
    """Return the problems of one conflict, as a user reads them."""
    return [str(each) for each in conflicts.problems(wanted(text), [cause], current, stored(text))]


HOLDERS = {
    "edit": (EDITED, 'kubectl edit (field manager "kubectl-edit")'),
    "scale": (
        'conflict with "minicluster-cli" with subresource "scale" using v1',
        'minicluster scale (field manager "minicluster-cli")',
    ),
    "autoscaler": (SCALED, 'the autoscaler (field manager "kube-controller-manager")'),
    "unknown": ('conflict with "argocd-controller" using v1', 'field manager "argocd-controller"'),
}


@pytest.mark.parametrize(("message", "holder"), HOLDERS.values(), ids=HOLDERS)
def test_who_holds_a_field_is_named_in_known_words(message: str, holder: str) -> None:
    current = stored(TEXT.replace("size: 2", "size: 3"))
    assert found(conflict(".spec.size", message), current) == [
        f"f:5: spec.size: is 3 in the cluster, the document says 2; it was set by {holder}"
    ]


@pytest.mark.parametrize(
    "field", [".spec.containers", ".spec.size", ".spec.jobLabels.kueue.x-k8s.io/queue-name"]
)
def test_what_is_equal_once_it_has_its_defaults_does_not_differ(field: str) -> None:
    assert conflicts.differing([conflict(field)], stored(), stored()) == []


CHANGED = {
    "an item of a list": (
        ("image: x", "image: y"),
        ["f:8: spec.containers[0].image: is y in the cluster, the document says x"],
    ),
    "two within an item": (
        ('image: x\n      environment: {A: "1"}', 'image: y\n      environment: {A: "2"}'),
        [
            "f:8: spec.containers[0].image: is y in the cluster, the document says x",
            "f:9: spec.containers[0].environment.A: is 2 in the cluster, the document says 1",
        ],
    ),
    "one that the document leaves to its default": (
        ("image: x", "image: x\n      logs: /elsewhere"),
        [
            (
                "f:8: spec.containers[0].logs: is /elsewhere in the cluster,"
                " the document leaves it at the default /tmp/fluxout"
            )
        ],
    ),
    "one that the document has not": (
        ("image: x", "image: x\n      command: a"),
        ["f:8: spec.containers[0].command: is a in the cluster, the document does not set it"],
    ),
    "one that the cluster has not": (
        ('environment: {A: "1"}', "environment: {}"),
        ["f:9: spec.containers[0].environment.A: is not set in the cluster, the document says 1"],
    ),
    "one that is long": (
        ("image: x", f"image: {'y' * 100}"),
        ["f:8: spec.containers[0].image: differs in the cluster from what the document says"],
    ),
    "one more item": (
        ("    - image: x", "    - image: y\n    - image: x"),
        ["f:7: spec.containers: differs in the cluster from what the document says"],
    ),
}


@pytest.mark.parametrize(("change", "expected"), CHANGED.values(), ids=CHANGED)
def test_what_differs_is_named_within_lists_too(change: tuple[str, str], expected: list[str]) -> None:
    current = stored(TEXT.replace(*change))
    assert found(conflict(".spec.containers"), current) == [
        f'{each}; it was set by kubectl edit (field manager "kubectl-edit")' for each in expected
    ]


def test_a_key_with_dots_is_found() -> None:
    current = stored(TEXT.replace("here", "there"))
    (line,) = found(conflict(".spec.jobLabels.kueue.x-k8s.io/queue-name"), current)
    assert ": is there in the cluster, the document says here; " in line


def test_a_field_that_is_not_found_counts_as_one_that_differs() -> None:
    cause = conflict('.metadata.finalizers[="x"]')
    assert conflicts.differing([cause], stored(), stored()) == [cause]


def test_a_secrets_values_are_not_shown() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": {"word": "QQ=="}}
    (mine,), _ = documents.read(str(secret), "f")
    (problem,) = conflicts.problems(mine, [conflict(".data.word")], {"data": {"word": "QUE="}}, secret)
    assert problem.message.startswith("differs in the cluster from what the document says; ")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param([".spec.size"], conflicts.LEAVE_OUT, id="one that may be left out"),
        pytest.param([".spec.containers"], conflicts.CHANGE, id="the containers"),
        pytest.param([".spec.size", ".spec.containers"], conflicts.CHANGE, id="both"),
        pytest.param(
            [".spec.pod.securityContext.seccompProfile.type"], conflicts.CHANGE, id="one that its part needs"
        ),
    ],
)
def test_the_advice_can_be_followed(fields: list[str], expected: str) -> None:
    mine = wanted(TEXT + "  pod: {securityContext: {seccompProfile: {type: RuntimeDefault}}}\n")
    assert conflicts.advice(mine, [conflict(each) for each in fields]) == expected


def test_fields_are_left_as_they_are() -> None:
    causes = [conflict(".spec.containers"), conflict(".spec.jobLabels.kueue.x-k8s.io/queue-name")]
    assert conflicts.without(wanted(), causes).item["spec"] == {"size": 2, "jobLabels": {}}


SIZE = conflict(".spec.size", SCALED)
OTHERS = {
    "its size": ([SIZE], True),
    "and something else": ([SIZE, conflict(".spec.tasks", SCALED)], False),
    "a size that a person has set": ([conflict(".spec.size", HOLDERS["scale"][0])], False),
    "nothing": ([], False),
}


@pytest.mark.parametrize(("causes", "expected"), OTHERS.values(), ids=OTHERS)
def test_a_size_that_the_autoscaler_has_set_is_known(causes: list[Cause], expected: bool) -> None:
    """Only where the document asks for one, only of the size, only where it has set it."""
    assert not conflicts.is_autoscaled(wanted(), causes)
    assert conflicts.is_autoscaled(wanted(TEXT + "  autoscaling: {}\n"), causes) is expected
