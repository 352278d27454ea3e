"""Each of Flux's formats has one reader: what only a reader needs stands in `broker_config/formats` alone."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.malleable.variables import PATH_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FORMATS = ROOT / "broker_config" / "formats"
SOURCES = sorted(
    path
    for room in ("broker_config", "metrics_api", "minicluster", "queue_policies")
    for path in (ROOT / room).rglob("*.py")
)
OUTSIDE = [path for path in SOURCES if FORMATS not in path.parents]
ALLOWED = [
    "minicluster/embedded/commands/job_record.py",  # a listed job's own key
]
"""What reads such a key nevertheless."""
R_KEYS = {"R_lite", "execution", "expiration", "nodelist", "nslots", "starttime"}
MARKS = [
    pytest.param("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", "jobid", id="F58"),
    pytest.param("minicluster: shrinking", "drain_reasons", id="drain"),
    pytest.param("attributes.user.elastic", "jobspec_rules", id="elastic"),
    pytest.param("config-sync", "broker_state", id="broker-states"),
]
STATE_WORDS = {"ACTIVE", "INACTIVE", "PENDING", "RUNNING", "STATES"}
"""Words in the names of constants that tell of bits of job states."""


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _texts(path: Path) -> set[str]:
    return {
        node.value
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize(("text", "module"), MARKS)
def test_a_contract_is_written_once(text: str, module: str) -> None:
    found = {path for path in SOURCES if text in _texts(path)}
    assert found == {FORMATS / f"{module}.py"}


def test_nobody_else_walks_an_r() -> None:
    """Its entries, times and slots are read in one place."""
    found = [path for path in OUTSIDE if R_KEYS & (_subscripts(path) | _gets(path))]
    assert [path.relative_to(ROOT).as_posix() for path in found] == ALLOWED


def test_nobody_else_walks_a_jobspec() -> None:
    """Its attributes and its task section are read in one place; others may set them by a path."""
    found = [path for path in OUTSIDE if "attributes" in _subscripts(path) | _gets(path) or _takes_task(path)]
    assert [path.relative_to(ROOT).as_posix() for path in found] == []


def _takes_task(path: Path) -> bool:
    """Whether a module has `["tasks"][0]`."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Subscript)
        and [ast.unparse(each.slice) for each in (node.value, node)] == ["'tasks'", "0"]
        for node in ast.walk(_tree(path))
    )


def _subscripts(path: Path) -> set[object]:
    return {
        node.slice.value
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    }


def _gets(path: Path) -> set[object]:
    return {
        node.args[0].value
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def test_nobody_else_has_bits_of_job_states() -> None:
    """A class or a table with the names of RFC 21 and numbers."""
    found = [path for path in OUTSIDE if {"DEPEND", "INACTIVE"} <= _named_numbers(path)]
    assert [path.name for path in found] == []


def test_nobody_else_has_the_bits_of_a_group_of_states() -> None:
    """A constant number that is named after states, such as `_ACTIVE = 126`."""
    found = {path.name: words for path in OUTSIDE if (words := _numbers_named_after_states(path))}
    assert found == {}


def _numbers_named_after_states(path: Path) -> list[str]:
    return [
        target.id
        for node in ast.walk(_tree(path))
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and _is_number(node.value)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and STATE_WORDS & set(target.id.split("_"))
    ]


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is a whole number, or several that are put together, such as `2 | 4`."""
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    return isinstance(value, ast.Constant) and type(value.value) is int


def _named_numbers(path: Path) -> set[str]:
    return {name for node in ast.walk(_tree(path)) for name in _numbers(node)}


def _numbers(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement or a table gives to whole numbers."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from (name.id for name in names if isinstance(name, ast.Name) and _holds_number(node.value))
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            words = [each.value for each in (key, value) if isinstance(each, ast.Constant)]
            if any(isinstance(word, int) for word in words):
                yield from (word for word in words if isinstance(word, str))


def _holds_number(value: ast.expr) -> bool:
    return any(isinstance(each, ast.Constant) and isinstance(each.value, int) for each in ast.walk(value))


def test_the_lua_plugin_sets_the_variable_that_tasks_read() -> None:
    text = (ROOT / "minicluster" / "flux_zips" / "side_files" / "malleable.lua").read_text(encoding="utf-8")
    assert f'shell.setenv ("{PATH_VARIABLE}"' in text
