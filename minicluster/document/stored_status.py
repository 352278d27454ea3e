"""Reads the status of a MiniCluster as an API server has it. Pure.

A later release may have written it, before a rollback: with fields that this one does not know, or values
that it does not expect. Neither makes a document wrong whose author has written none of it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from minicluster.document.positions import written_path
from minicluster.document.status import Status
from minicluster.document.structural import structural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import ErrorDetails

    from minicluster.document.positions import Path
    from minicluster.document.structural import SchemaNode

Content = dict[str, Any]


class ReadableStatus(NamedTuple):
    """What this release can read of a status."""

    record: Status
    content: Content
    """The same as JSON has it."""
    left_out: tuple[str, ...] = ()
    """The paths of what has an unexpected value, as `status.save.phase`; unknown fields are not named."""


def known_fields(status: Any) -> Any:
    """Return a status without the fields that this release does not know, at any depth."""
    return _pruned(status, _schema())


def readable(status: Any) -> ReadableStatus:
    """Return what this release can read of a status.

    Unknown fields are left out, and so are unexpected values. A record that cannot be without such a value
    goes with it: of `save` with an unknown phase nothing is left. A list is cut to the length it may have.
    """
    content, left_out = known_fields(status), dict[str, None]()
    while True:
        try:
            return ReadableStatus(_record(content), content, tuple(left_out))
        except ValidationError as error:
            gone = {path for each in error.errors(include_url=False) for path in _unreadable(each)}
        left_out |= dict.fromkeys(written_path(("status", *each)) for each in sorted(gone, key=written_path))
        rest = _without(content, gone)
        content = {} if () in gone or rest == content else rest  # of what cannot be found all must go


@cache
def _schema() -> SchemaNode:
    """Return the schema of the status alone: that of the whole document takes ten times as long to make."""
    return structural(Status)


def _pruned(value: Any, schema: SchemaNode) -> Any:
    """Return a value as an API server keeps it whose CRD has this schema."""
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return {key: _pruned(each, known[key]) for key, each in value.items() if key in known}
    if isinstance(value, list) and "items" in schema:
        return [_pruned(each, schema["items"]) for each in value]
    return value


def _record(content: Any) -> Status:
    return Status.model_validate(content, by_alias=True, by_name=False)


def _unreadable(error: ErrorDetails) -> Iterator[Path]:
    """Yield the paths of what must go so that the rest can be read."""
    path = error["loc"]
    if error["type"] == "missing":
        yield path[:-1]
    elif error["type"] == "too_long":
        yield from ((*path, index) for index in range(error["ctx"]["max_length"], len(error["input"])))
    else:
        yield path


def _without(value: Any, gone: set[Path], path: Path = ()) -> Any:
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if (*path, key) not in gone}
        return {key: _without(each, gone, (*path, key)) for key, each in kept.items()}
    if isinstance(value, list):
        indexes = (index for index in range(len(value)) if (*path, index) not in gone)
        return [_without(value[index], gone, (*path, index)) for index in indexes]
    return value
