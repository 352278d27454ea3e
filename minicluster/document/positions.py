"""Reads YAML (and so JSON) as plain values, each with its position in the text.

The rules of Kubernetes: YAML 1.1 truth words, no dates, no base-60 numbers, every key a text.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from broker_config.formats.printable import printable
from minicluster.document.bounds import MAX_DIGITS
from minicluster.document.errors import BEYOND_PYTHON, Problem, described

Path = tuple[str | int, ...]

# Aliases can make a short text into an endless document; a real one is far below this.
MAX_NODES = 200_000
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Position:
    """A line and a column of a text, counted from 1."""

    line: int
    column: int

    @classmethod
    def of(cls, mark: Any) -> Position:
        """Return the position of a YAML mark."""
        return cls(mark.line + 1, mark.column + 1)


@dataclass(frozen=True, slots=True)
class Located:
    """One document: its value, with the position and the written form of everything in it."""

    value: Any
    positions: dict[Path, Position]
    written: dict[Path, str]

    def position(self, path: Path) -> Position:
        """Return the position of a path, or of its parent if the document does not have it."""
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions.get(path, Position(1, 1))

    def has(self, path: Path) -> bool:
        """Return whether the document has something at a path of fields."""
        value = self.value
        for step in path:
            if not (step in value if isinstance(value, dict) else isinstance(value, list)):
                return False
            value = value[step]
        return True

    def within(self, path: Path) -> Located:
        """Return one part of the document as a document of its own."""
        size = len(path)
        value = self.value
        for step in path:
            value = value[step]
        return Located(
            value,
            {key[size:]: position for key, position in self.positions.items() if key[:size] == path},
            {key[size:]: text for key, text in self.written.items() if key[:size] == path},
        )


class _Loader(yaml.SafeLoader):
    """Resolves plain words as Kubernetes' YAML does."""


_KINDS = ("bool", "null", "merge")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag.rpartition(":")[2] in _KINDS]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_INTEGER = re.compile(r"[-+]?(0b[01_]+|0o?[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$")
_NUMBER = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INTEGER, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))

_TRUE = {"yes", "true", "on"}


def read(text: str) -> tuple[list[Located], list[Problem]]:
    """Return the documents of a text, and its problems as YAML; reading ends at a syntax error."""
    documents: list[Located] = []
    problems: list[Problem] = []
    loader = None
    try:
        loader = _Loader(_spaced(text))
        while loader.check_node():
            node: Any = loader.get_node()
            reader = _Reader(problems)
            value = reader.value(node, ())
            documents.append(Located(value, reader.positions, reader.written))
    except yaml.MarkedYAMLError as error:
        problems.append(_syntax_problem(error))
    except yaml.YAMLError as error:
        problems.append(Problem("", f"not a text that YAML allows: {_first_line(error)}", 1, 1))
    except RecursionError:
        problems.append(Problem("", "not readable: nested too deeply, or too large", 1, 1))
    except BEYOND_PYTHON as error:
        problems.append(_impossible(error, loader))
    return documents, problems


def _spaced(text: str) -> str:
    """Return the text, with spaces for the tabs of JSON: YAML forbids them, and JSON's texts have none."""
    if "\t" in text and text.lstrip().startswith(("{", "[")):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return text
        return text.replace("\t", " ")
    return text


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _syntax_problem(error: yaml.MarkedYAMLError) -> Problem:
    """Return the problem that ended the YAML parser, with its position."""
    mark = error.problem_mark or error.context_mark
    position = Position.of(mark) if mark else Position(1, 1)
    what = error.problem or error.context or "unknown reason"
    hint = _syntax_hint(what)
    return Problem(
        "",
        f"malformed YAML, column {position.column}: {what}{'; ' + hint if hint else ''}",
        position.line,
        position.column,
        hint=hint,
    )


def _impossible(error: Exception, loader: _Loader | None) -> Problem:
    """Return the problem of a number or character that Python has not: PyYAML does not expect any."""
    position = Position.of(loader.get_mark()) if loader else Position(1, 1)
    what = f"a number or character that there is not, or too much text ({described(error)})"
    return Problem("", f"malformed YAML, column {position.column}: {what}", position.line, position.column)


def _syntax_hint(what: str) -> str:
    if r"'\t'" in what:
        return "indent with spaces, not with tabs"
    if "mapping values are not allowed" in what:
        return "is a colon in a text without quotes, or the indentation off?"
    if "expected <block end>" in what or "could not find expected ':'" in what:
        return "is the indentation off?"
    return ""


@dataclass(slots=True)
class _Reader:
    """Makes plain values of one document's nodes, and keeps their positions."""

    problems: list[Problem]
    positions: dict[Path, Position] = field(default_factory=dict)
    written: dict[Path, str] = field(default_factory=dict)
    nodes: int = 0

    def value(self, node: yaml.Node, path: Path) -> Any:
        """Return the plain value of a node."""
        self.nodes += 1
        if len(path) > MAX_DEPTH or self.nodes > MAX_NODES:
            raise RecursionError
        self.positions.setdefault(path, Position.of(node.start_mark))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        self.written[path] = node.value
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in self._merged(node, path):
            key = self._key(key_node, path)
            if key is None:
                continue
            inner = (*path, key)
            if inner in self.positions:
                self._problem(key_node, inner, f"given twice, first in line {self.positions[inner].line}")
                continue
            self.positions[inner] = Position.of(key_node.start_mark)
            result[key] = self.value(value_node, inner)
        return result

    def _merged(self, node: yaml.MappingNode, path: Path) -> list[tuple[yaml.Node, yaml.Node]]:
        """Return a mapping's entries, and those that `<<` adds and that it does not have itself."""
        own = [pair for pair in node.value if pair[0].tag != "tag:yaml.org,2002:merge"]
        taken = {key.value for key, _ in own if isinstance(key, yaml.ScalarNode)}
        for key, value in node.value:
            if key.tag != "tag:yaml.org,2002:merge":
                continue
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(source, yaml.MappingNode) or source is node:
                    self._problem(key, (*path, "<<"), "only mappings can be merged")
                    continue
                self._count(source)
                own += [pair for pair in source.value if self._is_new(pair[0], taken)]
        return own

    def _count(self, source: yaml.MappingNode) -> None:
        self.nodes += len(source.value)

    @staticmethod
    def _is_new(key: yaml.Node, taken: set[str]) -> bool:
        if not isinstance(key, yaml.ScalarNode) or key.value in taken:
            return False
        taken.add(key.value)
        return True

    def _key(self, node: yaml.Node, path: Path) -> str | None:
        """Return a key as a text; numbers stay as they are written."""
        kind = node.tag.rpartition(":")[2]
        if isinstance(node, yaml.ScalarNode) and kind in {"str", "int", "float"}:
            return _joined(node.value)
        word = f" {printable(node.value)}" if isinstance(node, yaml.ScalarNode) else ""
        self._problem(node, path, f"the key{word} is not a text; write it in quotes")
        return None

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        kind = node.tag.rpartition(":")[2]
        if "\0" in node.value:
            self._problem(node, path, "a text cannot hold the character NUL")
        if kind in {"int", "float"} and len(node.value) > MAX_DIGITS:
            self._problem(node, path, f"a number of more than {MAX_DIGITS} digits")
            return None
        if kind in {"int", "float", "bool", "null", "str"}:
            try:
                return _plain(kind, node.value)
            except ValueError:
                self._problem(node, path, f"{node.value!r} is not of the type {node.tag}")
                return None
        self._problem(node, path, f"the tag {node.tag} has no meaning here")
        return None

    def _problem(self, node: yaml.Node, path: Path, message: str) -> None:
        position = Position.of(node.start_mark)
        self.problems.append(Problem(written_path(path), message, position.line, position.column))


def _plain(kind: str, text: str) -> Any:
    """Return the value of a scalar of a kind."""
    match kind:
        case "int":
            return _integer(text.replace("_", ""))
        case "float":
            return _number(text.lower())
        case "bool":
            return text.lower() in _TRUE
        case "null":
            return None
        case _:
            return _joined(text)


def _integer(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-").lower()
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _number(text: str) -> float:
    if text.endswith((".inf", ".nan")):
        return math.nan if text.endswith("nan") else math.copysign(math.inf, -1 if text[0] == "-" else 1)
    return float(text)


def _joined(text: str) -> str:
    r"""Join the surrogate pairs that JSON's \ud83d\ude00 leaves apart."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def written_path(path: Path) -> str:
    """Return a path as text: `spec.containers[0].environment["A B"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_-]*", step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text
