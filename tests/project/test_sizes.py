"""How large classes, functions and modules may be, that no class name has two meanings, and no file a circle.

Each list below is what is still to be mended: an entry that has grown fails, and one that is mended too.
"""

from __future__ import annotations

import ast
from collections import Counter

from tests.project.sources import (
    PACKAGES,
    all_methods,
    circles,
    classes,
    functions,
    imports,
    known_classes,
    sources,
)

EVERYTHING = (*PACKAGES, "tests", "benchmarks")
MAX_METHODS = 15
MAX_FUNCTION_LINES = 60
MAX_MODULE_LINES = 400
ROOMS = (
    "minicluster",
    "metrics_api",
    "queue_policies",
    "broker_config",
    "restful",
    "burst",
    "tests/devcluster",
)

LARGE_CLASSES: dict[str, int] = {}
"""Methods, those inherited from classes of ours counted."""

LONG_FUNCTIONS: dict[str, int] = {}
"""Lines."""

LONG_MODULES: dict[str, int] = {}
"""Lines."""

PROMISED_TWICE = {"Grow", "Hooks", "Shrink"}
"""Class names that 0.1.0 promised of two packages each, of minicluster.malleable and of queue_policies."""

CIRCLES: set[frozenset[str]] = set()
"""Sets of modules that import one another, for type hints too."""


def _check(found: dict[str, int], listed: dict[str, int]) -> None:
    grown = {name: size for name, size in found.items() if size > listed.get(name, 0)}
    mended = sorted(listed.keys() - found.keys())
    assert (grown, mended) == ({}, [])


def test_no_class_has_too_many_methods() -> None:
    """Test cases are tables, and do not count."""
    known = known_classes(*EVERYTHING)
    sizes: dict[str, int] = {}
    for each in (one for one in classes(*EVERYTHING) if not one.name.startswith("Test")):
        key = f"{each.path}:{each.name}"
        sizes[key] = max(len(all_methods(each, known)), sizes.get(key, 0))
    _check({name: size for name, size in sizes.items() if size > MAX_METHODS}, LARGE_CLASSES)


def test_no_function_is_too_long() -> None:
    sizes = {
        f"{source.path}:{name}": lines
        for source in sources(*EVERYTHING)
        for name, lines in functions(source)
        if lines > MAX_FUNCTION_LINES
    }
    _check(sizes, LONG_FUNCTIONS)


def test_no_module_is_too_long() -> None:
    sizes = {each.path: each.lines for each in sources(*EVERYTHING) if each.lines > MAX_MODULE_LINES}
    _check(sizes, LONG_MODULES)


def test_no_public_class_name_has_two_meanings() -> None:
    counted = Counter(
        node.name
        for source in sources(*PACKAGES)
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in counted.items() if count > 1} == PROMISED_TWICE


def test_no_file_imports_another_in_a_circle() -> None:
    found = sources(*ROOMS)
    known = frozenset(each.module for each in found)
    edges = {each.module: set(imports(each, known)) - {each.module} for each in found}
    assert set(circles(edges)) == CIRCLES
