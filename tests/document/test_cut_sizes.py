"""Sizes of a MiniCluster whose brokers were cut: they count brokers as the document has them."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.document import DocumentError, messages, validate

CUT = {"policy": "scale", "profile": "memory", "nodes": 8, "groups": 8, "brokers": 4}
STATUS = {"maximumSize": 8, "granularity": CUT}
"""Flux has eight hosts, four for each one of the size."""


def document(**spec: Any) -> dict[str, Any]:
    """Return one that runs."""
    about = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": {"name": "m"}}
    return {**about, "spec": {"containers": [{}], **spec}, "status": STATUS}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"size": 3}, f"{messages.BEYOND_START}: found 3, allowed: 1 to 2", id="size"),
        pytest.param(
            {"size": 1, "autoscaling": {"maxSize": 3}},
            f"{messages.AUTOSCALING_MAX}: found 3, allowed: up to 2",
            id="autoscaling",
        ),
    ],
)
def test_hosts_at_start_bound_the_size(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        validate(document(**spec))
    assert [problem.message for problem in caught.value.problems] == [message]


def test_a_size_that_hosts_allow_is_valid() -> None:
    assert validate(document(size=2, autoscaling={"maxSize": 2})).spec.size == 2
