"""The weight of a document: what may take long is heavy, and nothing is expanded to find that out."""

import json
import tracemalloc
from typing import Any

import pytest

from minicluster.document import weight
from tests.document.test_bounds import bursting, document, limits, own_hosts, toml

HEAD = '[bootstrap]\ncurve_cert = "/c"\nhosts = [{ host = "m-0" }]\n'
LIGHT = {
    "a command": document({"command": "hostname"}, size=4),
    "a hundred thousand hosts": document(size=100_000),
    "hosts in ranges": bursting(hostlist="m-[0-49999],n[0-49999]"),
    "hosts of a few racks": bursting(hostlist="rack[0-19]n[0-63]"),
    "64 clusters": bursting(clusters=[{"name": f"b{number}", "size": 1_000} for number in range(64)]),
    "a configuration": toml(HEAD + "[a]\nb = [1, 2]\n"),
    "a script": document({"commands": {"script": "echo\n" * 50_000}}),
    "the most cores and GPUs": limits(cpu=4_096, **{"nvidia.com/gpu": 1_024}),
    "annotations": document(pod={"annotations": {f"a/{number}": "x" * 1_000 for number in range(200)}}),
    "no document": {"spec": None},
}
HEAVY = {
    "a long command": (document({"command": "a " * 6_000}), "spec.containers[0].command"),
    "a batch": (document({"command": "a\n" * 6_000, "batch": True}), "spec.containers[0].command"),
    "a long list of hosts": (bursting(hostlist="a," * 6_000), "spec.flux.bursting.hostlist"),
    "hosts that no range stands for": (bursting(hostlist="a[0-9999]x"), "spec.flux.bursting.hostlist"),
    "a long configuration": (toml(HEAD + "a = 1\n" * 2_000), "spec.flux.brokerConfig"),
    "inner brackets in a configuration": (
        toml(HEAD.replace("m-0", "m[0-9]x")),
        "spec.flux.brokerConfig",
    ),
    "escapes in a configuration": (toml(HEAD.replace("m-0", r"m[0-9\u005dx")), "spec.flux.brokerConfig"),
    "many volumes": (
        document({"volumes": {f"v{n}": {"items": {str(i): "a" for i in range(20)}} for n in range(60)}}),
        "spec.containers[0].volumes",
    ),
    "many variables": (
        document(flux={"environment": {f"V{number}": "x" * 3_000 for number in range(200)}}),
        "spec.flux.environment",
    ),
}


@pytest.mark.parametrize("item", LIGHT.values(), ids=LIGHT)
def test_what_is_quickly_planned_is_light(item: dict[str, Any]) -> None:
    assert not weight.is_heavy(item)


@pytest.mark.parametrize(("item", "field_path"), HEAVY.values(), ids=HEAVY)
def test_what_may_take_long_is_heavy(item: dict[str, Any], field_path: str) -> None:
    """The part that weighs most is named, for a message."""
    assert weight.is_heavy(item)
    assert weight.heaviest(item) == field_path


@pytest.mark.parametrize("item", [own_hosts(10), bursting(hostlist="b[0-1000000]x"), toml("a." * 100_000)])
def test_nothing_is_expanded_to_weigh_it(item: dict[str, Any]) -> None:
    """What is beyond the bounds is weighed as well, before it is refused."""
    tracemalloc.start()
    try:
        weight.is_heavy(item)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_large_document_is_not_gone_through() -> None:
    """Weighing ends as soon as it is heavy."""
    item = json.loads(json.dumps(document({"command": "a" * 20_000})))
    item["spec"] = {"containers": [item["spec"]["containers"][0]] * 10_000}
    assert weight.of(item, enough=100) < 400_000


def test_of_parts_that_all_weigh_little_the_whole_is_named() -> None:
    """The container, where it is command and prefix together."""
    fields = {"commands": {"prefix": "a " * 4_000}, "command": "a " * 4_000}
    item = document(fields, flux={"optionFlags": "a " * 2_000})
    assert weight.heaviest(item) == "spec.containers[0]"
