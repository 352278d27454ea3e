"""Helpers for the fields of objects: empty ones are left out, as Kubernetes does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minicluster.document.record import Record

Object = dict[str, Any]


def present(**fields: Any) -> Object:
    """Return the fields that are neither None nor empty; False and 0 stay."""
    return {
        name: value for name, value in fields.items() if value is not None and value not in ("", {}, [], ())
    }


def passed(record: Record | None) -> Object:
    """Return a part of the document as it was written, for fields that Kubernetes itself defines."""
    return record.model_dump(mode="json", by_alias=True, exclude_unset=True) if record is not None else {}


def merged(generated: Object, given: Object) -> Object:
    """Return both objects merged level by level; the document's fields (`given`) win."""
    result = {**generated, **given}
    for key, value in given.items():
        if isinstance(value, dict) and isinstance(generated.get(key), dict):
            result[key] = merged(generated[key], value)
    return result
