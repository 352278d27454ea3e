"""Which changes of a CRD refuse, prune or change what an earlier one took, within one version. Pure.

Source: Kubernetes' "Changing the API" (sig-architecture, api_changes.md) and API conventions. What may be
added: fields that may be left out, values of an enum, looser bounds. A new CEL rule is always named: whether
it refuses what was accepted cannot be told from its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

LOWER_BOUNDS = ("minimum", "minLength", "minItems", "minProperties")
UPPER_BOUNDS = ("maximum", "maxLength", "maxItems", "maxProperties")
PROSE = ("description", "title", "example", "externalDocs")
COMPARED_APART = (
    *("properties", "items", "additionalProperties", "required", "enum", "nullable"),
    *("x-kubernetes-validations", "x-kubernetes-preserve-unknown-fields"),
)


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return what a CustomResourceDefinition changed that it may not, each with the field's path."""
    return [*_names(old["spec"], new["spec"]), *_versions(old["spec"], new["spec"])]


def schema_changes(old: Schema, new: Schema, path: str = "") -> Iterator[str]:
    """Yield what a schema changed that it may not, each with the field's path."""
    for text in (*_words(old, new), *_bounds(old, new), *_values(old, new), *_rules(old, new)):
        yield f"{path or 'the document'}: {text}"
    yield from _fields(old, new, path)
    for part, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(old.get(part), Mapping) and isinstance(new.get(part), Mapping):
            yield from schema_changes(old[part], new[part], f"{path}{mark}")
        elif bool(old.get(part)) != bool(new.get(part)):
            yield f"{path or 'the document'}: {part} {'are gone' if old.get(part) else 'are new'}"


def _names(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for word in ("group", "scope", "conversion"):
        if old.get(word) != new.get(word):
            yield f"{word} was {old.get(word)}, is {new.get(word)}"
    for word, was in old["names"].items():
        now = new["names"].get(word)
        if isinstance(was, list):
            yield from (f"names.{word}: {each} is gone" for each in was if each not in (now or ()))
        elif was != now:
            yield f"names.{word} was {was}, is {now}"


def _versions(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    served = {each["name"]: each for each in new["versions"] if each["served"]}
    for was in (each for each in old["versions"] if each["served"]):
        now = served.get(was["name"])
        if now is None:
            yield f"version {was['name']} is not served"
            continue
        for name, paths in was.get("subresources", {}).items():
            if now.get("subresources", {}).get(name) != paths:
                yield f"subresource {name} was {paths}, is {now.get('subresources', {}).get(name)}"
        yield from schema_changes(was["schema"]["openAPIV3Schema"], now["schema"]["openAPIV3Schema"])


def _words(old: Schema, new: Schema) -> Iterator[str]:
    apart = {*COMPARED_APART, *PROSE, *LOWER_BOUNDS, *UPPER_BOUNDS}
    for word in sorted((old.keys() | new.keys()) - apart):
        if old.get(word) != new.get(word):
            yield f"{word} was {old.get(word)}, is {new.get(word)}"
    if old.get("nullable") and not new.get("nullable"):
        yield "null is refused"
    kept = "x-kubernetes-preserve-unknown-fields"
    if old.get(kept) and not new.get(kept):
        yield "unknown fields are dropped"


def _bounds(old: Schema, new: Schema) -> Iterator[str]:
    for word in LOWER_BOUNDS:
        if new.get(word, float("-inf")) > old.get(word, float("-inf")):
            yield f"{word} was {old.get(word)}, is {new[word]}"
    for word in UPPER_BOUNDS:
        if new.get(word, float("inf")) < old.get(word, float("inf")):
            yield f"{word} was {old.get(word)}, is {new[word]}"


def _values(old: Schema, new: Schema) -> Iterator[str]:
    if "enum" in old and "enum" in new:
        yield from (f"value {each!r} is refused" for each in old["enum"] if each not in new["enum"])
    elif "enum" in new:
        yield f"only {new['enum']} are accepted"


def _rules(old: Schema, new: Schema) -> Iterator[str]:
    known = {each["rule"] for each in old.get("x-kubernetes-validations", ())}
    for each in new.get("x-kubernetes-validations", ()):
        if each["rule"] not in known:
            yield f"new rule: {each.get('message') or each['rule']}"


def _fields(old: Schema, new: Schema, path: str) -> Iterator[str]:
    was, now = old.get("properties", {}), new.get("properties", {})
    for name in new.get("required", ()):
        if name not in old.get("required", ()) and "default" not in now.get(name, {}):
            yield f"{_below(path, name)}: is required"
    for name, field in was.items():
        if name in now:
            yield from schema_changes(field, now[name], _below(path, name))
        elif not new.get("x-kubernetes-preserve-unknown-fields"):
            yield f"{_below(path, name)}: is gone"


def _below(path: str, name: str) -> str:
    return f"{path}.{name}".lstrip(".")
