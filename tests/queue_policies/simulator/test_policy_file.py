"""A policy that is a class in a file: for the simulator only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queue_policies.errors import PolicyError, PolicyPlugin, PolicySettings
from queue_policies.simulator import selection
from queue_policies.simulator.selection import policy_named

if TYPE_CHECKING:
    from pathlib import Path

TEXT = '''\
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Lazy:
    """Starts nothing."""

    name: ClassVar[str] = "lazy"
    gap: float = 5.0

    def decide(self, state, now):
        return []


class Plain:
    pass
'''


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "lazy.py").write_text(TEXT)
    return str(tmp_path / "lazy.py")


def test_settings_stand_behind_the_class(file: str) -> None:
    policy = policy_named(f"{file}:Lazy:gap=60")
    assert (policy.name, policy.gap) == ("lazy", 60.0)  # type: ignore[attr-defined]
    assert policy == policy_named(f"{file}:Lazy:gap=60"), "and equal settings make equal policies"


@pytest.mark.parametrize(
    ("behind", "kind", "message"),
    [
        (":Lzay", PolicyPlugin, "FILE has no class 'Lzay'; its policies are Lazy"),
        (":Plain", PolicyPlugin, "FILE offers <class 'policy_file_lazy.Plain'>, which is no dataclass with"),
        (":Lazy:gpa=1", PolicySettings, "queue policy lazy: unknown setting 'gpa'; did you mean 'gap'?"),
        (":Lazy:gap", PolicySettings, "queue policy lazy: 'gap'; a setting is written name=value"),
        ("", PolicyError, "unknown queue policy 'FILE'; a class in a file is written FILE.py:CLASS"),
    ],
)
def test_what_is_wrong_is_named(file: str, behind: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as error:
        policy_named(file + behind)
    assert str(error.value).replace(file, "FILE").startswith(message)


def test_a_file_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(PolicyPlugin, match=r"none\.py: there is no such file"):
        policy_named(f"{tmp_path}/none.py:Lazy")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def f():\n    return 1 / 0\n\nf()\n",
            "ZeroDivisionError: division by zero (FILE:4 in <module>, FILE:2 in f)",
        ),
        (
            "import nowhere_at_all\n",
            "ModuleNotFoundError: No module named 'nowhere_at_all' (FILE:1 in <module>)",
        ),
        ("class\n", "SyntaxError: invalid syntax (broken.py, line 1)"),
    ],
)
def test_a_file_that_does_not_load_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(PolicyPlugin) as error:
        policy_named(f"{path}:Any")
    assert str(error.value).replace(str(path), "FILE") == f"FILE does not load: {message}"


def test_brokers_take_no_file(file: str) -> None:
    """What a document names must never be run by the operator."""
    with pytest.raises(PolicyError, match="only the simulator takes a file; brokers take the name of"):
        selection.read(f"{file}:Lazy")
