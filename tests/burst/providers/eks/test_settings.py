"""What an administrator may set, how it becomes a provider, and what that costs who does not use it."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from burst.errors import CallInvalid
from burst.planning.records import NodeShape, Offer
from burst.providers.eks import KIND, kind
from tests.burst.joining.near import join_settings
from tests.burst.providers.eks_world import CREATION, MACHINE

if TYPE_CHECKING:
    from pathlib import Path

ROW = MACHINE.model_dump(by_alias=True, exclude_unset=True)
SETTINGS: dict[str, Any] = {
    "region": "eu-central-1",
    "cluster": "far",
    "nodeRole": "arn:aws:iam::123456789012:role/burst-nodes",
    "subnets": ["subnet-1"],
    "namespace": "bursts",
    "machines": [ROW],
}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "region": ({"region": "Frankfurt"}, "region\n  String should match pattern"),
    "role": ({"nodeRole": "burst-nodes"}, "nodeRole\n  String should match pattern"),
    "no-subnet": ({"subnets": []}, "subnets\n  Tuple should have at least 1 item"),
    "no-machine": ({"machines": []}, "machines\n  Tuple should have at least 1 item"),
    "twice": ({"machines": [ROW, ROW]}, "c7i.2xlarge is there twice; each type of machine has one row"),
    "price": ({"machines": [{**ROW, "price": "0,36"}]}, "0,36"),
    "secret": ({"secretAccessKey": "abc"}, "secretAccessKey\n  Extra inputs are not permitted"),
    "no-cluster": ({"cluster": {}}, "right would be the name of a cluster, or `create`, and not both"),
    "both": (
        {"cluster": {"name": "far", "create": CREATION}, "namespace": "default"},
        "right would be the name of a cluster, or `create`, and not both",
    ),
    "no-fee": (
        {"cluster": {"create": {key: CREATION[key] for key in CREATION if key != "feePerHour"}}},
        "cluster.create.feePerHour\n  Field required",
    ),
    "one-subnet": (
        {"cluster": {"create": {**CREATION, "subnets": ["subnet-1"]}}},
        "cluster.create.subnets\n  Tuple should have at least 2 items",
    ),
    "version": (
        {"cluster": {"create": {**CREATION, "version": "v1.35"}}},
        "cluster.create.version\n  String should match pattern",
    ),
    "namespace": (
        {"cluster": {"create": CREATION}},
        "namespace: a cluster that is made has no bursts; right is default",
    ),
    "kubeconfig": (
        {"cluster": {"create": CREATION}, "namespace": "default", "kubeconfig": "/etc/far"},
        "kubeconfig: a cluster that is made has none: right would be none, nor a context",
    ),
    "absent": (
        {
            "cluster": {"create": CREATION},
            "namespace": "default",
            "existing": ["data"],
            "runtimeClass": "gvisor",
        },
        "existing, runtimeClass: a cluster that is made has nothing to name there",
    ),
    "image": ({"amiType": "WINDOWS_CORE_2022_x86_64"}, "amiType\n  Input should be"),
}
LIGHT = (
    "import sys, burst.providers.eks, burst.cli.command, minicluster.cli.main;"
    "print([each for each in ('boto3', 'botocore', 'google.cloud') if each in sys.modules])"
)


def opened(folder: Path, **settings: Any) -> Any:
    model = KIND.settings.model_validate({**SETTINGS, **settings})
    return KIND.open("eks", model, SimpleNamespace(join=join_settings, state=folder, tunnel_pods=None))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_with_words(tmp_path: Path, name: str) -> None:
    settings, words = WRONG[name]
    with pytest.raises(ValidationError, match=re.escape(words)):
        opened(tmp_path, **settings)


def test_every_setting_is_described() -> None:
    schema = KIND.settings.model_json_schema()
    models = [
        schema,
        *(schema["$defs"][each] for each in ("PoolMachine", "EksCluster", "EksClusterCreation")),
    ]
    assert all("description" in field for model in models for field in model["properties"].values())


def test_a_provider_is_opened_without_a_call(tmp_path: Path) -> None:
    provider = opened(tmp_path)
    assert provider.location == "eks/123456789012/eu-central-1/far/bursts"
    shape = NodeShape(4)
    assert provider.offers() == (
        Offer("eks", "c7i.2xlarge", shape, 360_000, 10, 180.0),
        Offer("eks", "c7i.2xlarge", shape, 180_000, 10, 180.0, spot=True),
    )


def test_without_a_kubeconfig_there_are_no_tunnels(tmp_path: Path) -> None:
    problem = opened(tmp_path)._pods._no_tunnels
    assert problem.startswith("spec.bursting.expose is tunnel, and a tunnel needs a kubeconfig")


def test_a_missing_client_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "find_spec", lambda _name: None)
    words = r"provider eks needs boto3: `pip install '\.\[eks\]'` in a checkout"
    with pytest.raises(CallInvalid, match=words):
        opened(tmp_path)


def test_amazons_client_is_imported_by_who_calls_it_alone() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
