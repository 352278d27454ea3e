"""Loads documents: from a text to records, with all mistakes at once."""

from __future__ import annotations

import copy
import sys
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from broker_config.formats.printable import printable
from minicluster.document import positions
from minicluster.document import problems as problem_texts
from minicluster.document.bound_rules import RULES
from minicluster.document.cluster import MiniCluster
from minicluster.document.errors import BEYOND_PYTHON, DocumentError, Problem, described
from minicluster.document.names import API_VERSION, GROUP, KIND
from minicluster.document.positions import Located, written_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import ErrorDetails

    from minicluster.document.positions import Path

STANDARD_INPUT = "-"
_LISTS = (f"{KIND}List", "List")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A document of another kind, which this package does not read."""

    kind: str
    name: str
    """Empty where its metadata have none."""
    line: int
    """Where it begins in the file, from 1."""
    source: str = ""
    """The name of the file; empty for a text."""

    def __str__(self) -> str:
        location = f"{self.source}:{self.line}" if self.source else f"line {self.line}"
        return printable(f"{location}: skipped {self.kind} {self.name}".rstrip())


@dataclass(frozen=True, slots=True)
class Documents:
    """The MiniClusters of a text in their order, and the documents of other kinds."""

    clusters: tuple[MiniCluster, ...]
    skipped: tuple[Skipped, ...] = ()


def load(text_or_path: str | File, *, source: str = "") -> list[MiniCluster]:
    """Return the MiniClusters of a file or of a text.

    A Path is a file. So is a word on one line, and `-` is standard input; any other str is the text itself
    (a MiniCluster has several lines, or the braces of JSON). `source` is the name of the file in messages.
    Raises DocumentError with all problems, and OSError where a file cannot be read.
    """
    return list(read(text_or_path, source=source).clusters)


def read(text_or_path: str | File, *, source: str = "") -> Documents:
    """Return the MiniClusters as `load` does, and the documents of other kinds that were skipped."""
    if isinstance(text_or_path, str) and not _is_path(text_or_path):
        return parse(text_or_path, source=source)
    if str(text_or_path) == STANDARD_INPUT:
        source = source or "standard input"
        return parse(_decoded(sys.stdin.buffer.read(), source), source=source)
    source = source or str(text_or_path)
    return parse(_decoded(File(text_or_path).read_bytes(), source), source=source)


def _is_path(text: str) -> bool:
    return bool(text.strip()) and not any(letter in text for letter in "\n\r{")


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8: byte 0x{data[error.start]:02x}"
        raise DocumentError([Problem("", message, line, 1, source=source)]) from error


def parse(text: str, *, source: str = "") -> Documents:
    """Return the documents of a text; see `read`."""
    documents, problems = positions.read(text)
    problems = [replace(problem, source=source) for problem in problems]
    clusters: dict[tuple[str, str], MiniCluster] = {}
    skipped: list[Skipped] = []
    for document in _documents(documents):
        other = _other_kind(document, source)
        if other:
            skipped.append(other)
            continue
        cluster, wrong = _read_one(document, source)
        problems += wrong
        if cluster is None:
            continue
        key = (cluster.metadata.namespace, cluster.metadata.name)
        if key in clusters:
            message = f'a MiniCluster called "{cluster.metadata.name}" stands above'
            problems.append(_located(("metadata", "name"), message, document, source))
        clusters[key] = cluster
    if not problems and not clusters:
        problems.append(_nothing_found(skipped, source))
    if problems:
        raise DocumentError(problems)
    return Documents(tuple(clusters.values()), tuple(skipped))


def validate(document: Any, *, source: str = "") -> MiniCluster:
    """Return the record of a document that was read elsewhere (from an API server, for example).

    Raises DocumentError; its problems have paths but no lines.
    """
    cluster, problems = _read_one(Located(document, {}, {}), source)
    if cluster is None or problems:
        raise DocumentError([replace(problem, line=0, column=0) for problem in problems])
    return cluster


def dump(cluster: MiniCluster) -> dict[str, Any]:
    """Return the document of a record, without defaults; it loads to the same record."""
    content = cluster.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return {"apiVersion": cluster.api_version, "kind": cluster.kind, **content}


def _documents(documents: list[Located]) -> Iterator[Located]:
    """Yield the documents that are not empty, and the items of lists."""
    for document in documents:
        value = document.value
        if value is None:
            continue
        items = value.get("items") if isinstance(value, dict) and value.get("kind") in _LISTS else None
        if isinstance(items, list):
            for index in range(len(items)):
                yield document.within(("items", index))
        else:
            yield document


def _other_kind(document: Located, source: str) -> Skipped | None:
    """Return a document that is plainly of another kind, else None."""
    value = document.value
    if not isinstance(value, dict):
        return None
    kind, group = value.get("kind"), str(value.get("apiVersion", "")).partition("/")[0]
    if not isinstance(kind, str) or kind.lower() == KIND.lower() or "apiVersion" not in value:
        return None
    if group == GROUP:
        return None
    metadata = value.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    return Skipped(kind, str(name), document.position(()).line, source)


def _nothing_found(skipped: list[Skipped], source: str) -> Problem:
    if not skipped:
        return Problem("", "no document in it; a MiniCluster is needed", 1, 1, source=source)
    kinds = ", ".join(f"{other.kind} {other.name}".rstrip() for other in skipped)
    return Problem("", f"no MiniCluster in it; found {printable(kinds)}", skipped[0].line, 1, source=source)


def _read_one(document: Located, source: str) -> tuple[MiniCluster | None, list[Problem]]:
    """Return the record, or the problems of the document. Raises DocumentError where memory runs out."""
    header = _header_problem(document, source)
    if header:
        return None, [header]
    try:
        return _checked(document, source)
    except BEYOND_PYTHON as error:
        message = f"too deep or too large to be checked ({described(error)})"
        if isinstance(error, MemoryError):  # no other document would have more of it
            raise DocumentError([Problem("", message, source=source)]) from error
        return None, [_located((), message, document, source)]


def _checked(document: Located, source: str) -> tuple[MiniCluster | None, list[Problem]]:
    try:
        cluster = MiniCluster.model_validate(document.value, by_alias=True, by_name=False)
    except ValidationError as error:
        return None, _all_problems(document, error, source)
    problems = _broken_rules(cluster, document, source)
    return (None if problems else cluster), problems


def _header_problem(document: Located, source: str) -> Problem | None:
    """Return what is wrong with the apiVersion or kind; without them no other check makes sense."""
    value = document.value
    position = document.position(())
    if not isinstance(value, dict):
        what = "a list" if isinstance(value, list) else "a single value"
        message = f"found {what}, allowed is a MiniCluster document (apiVersion, kind, metadata, spec)"
        return Problem("", message, position.line, position.column, source=source)
    for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if value.get(field) == wanted:
            continue
        position = document.position((field,))
        found = problem_texts.described(value.get(field)) if field in value else "missing"
        found_instead = f"found {found}" if field in value else found
        message = f"{found_instead}; needed is {field}: {wanted}"
        return Problem(field, message, position.line, position.column, found, wanted, source=source)
    return None


def _broken_rules(cluster: MiniCluster, document: Located, source: str) -> list[Problem]:
    return [
        _located(path, message, document, source) for rule in RULES for path, message in rule.broken(cluster)
    ]


def _located(path: Path, message: str, document: Located, source: str) -> Problem:
    position = document.position(path)
    return Problem(written_path(path), message, position.line, position.column, source=source)


def _all_problems(document: Located, error: ValidationError, source: str) -> list[Problem]:
    """Return what pydantic refused, and which rules the rest of the document breaks."""
    found = [(one, problem_texts.problem(one, document, source)) for one in error.errors(include_url=False)]
    errors = [one for one, problem in found if problem]
    problems = [problem for _, problem in found if problem]
    doubtful = {str(step) for one in errors for step in one["loc"]}
    doubtful |= {problem_texts.meant(one, document) for one in errors}
    try:
        rest = MiniCluster.model_validate(_without(document.value, errors), by_alias=True, by_name=False)
    except ValidationError:
        return problems
    for rule in RULES:
        if not rule.fields & doubtful:
            problems += [_located(path, text, document, source) for path, text in rule.broken(rest)]
    return problems


def _without(document: Any, errors: list[ErrorDetails]) -> Any:
    """Return the document without its refused fields; entries of lists stay, as indexes would change."""
    rest = copy.deepcopy(document)
    for error in errors:
        *above, last = problem_texts.path_of(error)
        holder = rest
        for step in above:
            holder = holder[step] if _has(holder, step) else None
        if isinstance(holder, dict):
            holder.pop(last, None)
    # Without a name there is no record for the rules about all the rest.
    metadata = rest.setdefault("metadata", {})
    if isinstance(metadata, dict):
        metadata.setdefault("name", "nameless")
    return rest


def _has(holder: Any, step: str | int) -> bool:
    """Whether a step down still exists: what was refused as a whole is gone."""
    return step in holder if isinstance(holder, dict) else isinstance(holder, list)
