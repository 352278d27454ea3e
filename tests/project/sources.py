"""Files, imports, classes and functions of the project, from syntax trees."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
PACKAGES = ("minicluster", "metrics_api", "broker_config", "queue_policies", "restful", "burst")
TESTS = ("tests",)
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef
_CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")
"""A name of more than one letter and not in capitals: of a class, or of a type alias."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file: its path below the root, its module name, and its syntax tree."""

    path: str
    module: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Return how many lines it has."""
        return len(self.text.splitlines())


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Return every Python file below these folders of the project."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return tuple(_source(path) for path in paths)


@cache
def _source(path: Path) -> Source:
    relative = path.relative_to(ROOT)
    parts = relative.with_suffix("").parts
    text = path.read_text(encoding="utf-8")
    return Source(
        str(relative),
        ".".join(parts[:-1] if parts[-1] == "__init__" else parts),
        text,
        ast.parse(text),
    )


def imports(source: Source, known: frozenset[str]) -> Iterator[str]:
    """Yield the modules among the known ones that a file imports, for type hints or inside functions too."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = _base(source, node)
            for each in node.names:
                inner = f"{base}.{each.name}"
                if inner in known:
                    yield inner
                elif base in known:
                    yield base


def _base(source: Source, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = source.module.split(".")
    package = package if source.path.endswith("__init__.py") else package[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *([node.module] if node.module else [])])


def circles(edges: dict[str, set[str]]) -> list[frozenset[str]]:
    """Return the sets of modules that import one another in a circle (Tarjan's components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[frozenset[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in edges.get(name, ()):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            members = []
            while not members or members[-1] != name:
                members.append(stack.pop())
            if len(members) > 1:
                found.append(frozenset(members))

    for name in edges:
        if name not in index:
            visit(name)
    return found


@dataclass(frozen=True, slots=True)
class Class:
    """One class: where it stands, the full names of its bases, and the methods that it defines itself."""

    path: str
    name: str
    full_name: str
    bases: tuple[str, ...]
    methods: frozenset[str]


@cache
def classes(*folders: str) -> tuple[Class, ...]:
    """Return every class of these folders."""
    return tuple(each for source in sources(*folders) for each in _classes(source))


def _classes(source: Source) -> Iterator[Class]:
    imported = _imported_names(source)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef):
            bases = tuple(_full_name(base, source.module, imported) for base in node.bases)
            yield Class(source.path, node.name, f"{source.module}.{node.name}", bases, _methods(node))


def public_types(source: Source) -> Iterator[tuple[str, str]]:
    """Yield each public class and type alias, also those for type checkers alone, with its meaning.

    That is a class's full name, or what an alias stands for. What is made in a function stays in it.
    """

    def walk(node: ast.AST) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.ClassDef(name=name) if not name.startswith("_"):
                    yield name, f"{source.module}.{name}"
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ) if _CAMEL_CASE.fullmatch(name):
                    yield name, _unquoted(value)
            if not isinstance(child, DEFINITIONS | ast.Lambda):
                yield from walk(child)

    return walk(source.tree)


def _unquoted(value: ast.expr) -> str:
    """Return what an alias stands for, the same with quotes and without."""
    match value:
        case ast.Constant(value=str(text)):
            return ast.unparse(ast.parse(text))
        case _:
            return ast.unparse(value)


def known_classes(*folders: str) -> dict[str, Class]:
    """Return the classes of these folders by each name under which others can import them."""
    found = {each.full_name: each for each in classes(*folders)}
    names = {
        f"{source.module}.{name}": full
        for source in sources(*folders)
        for name, full in _imported_names(source).items()
    }
    return {name: found[full] for name, full in _followed(names).items() if full in found} | found


def _followed(names: Mapping[str, str]) -> dict[str, str]:
    """Return the full name in place of one under which a module only passes on what it has imported."""

    def home(name: str, seen: frozenset[str]) -> str:
        return home(names[name], seen | {name}) if name in names and name not in seen else name

    return {name: home(full, frozenset({name})) for name, full in names.items()}


def all_methods(one: Class, known: Mapping[str, Class]) -> frozenset[str]:
    """Return the methods of a class, those inherited from the known classes counted."""
    found, seen, waiting = set(one.methods), {one.full_name}, list(one.bases)
    while waiting:
        base = known.get(waiting.pop())
        if base is not None and base.full_name not in seen:
            seen.add(base.full_name)
            found |= base.methods
            waiting += base.bases
    return frozenset(found)


def _imported_names(source: Source) -> dict[str, str]:
    """Return what a file calls by which name, and its full name."""
    found: dict[str, str] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            found |= {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.ImportFrom):
            base = _base(source, node)
            found |= {each.asname or each.name: f"{base}.{each.name}" for each in node.names}
    return found


def _full_name(node: ast.expr, module: str, imported: Mapping[str, str]) -> str:
    """Return the full name of a base class; that of this module's own where it is not imported."""
    while isinstance(node, ast.Subscript):
        node = node.value
    head, dot, rest = ast.unparse(node).partition(".")
    return imported.get(head, head if dot else f"{module}.{head}") + dot + rest


def functions(source: Source) -> Iterator[tuple[str, int]]:
    """Yield each function's qualified name and how many lines it has, its decorators apart."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, DEFINITIONS | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if isinstance(child, DEFINITIONS):
                    yield name, (child.end_lineno or child.lineno) - child.lineno + 1
                yield from walk(child, f"{name}.")
            else:
                yield from walk(child, prefix)

    yield from walk(source.tree, "")


def _methods(node: ast.ClassDef) -> frozenset[str]:
    return frozenset(each.name for each in node.body if isinstance(each, DEFINITIONS))
