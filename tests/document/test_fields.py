"""Every field of the records is in an example document here, and keeps its value."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from minicluster.document import dump, load
from minicluster.document.schema import document_schema

DOCUMENTS = tuple(sorted((Path(__file__).parent / "fields").glob("*.yaml")))
# What differs between what is written and what is kept.
SAME = {"memory": "Memory"}


def field_paths(node: dict[str, Any], field_path: str) -> Iterator[str]:
    """Yield every field of the schema, lists as `[]`, maps as `*`."""
    for name, inner in node.get("properties", {}).items():
        yield f"{field_path}.{name}"
        yield from field_paths(inner, f"{field_path}.{name}")
    if "items" in node:
        yield from field_paths(node["items"], f"{field_path}[]")
    if "additionalProperties" in node:
        yield from field_paths(node["additionalProperties"], f"{field_path}.*")


def values(content: Any, node: dict[str, Any], field_path: str) -> Iterator[tuple[str, Any]]:
    """Yield every field that a document sets, written as in `field_paths`, with its value."""
    if isinstance(content, list):
        for item in content:
            yield from values(item, node.get("items", {}), f"{field_path}[]")
    elif isinstance(content, dict):
        known = node.get("properties")
        for name, inner in content.items():
            here = f"{field_path}.{name}" if known is not None else f"{field_path}.*"
            if known is not None:
                yield here, inner
            below = (
                node["properties"].get(name, {})
                if known is not None
                else node.get("additionalProperties", {})
            )
            yield from values(inner, below, here)


SPEC = document_schema()["properties"]["spec"]
WRITTEN = {
    (path.stem, *pair)
    for path in DOCUMENTS
    for field, value in values(yaml.safe_load(path.read_text())["spec"], SPEC, "spec")
    for pair in [(field, yaml.dump(value))]
}
EXAMPLES = {field: (stem, value) for stem, field, value in sorted(WRITTEN, reverse=True)}


@pytest.fixture(scope="module")
def kept() -> dict[str, set[tuple[str, str]]]:
    """What each loaded document still holds when it is dumped."""
    return {
        path.stem: {
            (field, yaml.dump(value)) for field, value in values(dump(load(path)[0])["spec"], SPEC, "spec")
        }
        for path in DOCUMENTS
    }


# Commands of brokers, which no service may have: the rule has a test of its own.
NEVER = {f"spec.services[].commands.{hook}" for hook in ("pre", "brokerPre", "workerPre")}


@pytest.mark.parametrize("field", sorted(set(field_paths(SPEC, "spec")) - NEVER))
def test_every_field_is_in_an_example_and_is_kept(field: str, kept: dict[str, set[tuple[str, str]]]) -> None:
    """A field of the records without an example document fails; so does one that loses its value."""
    assert field in EXAMPLES, f"no document in {DOCUMENTS[0].parent.name}/ sets {field}"
    stem, text = EXAMPLES[field]
    value = yaml.safe_load(text)
    if isinstance(value, dict | list):
        assert any(name == field for name, _ in kept[stem])
    else:
        wanted = {yaml.dump(value), yaml.dump(SAME.get(str(value), str(value)))}
        assert wanted & {found for name, found in kept[stem] if name == field}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_dumped_document_loads_to_the_same_record(path: Path) -> None:
    """Nothing is lost on the way out and back."""
    (cluster,) = load(path)
    assert load(json.dumps(dump(cluster))) == [cluster]


DEFAULTS = {
    "size": 1,
    "max_size": 0,
    "min_size": 0,
    "tasks": 1,
    "profile": None,
    "granularity": None,
    "interactive": False,
    "deadline_seconds": 31_500_000,
    "backoff_limit": 100,
    "drain_timeout_seconds": 60,
    "suspend": False,
    "cleanup": False,
    "autoscaling": None,
    "network.domain": "cluster.local",
    "network.port": 8050,
    "network.one_per_node": "Preferred",
    "pod.automount_service_account_token": False,
    "pod.restart_policy": "Never",
    "flux.connect_timeout": "5s",
    "flux.log_level": 6,
    "flux.container.image": "ghcr.io/converged-computing/flux-view-ubuntu:tag-noble",
    "flux.container.name": "flux-view",
    "flux.container.mount_path": "/mnt/flux",
    "flux.container.disable": False,
    "flux.scheduler.queue_policy": "fcfs",
    "flux.bursting.lead_broker.port": 8050,
    "flux.state_volume": None,
}


@pytest.mark.parametrize(("field", "default"), DEFAULTS.items(), ids=DEFAULTS)
@pytest.mark.parametrize("section", ["", "  network: null\n  pod:\n  flux: null\n"], ids=["absent", "null"])
def test_an_absent_field_has_its_default(field: str, default: object, section: str) -> None:
    """Null counts as absent."""
    text = "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\nmetadata: {name: a}\n"
    (cluster,) = load(f"{text}spec:\n  containers: [{{}}]\n{section}")
    value: Any = cluster.spec
    for step in field.split("."):
        value = getattr(value, step)
    assert value == default


def test_a_container_has_its_defaults() -> None:
    """The reference's image and log directory."""
    (cluster,) = load(
        '{"apiVersion":"flux-framework.org/v1alpha2","kind":"MiniCluster","metadata":{"name":"a"},'
        '"spec":{"containers":[{"name":null}]}}'
    )
    container = cluster.spec.containers[0]
    assert (container.image, container.logs) == ("ghcr.io/rse-ops/accounting:app-latest", "/tmp/fluxout")
