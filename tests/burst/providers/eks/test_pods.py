"""A burst from its node group to its pods: the cluster is found, and reached, by what EKS answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import yaml

from burst.lifecycle.records import ResourcePhase
from burst.providers.eks.provider import opened
from burst.providers.provider import WantedBurst
from tests.burst.joining.near import join_settings
from tests.burst.providers.eks_world import MACHINE
from tests.burst.providers.kubernetes.fake_api import serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.burst.providers.eks_world import EksWorld


def test_a_burst_is_a_node_group_and_pods_on_it_and_leaves_nothing(world: EksWorld, tmp_path: Path) -> None:
    with serving(tmp_path) as (api, kubeconfig):
        [found] = yaml.safe_load(kubeconfig.read_text())["clusters"]
        world.account.eks.api_server = found["cluster"]["server"]
        context = SimpleNamespace(join=join_settings, state=tmp_path, tunnel_pods=None)
        settings = world.account.settings([MACHINE])
        provider = opened("eks", settings, context, world.account.server.url)
        wanted = WantedBurst("62dgmfw4gk", "here", 2, MACHINE.machine, spot=True, until=4e9, cluster="uid")
        assert provider.problems() == []
        group, pods = provider.resources(wanted)
        for key in (group, pods):
            provider.create(key, "token", wanted)
            world.pass_by(120)
            assert provider.get(key, wanted).phase is ResourcePhase.READY
        [job] = api.of("jobs")
        assert job["spec"]["template"]["spec"]["nodeSelector"] == {"minicluster-burst": "62dgmfw4gk"}
        assert sorted(each.key for each in provider.owned("here")) == sorted((group, pods))
        assert sum(each.nodes or 0 for each in provider.owned("here")) == 2
        for key in (pods, group):
            provider.delete(key, wanted)
            world.pass_by(120)
        assert list(provider.owned("here")) == []
        assert [each for each in api.items if "mcb-" in each] == []
