"""How large classes, functions and modules may be; no name of a type has two meanings, no file a circle."""

from __future__ import annotations

import ast

import pytest

from tests.project.sources import (
    PACKAGES,
    Source,
    all_methods,
    circles,
    classes,
    functions,
    imports,
    known_classes,
    public_types,
    sources,
)

EVERYTHING = (*PACKAGES, "tests", "benchmarks")
MAX_METHODS = 15
MAX_FUNCTION_LINES = 60
MAX_MODULE_LINES = 400
REVISIONS = "/migrations/v"
"""Files of alembic's, which make one table after another: they are as long as what changes."""
ROOMS = (
    "minicluster",
    "metrics_api",
    "queue_policies",
    "broker_config",
    "restful",
    "burst",
    "tests/devcluster",
)

PROMISED_TWICE = {"Grow", "Hooks", "Shrink"}
"""Class names that 0.1.0 promised of two packages each, of minicluster.malleable and of queue_policies."""


def test_no_class_has_too_many_methods() -> None:
    """Test cases are tables, and do not count."""
    known = known_classes(*EVERYTHING)
    sizes: dict[str, int] = {}
    for each in (one for one in classes(*EVERYTHING) if not one.name.startswith("Test")):
        key = f"{each.path}:{each.name}"
        sizes[key] = max(len(all_methods(each, known)), sizes.get(key, 0))
    assert {name: size for name, size in sizes.items() if size > MAX_METHODS} == {}, (
        f"over {MAX_METHODS} methods: move one subject into a class of its own"
    )


def test_no_function_is_too_long() -> None:
    sizes = {
        f"{source.path}:{name}": lines
        for source in sources(*EVERYTHING)
        for name, lines in functions(source)
        if lines > MAX_FUNCTION_LINES and REVISIONS not in source.path
    }
    assert sizes == {}, f"over {MAX_FUNCTION_LINES} lines: give its steps functions of their own"


def test_no_module_is_too_long() -> None:
    found = [each for each in sources(*EVERYTHING) if REVISIONS not in each.path]
    sizes = {each.path: each.lines for each in found if each.lines > MAX_MODULE_LINES}
    assert sizes == {}, f"over {MAX_MODULE_LINES} lines: move one subject into a file of its own"


def test_no_public_type_has_two_meanings() -> None:
    """Aliases of the same type are one meaning: rooms that do not know each other may have one each."""
    meanings: dict[str, set[str]] = {}
    for source in sources(*PACKAGES):
        for name, meaning in public_types(source):
            meanings.setdefault(name, set()).add(meaning)
    assert {name for name, found in meanings.items() if len(found) > 1} == PROMISED_TWICE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("class Node: ...", [("Node", "a.Node")], id="a class"),
        pytest.param("if True:\n    class Node: ...", [("Node", "a.Node")], id="for type checkers alone"),
        pytest.param("class Node:\n    class _Part: ...", [("Node", "a.Node")], id="a private one"),
        pytest.param("def f():\n    class Node: ...", [], id="in a function"),
        pytest.param("Row = dict[str, int]", [("Row", "dict[str, int]")], id="an alias"),
        pytest.param("Row: TypeAlias = 'dict[str, int]'", [("Row", "dict[str, int]")], id="one in quotes"),
        pytest.param("JSON = T = _Row = row = dict", [], id="no public name of a type"),
    ],
)
def test_public_types_are_found(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(public_types(Source("a.py", "a", text, ast.parse(text)))) == expected


def test_no_file_imports_another_in_a_circle() -> None:
    found = sources(*ROOMS)
    known = frozenset(each.module for each in found)
    edges = {each.module: set(imports(each, known)) - {each.module} for each in found}
    assert set(circles(edges)) == set()
