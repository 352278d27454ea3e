"""What an administrator may set, and how it becomes a provider."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from burst.errors import AccessDenied
from burst.planning.records import NodeShape, Offer
from burst.providers.kubernetes import KIND
from tests.burst.joining.near import join_settings
from tests.burst.providers.kubernetes.fake_api import kubeconfig

MACHINE = {"machine": "c8", "cores": 8}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no-offer": ({"offers": []}, "at least 1 item"),
    "twice": ({"offers": [MACHINE, MACHINE]}, "c8 is there twice; each machine has a name of its own"),
    "price": ({"offers": [{**MACHINE, "price": "0,4"}]}, "'0,4' is no amount; right would be 50 or 0.125"),
    "namespace": ({"namespace": "Bursts"}, "String should match pattern"),
    "unknown": ({"context": "a", "token": "secret"}, "Extra inputs are not permitted"),
}


def open_provider(**settings: Any) -> Any:
    model = KIND.settings.model_validate({"namespace": "bursts", "offers": [MACHINE], **settings})
    return KIND.open("far", model, SimpleNamespace(join=join_settings, state=Path("state"), tunnel_pods=None))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_with_words(name: str) -> None:
    settings, message = WRONG[name]
    with pytest.raises(ValidationError, match=re.escape(message)):
        open_provider(**settings)


def test_every_setting_is_described() -> None:
    schema = KIND.settings.model_json_schema()
    models = [schema, schema["$defs"]["MachineOffer"]]
    assert all("description" in field for model in models for field in model["properties"].values())


def test_machines_become_offers_with_their_price(tmp_path: Path) -> None:
    machine = {**MACHINE, "gpus": 2, "price": "0.40", "most": 9, "readySeconds": 45.0, "spot": True}
    path = kubeconfig(tmp_path, "http://127.0.0.1:1")
    provider = open_provider(kubeconfig=str(path), offers=[machine])
    assert provider.offers() == (Offer("far", "c8", NodeShape(8, 2), 400_000, 9, 45.0, spot=True),)
    assert provider.location == "http://127.0.0.1:1/bursts"


def test_a_provider_whose_kubeconfig_is_refused_opens_and_names_the_problem(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, "http://127.0.0.1:1", {"exec": {"command": "touch"}})
    provider = open_provider(kubeconfig=str(path))
    assert provider.location == "unknown/bursts"
    [problem] = provider.problems()
    assert "`exec` runs a program, which is refused" in problem
    with pytest.raises(AccessDenied, match="runs a program"):
        provider.owned("here")
