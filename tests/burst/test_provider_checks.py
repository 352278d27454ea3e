"""What a service that begins logs of its providers: rights that are missing, before anything is made."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from burst import provider_checks
from burst.provider_checks import ProviderNeeds
from burst.settings import file
from minicluster.document import MiniCluster

if TYPE_CHECKING:
    import pytest

    from burst.clusters.records import BurstingCluster
    from burst.workplace import Workplace

SETTINGS = file.parse("providers: [{name: far, kind: memory, settings: {offers: []}}]", source="here")
NO_EXEC = "no job can have an instance of its own there, for which the credentials may not: create pods/exec"


class AskedProvider:
    """A provider that names its problems, or fails."""

    def __init__(self, *problems: str, error: Exception | None = None) -> None:
        self.found = problems
        self.error = error
        self.asked = 0

    def problems(self) -> list[str]:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return list(self.found)

    def tunnel_problems(self) -> list[str]:
        return ["no tunnel can be", *self.found] if self.found else []


class AskedRemotes:
    """What is wrong where bursts are isolated."""

    isolating = frozenset({"far"})

    def problems(self, _name: str) -> list[str]:
        return [NO_EXEC]


def workplace(**providers: AskedProvider) -> Workplace:
    ledger = SimpleNamespace(now=lambda: 0.0)
    found: Any = SimpleNamespace(
        providers=providers, settings=SETTINGS, ledger=ledger, remotes=AskedRemotes()
    )
    return cast("Workplace", found)


def cluster(*, join: bool, expose: str = "nodePort") -> BurstingCluster:
    """A MiniCluster that may use every provider."""
    document = MiniCluster.model_validate(
        {
            "kind": "MiniCluster",
            "metadata": {"name": "mc"},
            "spec": {
                "size": 1,
                "flux": {"bursting": {"clusters": [{"name": "burst-0", "size": 1}]}},
                "bursting": {"join": join, "expose": expose, "providers": ["far"]},
                "containers": [{"image": "none"}],
            },
        }
    )
    found: Any = SimpleNamespace(
        document=document, title="default/mc", uid="1", name="mc", unfit={}, problem="", alone=None,
        is_tunneled=expose == "tunnel", is_isolated=not join, join_machines=None,
    )  # fmt: skip
    return cast("BurstingCluster", found)


def warned(
    found: Workplace, *polls: list[BurstingCluster], always: ProviderNeeds = provider_checks.NOTHING
) -> None:
    """Have a service poll so often, each time at these MiniClusters."""
    left = list(polls)

    def clusters() -> list[BurstingCluster]:
        if not left:
            raise asyncio.CancelledError
        return left.pop(0)

    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(provider_checks.warn(found, clusters, always, interval=0))


def test_what_is_wrong_with_each_provider_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    asked = workplace(
        good=AskedProvider(),
        broken=AskedProvider(error=ValueError("a plug-in's")),
        far=AskedProvider("the server is away", "the quota is used up"),
    )
    expected = [
        "provider broken cannot be asked what is wrong with it: ValueError: a plug-in's",
        "provider far: the server is away",
        "provider far: the quota is used up",
    ]
    warned(asked, [])
    assert caplog.messages == expected
    caplog.clear()
    warned(asked, [], always=ProviderNeeds(tunnels=True))
    assert caplog.messages == [*expected, "provider far: no tunnel can be"]


def test_rights_for_isolated_bursts_are_named_where_a_minicluster_needs_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warned(workplace(far=AskedProvider()), [cluster(join=True)])
    assert caplog.messages == []
    warned(workplace(far=AskedProvider()), [cluster(join=False)])
    assert caplog.messages == [f"provider far: {NO_EXEC}"]


def test_one_that_comes_later_has_its_provider_asked_again_and_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    here = cluster(join=False)
    provider = AskedProvider("the quota is used up")
    warned(workplace(far=provider), [], [], [here], [here], [])
    assert caplog.messages == ["provider far: the quota is used up", f"provider far: {NO_EXEC}"]
    assert provider.asked == 2
