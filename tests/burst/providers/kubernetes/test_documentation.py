"""docs/burst-on-kubernetes.md has the rights, the settings and the objects as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from burst.providers.kubernetes.preflight import ISOLATION_RIGHTS, RIGHTS, TUNNEL_RIGHTS
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.kubernetes.settings import KubernetesSettings
from tests.burst.providers.kubernetes.conftest import NOW
from tests.burst.providers.kubernetes.test_tunnels import FakeReaches, by_tunnel

if TYPE_CHECKING:
    from tests.burst.providers.kubernetes.conftest import FarCluster

PAGE = (Path(__file__).parents[4] / "docs" / "burst-on-kubernetes.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_role_has_the_rights_that_are_used_and_no_other() -> None:
    [role] = [each for each in yaml.safe_load_all(BLOCKS[0]) if each["kind"] == "Role"]
    granted = {
        (verb, resource, group)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for resource in rule["resources"]
        for group in rule["apiGroups"]
    }
    used = (*RIGHTS, *TUNNEL_RIGHTS, *ISOLATION_RIGHTS)
    assert granted == {(each.verb, each.name, each.group) for each in used}


def test_the_settings_can_be_set() -> None:
    found = KubernetesSettings.model_validate(yaml.safe_load(BLOCKS[1]))
    assert found.machine("c8") is not None


def test_every_object_is_listed(far: FarCluster) -> None:
    """Those of a burst with a tunnel are all that there can be."""
    provider = KubernetesProvider("far", far.provider._settings, by_tunnel, lambda: NOW)
    provider._reaches = FakeReaches()
    provider.create(far.key, "token", far.wanted)
    made = {
        (item["kind"], item["metadata"]["name"].replace(far.wanted.label, "LABEL"))
        for item in far.api.items.values()
        if "mcb-" in item["metadata"]["name"] and item["kind"] != "Pod"
    }
    assert made == set(re.findall(r"^\| (\w+) \| `(mcb-LABEL[\w-]*)` \|", PAGE, re.MULTILINE))
