"""The one door for policies."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from queue_policies import builtin, plugins
from queue_policies.easy import Easy
from queue_policies.errors import PolicyPlugin, PolicySettings, UnknownPolicy
from tests.queue_policies.installed_plugin import install_plugin

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

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

    def install(offered: Any, *, trylast: bool = False) -> None:
        module = ModuleType("acme_policies")

        @plugins.hookimpl(trylast=trylast)
        def minicluster_policies() -> Iterable[Any]:
            return offered() if callable(offered) else offered

        vars(module)["minicluster_policies"] = minicluster_policies
        monkeypatch.setitem(sys.modules, "acme_policies", module)
        entry = metadata.EntryPoint("acme", "acme_policies", plugins.GROUP)
        monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])

    return install


def test_our_own_need_no_plugin() -> None:
    assert {"fcfs", "easy"} <= set(plugins.policies())
    assert plugins.load("easy") == Easy()


def test_our_own_are_policies_under_the_names_that_the_table_has() -> None:
    found = plugins.policies()
    assert {name: each.name for name, each in found.items()} == {name: name for name in builtin.CLASSES}
    assert {name: plugins.fault(each) for name, each in found.items()} == dict.fromkeys(found, "")


def test_a_policy_of_ours_is_loaded_without_the_others() -> None:
    program = (
        "import sys\n"
        "from queue_policies.plugins import load\n"
        "load('fcfs')\n"
        "print(*(each for each in sys.modules if each.startswith('queue_policies.')))"
    )
    loaded = set(subprocess.check_output([sys.executable, "-c", program], text=True).split())
    modules = {each.partition(":")[0] for each in builtin.CLASSES.values()}
    assert loaded & modules == {"queue_policies.fcfs"}


def test_an_installed_package_adds_policies(installed: Any) -> None:
    installed([Patient])
    assert plugins.load("patient", {"gap": 60, "launcher-slots": 2}) == Patient(60.0, 2)


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
            "setting gap is 'long'; it must be a number, like its default 180.0",
            id="type",
        ),
        pytest.param(
            "patient",
            {"launcher_slots": True},
            "setting launcher_slots is true; it must be a whole number, like its default 1",
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


NAMELESS = dataclass(type("Nameless", (), {"decide": lambda *_: []}))
PLAIN = type("Plain", (), {"name": "plain", "decide": lambda *_: []})
REQUIRED = dataclass(type("Required", (PLAIN,), {"name": "required", "__annotations__": {"gap": float}}))


@pytest.mark.parametrize(
    ("offered", "asked", "message"),
    [
        pytest.param(
            _fail, "acme", "policy plug-in acme does not load: RuntimeError: no licence", id="it raises"
        ),
        pytest.param(
            7,
            "acme",
            "policy plug-in acme does not load: TypeError: 'int' object is not iterable",
            id="no list",
        ),
        pytest.param(
            [7],
            "acme",
            "policy plug-in acme offers 7, which is no dataclass with decide(state, now)",
            id="no policy",
        ),
        pytest.param(
            [PLAIN],
            "plain",
            f"policy plug-in acme offers {PLAIN!r}, which is no dataclass with decide(state, now)",
            id="no dataclass",
        ),
        pytest.param(
            [Patient()],
            "patient",
            f"policy plug-in acme offers {Patient()!r}, which is no dataclass with decide(state, now)",
            id="no class",
        ),
        pytest.param(
            [NAMELESS], "acme", f"policy plug-in acme offers {NAMELESS!r} without a name", id="no name"
        ),
        pytest.param(
            [REQUIRED],
            "required",
            f"policy plug-in acme offers {REQUIRED!r}, whose setting 'gap' has no default",
            id="no default",
        ),
    ],
)
def test_what_is_no_policy_is_passed_over(installed: Any, offered: Any, asked: str, message: str) -> None:
    """With a warning, and with an error only where that policy is asked for."""
    installed(offered)
    warnings: list[str] = []
    assert plugins.load("easy", warn=warnings.append) == Easy()
    assert warnings == [f"{message}; it is passed over"]
    with pytest.raises(PolicyPlugin) as error:
        plugins.load(asked)
    assert str(error.value) == message


def test_the_other_policies_of_a_plugin_stay(installed: Any) -> None:
    installed([NAMELESS, Patient])
    assert plugins.load("patient") == Patient()
    assert len(plugins.registry().problems) == 1


def test_an_unknown_policy_names_the_plugins_that_may_have_it(installed: Any) -> None:
    installed(_fail)
    with pytest.raises(UnknownPolicy) as error:
        plugins.load("esy")
    assert str(error.value) == (
        "unknown queue policy 'esy'; did you mean 'easy'?;"
        " policy plug-in acme does not load: RuntimeError: no licence"
    )


@pytest.mark.parametrize("first", [False, True], ids=["in its turn", "before all others"])
def test_a_policy_named_as_a_built_in_one_is_passed_over(installed: Any, first: bool) -> None:
    installed([type("Other", (Patient,), {"name": "easy"})], trylast=first)
    warnings: list[str] = []
    assert plugins.load("easy", warn=warnings.append) == Easy()
    assert warnings == [
        (
            "policy plug-in acme offers another policy 'easy': there is queue_policies.easy.Easy;"
            " it is passed over"
        )
    ]


BROKEN = {
    "no_module": ("", "policy plug-in sjf (no_module) does not load: ModuleNotFoundError: No module named"),
    "import_error": (
        "import no_such_module",
        (
            "policy plug-in sjf (import_error) does not load: ModuleNotFoundError: No module named"
            " 'no_such_module'"
        ),
    ),
    "no_hook": (
        "def minicluster_policies():\n    return []",
        "policy plug-in sjf (no_hook) does not implement the hook minicluster_policies",
    ),
    "wrong_hook": (
        (
            "from queue_policies.plugins import hookimpl\n"
            "@hookimpl\n"
            "def minicluster_policies(config):\n    return []"
        ),
        "policy plug-in sjf (wrong_hook) does not load: PluginValidationError: Plugin 'sjf' for hook",
    ),
}


@pytest.mark.parametrize("module", BROKEN)
def test_an_installed_plugin_that_does_not_load_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str
) -> None:
    """It is an error where the policy of the entry point's name is asked for."""
    text, message = BROKEN[module]
    install_plugin(tmp_path, "sjf", module, text)
    monkeypatch.syspath_prepend(tmp_path)
    warnings: list[str] = []
    assert plugins.load("fcfs", warn=warnings.append).name == "fcfs"
    (warning,) = warnings
    assert (warning.startswith(message), warning.endswith("; it is passed over")) == (True, True), warning
    with pytest.raises(PolicyPlugin) as error:
        plugins.load("sjf")
    assert f"{error.value}; it is passed over" == warning
