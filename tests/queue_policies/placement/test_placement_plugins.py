"""Placements of plug-ins: by the same loader as queue policies."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from queue_policies import plugins as policies
from queue_policies.errors import PolicyPlugin, PolicySettings, UnknownPlacement
from queue_policies.placement import builtin, plugins
from queue_policies.placement.low_rank import LowRank
from queue_policies.placement.task_group import TaskGroup
from tests.queue_policies.installed_plugin import install_plugin
from tests.queue_policies.placement.clusters import node, pool, request

if TYPE_CHECKING:
    from pathlib import Path

HIGH_RANK = '''
from dataclasses import dataclass
from typing import ClassVar

from queue_policies.placement.plugins import hookimpl


@dataclass(frozen=True)
class HighRank:
    """High ranks are filled first."""

    name: ClassVar[str] = "high-rank"
    spare: int = 0

    def place(self, ask, nodes):
        for rank in reversed(nodes.ranks):
            cores = nodes.free(rank)[0]
            if cores.bit_count() >= ask.request.slots + self.spare:
                return {rank: ((1 << ask.request.slots) - 1, 0)}
        return None


@hookimpl
def minicluster_placements():
    return [HighRank]


@hookimpl
def minicluster_policies():
    return []
'''


def test_our_own_are_placements_under_the_names_that_the_table_has() -> None:
    found = plugins.registry().classes
    assert {name: each.name for name, each in found.items()} == {name: name for name in builtin.CLASSES}
    assert {name: plugins.fault(each) for name, each in found.items()} == dict.fromkeys(found, "")
    assert plugins.load("low-rank") == LowRank()


def test_an_installed_package_adds_a_placement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its module may have the hook for policies as well."""
    install_plugin(tmp_path, "acme", "acme_high_rank", HIGH_RANK, group=plugins.GROUP)
    monkeypatch.syspath_prepend(tmp_path)
    assert plugins.registry().problems == ()
    assert "high-rank" not in policies.policies()
    cluster = pool(plugins.load("high-rank", {"spare": 1}), [node(rank, (4,)) for rank in range(3)])
    assert cluster.alloc(1, request(4)) is None
    assert cluster.alloc(1, request(3)) == {2: (0b111, 0)}


def test_a_plugin_that_does_not_load_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install_plugin(tmp_path, "acme", "acme_broken_placement", "import no_such_module", group=plugins.GROUP)
    monkeypatch.syspath_prepend(tmp_path)
    warnings: list[str] = []
    assert plugins.load("pack", warn=warnings.append).name == "pack"
    message = (
        "placement plug-in acme (acme_broken_placement) does not load: ModuleNotFoundError:"
        " No module named 'no_such_module'"
    )
    assert warnings == [f"{message}; it is passed over"]
    with pytest.raises(PolicyPlugin) as error:
        plugins.load("acme")
    assert str(error.value) == message


@dataclass(frozen=True)
class NoMethod:
    """No placement."""

    name: ClassVar[str] = "no-method"


def test_what_is_no_placement_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plugins.fault(NoMethod) == f"{NoMethod!r}, which is no dataclass with place(ask, nodes)"


@pytest.mark.parametrize(
    ("name", "settings", "wrong", "message"),
    [
        pytest.param(
            "balansed",
            {},
            UnknownPlacement,
            "unknown placement 'balansed'; did you mean 'balanced'?",
            id="misspelt",
        ),
        pytest.param(
            "random",
            {"sed": 1},
            PolicySettings,
            "placement random: unknown setting 'sed'; did you mean 'seed'?",
            id="a setting misspelt",
        ),
        pytest.param(
            "spread",
            {"affinity": "best_effort"},
            PolicySettings,
            "placement spread: setting affinity is 'best_effort'; "
            "it must be one of none, best-effort, required",
            id="none of the choices",
        ),
        pytest.param(
            "balanced",
            {"knee": -1},
            PolicySettings,
            "placement balanced: setting knee is -1.0; it must be 0 or more",
            id="too small",
        ),
        pytest.param(
            "random",
            {"seed": "one"},
            PolicySettings,
            "placement random: setting seed is 'one'; it must be a whole number, like its default 0",
            id="of the wrong type",
        ),
    ],
)
def test_wrong_words_are_named(name: str, settings: dict[str, Any], wrong: type, message: str) -> None:
    with pytest.raises(wrong) as error:
        plugins.load(name, settings)
    assert str(error.value) == message


def test_no_placement_of_ours_is_loaded_for_its_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])
    assert plugins.load("task-group", {"granularity": "scale"}) == TaskGroup(granularity="scale")
