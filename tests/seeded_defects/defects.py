"""The list of defects in `defects.toml`, as records. No I/O but reading that list."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tests.seeded_defects.errors import SeedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LIST = Path(__file__).with_name("defects.toml")
RELEASE = "5026d38"
"""The revision that became release 0.1.0."""

EditionName = Literal["release", "today"]


@dataclass(frozen=True, slots=True)
class Edition:
    """A defect in one tree: in `file` the text `find` is replaced by `put`.

    `tests` and `cluster_tests` are files of tests, or the node ids of test functions.
    """

    file: str
    find: str
    put: str
    tests: tuple[str, ...] = ()
    cluster_tests: tuple[str, ...] = ()

    def seeded(self, text: str) -> str:
        """Return the file's text with the defect in it. Raises SeedError."""
        found = text.count(self.find)
        if found != 1:
            raise SeedError(f"{self.file}: {self.find!r} occurs {found} times there, once would be right")
        return text.replace(self.find, self.put)

    def lines(self, text: str) -> frozenset[int]:
        """Return the lines, from 1, of the statements that the defect changes; none in what is no Python."""
        if not self.file.endswith(".py"):
            return frozenset()
        begin = text.index(self.find)
        first = text.count("\n", 0, begin) + 1
        last = first + self.find.rstrip("\n").count("\n")
        changed = range(first, last + 1)
        spans = [span for span in _spans(ast.parse(text)) if span.start <= last and first < span.stop]
        return frozenset(changed).union(*spans)


@dataclass(frozen=True, slots=True)
class Defect:
    """A defect: what is wrong then, and the subject of the commit that it takes back, if there is one."""

    name: str
    room: str
    what: str
    release: Edition
    today: Edition
    mends: str = ""

    def edition(self, name: EditionName) -> Edition:
        """Return the defect as it is seeded into one of the trees."""
        return self.release if name == "release" else self.today


def read(source: Path = LIST) -> tuple[Defect, ...]:
    """Return the defects in their order."""
    listed = tomllib.loads(source.read_text(encoding="utf-8"))["defect"]
    return tuple(_defect(each) for each in listed)


def chosen(defects: Iterable[Defect], names: Iterable[str]) -> tuple[Defect, ...]:
    """Return the defects of these names or rooms, all without any. Raises SeedError for a name of neither."""
    found = tuple(defects)
    wanted = list(names)
    strange = set(wanted) - {each.name for each in found} - {each.room for each in found}
    if strange:
        raise SeedError(f"there is no defect and no room {', '.join(sorted(strange))}")
    return tuple(each for each in found if not wanted or each.name in wanted or each.room in wanted)


def _defect(message: dict[str, Any]) -> Defect:
    release, today = _edition(message.pop("release")), _edition(message.pop("today"))
    return Defect(release=release, today=today, **message)


def _edition(message: dict[str, Any]) -> Edition:
    tests, on_cluster = tuple(message.pop("tests", ())), tuple(message.pop("cluster_tests", ()))
    return Edition(tests=tests, cluster_tests=on_cluster, **message)


def _spans(tree: ast.Module) -> Iterator[range]:
    """Yield the lines of each statement; of one with a body the lines before that."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            body: list[ast.stmt] = getattr(node, "body", [])
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            yield range(node.lineno, max(end, node.lineno + 1))
