"""The one door for policies."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from importlib import metadata
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from queue_policies import plugins
from queue_policies.easy import Easy
from queue_policies.errors import PolicyPlugin, PolicySettings, UnknownPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queue_policies.records import Action, State


@dataclass(frozen=True)
class Patient:
    """A policy with settings."""

    name: ClassVar[str] = "patient"
    gap: float = 180.0
    launcher_slots: int = 1

    def decide(self, state: State, now: float) -> Sequence[Action]:
        return []


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend that a package offers policies by an entry point."""

    def install(offered: Any, attribute: str = "minicluster_policies") -> None:
        module = ModuleType("acme_policies")

        @plugins.hookimpl
        def minicluster_policies() -> Iterable[Any]:
            return offered() if callable(offered) else offered

        setattr(module, attribute, minicluster_policies)
        monkeypatch.setitem(sys.modules, "acme_policies", module)
        entry = metadata.EntryPoint("acme", "acme_policies", plugins.GROUP)
        monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: [entry])

    return install


def test_our_own_come_by_the_same_door() -> None:
    assert {"fcfs", "easy"} <= set(plugins.policies())
    assert plugins.load("easy") == Easy()


def test_an_installed_package_adds_policies(installed: Any) -> None:
    installed([Patient])
    assert plugins.load("patient", {"gap": 60, "launcher-slots": 2}) == Patient(60.0, 2)


def test_our_own_names_cannot_be_taken(installed: Any) -> None:
    installed([type("Other", (Patient,), {"name": "easy"})])
    assert plugins.load("easy") == Easy()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("esy", "unknown queue policy 'esy'; did you mean 'easy'?", id="misspelt"),
        pytest.param("xyzzy", "unknown queue policy 'xyzzy'; known are ", id="nothing near"),
    ],
)
def test_an_unknown_policy_names_the_nearest(name: str, message: str) -> None:
    with pytest.raises(UnknownPolicy) as error:
        plugins.load(name)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        pytest.param("patient", {"gpa": 1}, "unknown setting 'gpa'; did you mean 'gap'?", id="misspelt"),
        pytest.param("fcfs", {"gap": 1}, "unknown setting 'gap'; it has none", id="none known"),
        pytest.param(
            "patient",
            {"gap": "long"},
            "setting gap is 'long'; it must be of type float, like its default 180.0",
            id="type",
        ),
        pytest.param(
            "patient",
            {"launcher_slots": True},
            "setting launcher_slots is True; it must be of type int, like its default 1",
            id="a truth value is no number",
        ),
        pytest.param(
            "priority-elastic", {"gap": -1}, "setting gap is -1.0; it must be 0 or more", id="too small"
        ),
        pytest.param(
            "priority-elastic", {"gap": math.nan}, "setting gap is nan; it must be 0 or more", id="NaN"
        ),
        pytest.param(
            "water-filling",
            {"objective": "fame"},
            "setting objective is 'fame'; it must be one of weighted, mean, makespan, order",
            id="none of the choices",
        ),
    ],
)
def test_wrong_settings_are_named(installed: Any, name: str, settings: dict[str, Any], message: str) -> None:
    installed([Patient])
    with pytest.raises(PolicySettings) as error:
        plugins.load(name, settings)
    assert str(error.value) == f"queue policy {name}: {message}"


def _fail() -> list[Any]:
    raise RuntimeError("no licence")


@pytest.mark.parametrize(
    ("offered", "message"),
    [
        pytest.param(_fail, "policy plug-in acme does not load: RuntimeError: no licence", id="it raises"),
        pytest.param([7], "acme offers 7, which is no dataclass with decide(state, now)", id="no policy"),
        pytest.param(
            [dataclass(type("Nameless", (), {"decide": lambda *_: []}))],
            "without a name",
            id="no name",
        ),
    ],
)
def test_a_plugin_that_offers_no_policies_is_named(installed: Any, offered: Any, message: str) -> None:
    installed(offered)
    with pytest.raises(PolicyPlugin) as error:
        plugins.policies()
    assert message in str(error.value)


def test_a_plugin_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = metadata.EntryPoint("acme", "no_such_module", plugins.GROUP)
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: [entry])
    with pytest.raises(
        PolicyPlugin, match=r"policy plug-in acme \(no_such_module\) does not load: ModuleNotFound"
    ):
        plugins.load("fcfs")
