"""docs/cloud-eks.md and docs/bursting-to-clouds.md have settings and issues as they are."""

from __future__ import annotations

import re
from pathlib import Path

import botocore.session
import yaml

from burst.providers.cloud_machines import PricedMachine
from burst.providers.eks import cluster_reports
from burst.providers.eks.reports import ISSUES
from burst.providers.eks.settings import EksClusterCreation, EksSettings
from burst.providers.node_pools.settings import NodePoolSettings, PoolMachine

DOCS = Path(__file__).parents[4] / "docs"
PAGE, COMMON = (DOCS / "cloud-eks.md").read_text(), (DOCS / "bursting-to-clouds.md").read_text()
BLOCKS = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", PAGE + COMMON, re.DOTALL)]


def test_the_settings_can_be_set() -> None:
    [settings] = [each for each in BLOCKS if "region" in each]
    assert EksSettings.model_validate(settings).location == "eks/123456789012/eu-central-1/research"


def test_the_price_table_is_one_and_has_every_column() -> None:
    [table] = [each["machines"] for each in BLOCKS if set(each) == {"machines"}]
    [row] = table
    assert PoolMachine.model_validate(row).machine == "c7i.2xlarge"
    columns = {each.alias for each in PricedMachine.model_fields.values()}
    assert columns - set(row) == {"gpus"}


def test_settings_of_this_provider_are_named() -> None:
    own = EksSettings.model_fields.keys() - NodePoolSettings.model_fields.keys()
    named = {EksSettings.model_fields[each].alias for each in own}
    assert {each for each in named if f"`{each}`" not in PAGE and f"{each}:" not in PAGE} == set()


def test_every_issue_that_is_explained_is_one_that_the_provider_knows() -> None:
    codes = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    explained = {each for each in codes if each[0].isupper()}
    assert len(explained) == 6
    assert explained <= set(ISSUES)


def test_a_cluster_can_be_made_by_the_settings() -> None:
    [settings] = [each for each in BLOCKS if "region" in each]
    [creation] = [each for each in BLOCKS if isinstance(each.get("cluster"), dict)]
    made = EksSettings.model_validate({**settings, **creation})
    assert made.location == "eks/123456789012/eu-central-1/mcb-*"
    named = {each.alias or "" for each in EksClusterCreation.model_fields.values()}
    assert {each for each in named if f"`{each}`" not in PAGE and f"{each}:" not in PAGE} == set()


def test_every_issue_of_clusters_is_one_that_eks_has() -> None:
    service = botocore.session.Session().get_service_model("eks")
    assert set(cluster_reports.ISSUES) <= set(service.shape_for("ClusterIssueCode").enum)
