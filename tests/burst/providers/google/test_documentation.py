"""docs/cloud-gke.md and docs/cloud-compute-engine.md have settings, rights and reasons as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from burst.providers.compute_engine import preflight as engine_preflight
from burst.providers.compute_engine.settings import ComputeEngineSettings
from burst.providers.gke import preflight as gke_preflight
from burst.providers.gke.cluster_preflight import CLUSTER_PERMISSIONS
from burst.providers.gke.reports import CONDITIONS
from burst.providers.gke.settings import GkeClusterCreation, GkeSettings
from burst.providers.google.settings import GoogleMachine
from burst.providers.node_pools.settings import NodePoolSettings

ROOT = Path(__file__).parents[4]
GKE, ENGINE = ((ROOT / "docs" / f"cloud-{each}.md").read_text() for each in ("gke", "compute-engine"))
PAGES = [pytest.param(GKE, GkeSettings, id="gke"), pytest.param(ENGINE, ComputeEngineSettings, id="engine")]
ROLES = [
    pytest.param("gke", gke_preflight.PERMISSIONS, id="gke"),
    pytest.param("gke-clusters", CLUSTER_PERMISSIONS, id="gke-clusters"),
    pytest.param("compute-engine", engine_preflight.PERMISSIONS, id="engine"),
]


@pytest.mark.parametrize(("page", "model"), PAGES)
def test_the_settings_can_be_set(page: str, model: Any) -> None:
    blocks = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    settings = next(each for each in blocks if "project" in each)
    assert len(model.model_validate(settings).machines) == 2


def test_a_cluster_can_be_made_by_the_settings() -> None:
    blocks = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", GKE, re.DOTALL)]
    settings = next(each for each in blocks if "project" in each)
    [creation] = [each for each in blocks if isinstance(each.get("cluster"), dict)]
    made = GkeSettings.model_validate({**settings, **creation})
    assert made.location == "europe-west4-a"
    named = {each.alias or "" for each in GkeClusterCreation.model_fields.values()}
    assert {each for each in named if f"`{each}`" not in GKE and f"{each}:" not in GKE} == set()


@pytest.mark.parametrize(("page", "model"), PAGES)
def test_every_setting_is_named(page: str, model: Any) -> None:
    fields = {**model.model_fields, **GoogleMachine.model_fields}
    own = {fields[each].alias or each for each in fields.keys() - NodePoolSettings.model_fields.keys()}
    assert {each for each in own if f"`{each}`" not in page and f"{each}:" not in page} == set()


@pytest.mark.parametrize(("name", "rights"), ROLES)
def test_the_role_has_the_rights_that_are_checked_and_no_other(name: str, rights: tuple[str, ...]) -> None:
    role = yaml.safe_load((ROOT / "deploy" / "clouds" / f"{name}-role.yaml").read_text())
    assert role["includedPermissions"] == sorted(rights)


def test_every_condition_that_is_explained_is_one_that_the_provider_knows() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \|", GKE, re.MULTILINE)
    explained = {code for row in rows for code in re.findall(r"`([A-Z_]{8,})`", row)}
    assert len(explained) == 4
    assert explained <= set(CONDITIONS)
