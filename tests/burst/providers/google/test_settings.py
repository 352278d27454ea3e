"""What an administrator may set of Google's clouds, and how it becomes a provider."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from burst.errors import CallInvalid
from burst.planning.records import NodeShape, Offer
from burst.providers.compute_engine import KIND as COMPUTE_ENGINE
from burst.providers.gke import KIND as GKE
from burst.providers.google import clients
from tests.burst.joining.near import join_settings
from tests.burst.providers.google.rigs import MACHINE, PRICE, SPOT_PRICE, priced

if TYPE_CHECKING:
    from pathlib import Path

ENGINE = {
    "project": "science-1",
    "region": "europe-west4",
    "machines": [priced()],
    "image": "global/images/flux",
}
CLUSTER = {
    "project": "science-1",
    "location": "europe-west4-a",
    "cluster": "far",
    "namespace": "bursts",
    "machines": [priced()],
}
CREATION = {"feePerHour": "0.10", "network": "bursts", "subnetwork": "bursts"}
WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "cluster: neither": (
        GKE,
        {**CLUSTER, "cluster": {}},
        "right would be the name of a cluster, or `create`, and not both",
    ),
    "cluster: namespace": (
        GKE,
        {**CLUSTER, "cluster": {"create": CREATION}},
        "namespace: a cluster that is made has no bursts; right is default",
    ),
    "cluster: no network": (
        GKE,
        {**CLUSTER, "cluster": {"create": {"feePerHour": "0.10", "subnetwork": "bursts"}}},
        "Field required",
    ),
    "engine: project": (COMPUTE_ENGINE, {**ENGINE, "project": "Science"}, "String should match pattern"),
    "engine: zone": (
        COMPUTE_ENGINE,
        {**ENGINE, "zones": ["europe-west1-b"]},
        "zones: europe-west1-b is not in region europe-west4",
    ),
    "engine: image": (COMPUTE_ENGINE, {**ENGINE, "image": "flux"}, "String should match pattern"),
    "engine: twice": (
        COMPUTE_ENGINE,
        {**ENGINE, "machines": [priced(), priced()]},
        f"machines: {MACHINE} is there twice; each type of machine has one row",
    ),
    "engine: no price": (
        COMPUTE_ENGINE,
        {**ENGINE, "machines": [{"machine": MACHINE, "cores": 4, "priceDate": "2026-11-01"}]},
        "price",
    ),
    "engine: in clear": (
        COMPUTE_ENGINE,
        {**ENGINE, "endpoint": "http://example.org"},
        "'http://example.org' would get credentials in clear: right would be https://…",
    ),
    "engine: disk": (COMPUTE_ENGINE, {**ENGINE, "diskGb": 5}, "greater than or equal to 10"),
    "gke: region": (
        GKE,
        {**CLUSTER, "location": "europe-west4"},
        "zone: europe-west4 is a region: right would be one of its zones",
    ),
    "gke: zone": (
        GKE,
        {**CLUSTER, "zone": "europe-west1-b"},
        "zone: europe-west1-b is not in region europe-west4",
    ),
    "gke: twice": (
        GKE,
        {**CLUSTER, "machines": [priced(), priced()]},
        f"machines: {MACHINE} is there twice; each type of machine has one row",
    ),
    "gke: address": (GKE, {**CLUSTER, "controlPlane": "own"}, "Input should be 'public', 'private' or 'dns'"),
    "gke: unknown": (GKE, {**CLUSTER, "token": "secret"}, "Extra inputs are not permitted"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_with_words(name: str) -> None:
    kind, settings, message = WRONG[name]
    with pytest.raises(ValidationError, match=re.escape(message)):
        kind.settings.model_validate(settings)


@pytest.mark.parametrize("kind", [COMPUTE_ENGINE, GKE], ids=["compute-engine", "gke"])
def test_every_setting_is_described(kind: Any) -> None:
    schema = kind.settings.model_json_schema()
    models = [schema, *(each for each in schema["$defs"].values() if "properties" in each)]
    assert all("description" in field for model in models for field in model["properties"].values())


def context(folder: Path) -> Any:
    return SimpleNamespace(join=join_settings, state=folder, tunnel_pods=None)


def test_machines_become_offers_with_their_price(tmp_path: Path) -> None:
    settings = COMPUTE_ENGINE.settings.model_validate(
        {**ENGINE, "machines": [priced(most=9, readySeconds=45.0)]}
    )
    provider = COMPUTE_ENGINE.open("cloud", settings, context(tmp_path))
    assert provider.location == "compute-engine/science-1/europe-west4"
    assert provider.offers() == (
        Offer("cloud", MACHINE, NodeShape(4), PRICE, 9, 45.0),
        Offer("cloud", MACHINE, NodeShape(4), SPOT_PRICE, 9, 45.0, spot=True),
    )
    [problem] = provider.tunnel_problems()
    assert problem.startswith("spec.bursting.expose is tunnel, which ends at an API server")


def test_the_default_zone_is_that_of_the_cluster() -> None:
    settings: Any = GKE.settings.model_validate(CLUSTER)
    assert (settings.node_zone, settings.region) == ("europe-west4-a", "europe-west4")
    settings = GKE.settings.model_validate({**CLUSTER, "location": "europe-west4", "zone": "europe-west4-b"})
    assert (settings.node_zone, settings.region) == ("europe-west4-b", "europe-west4")


@pytest.mark.parametrize(
    ("kind", "settings", "client"),
    [
        pytest.param(COMPUTE_ENGINE, ENGINE, "google-cloud-compute", id="compute-engine"),
        pytest.param(GKE, CLUSTER, "google-cloud-container", id="gke"),
    ],
)
def test_a_client_that_is_missing_is_named(
    kind: Any, settings: dict[str, Any], client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "find_spec", lambda _name: None)
    message = f"provider cloud needs {client}: `pip install '.[gke]'` in a checkout"
    with pytest.raises(CallInvalid, match=re.escape(message)):
        kind.open("cloud", kind.settings.model_validate(settings), context(tmp_path))
