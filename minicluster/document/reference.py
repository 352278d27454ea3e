"""The page docs/reference.md: every field of the document, made from the records that also make the CRD.

`python -m minicluster.document.reference examples > docs/reference.md` writes it (`make reference`). Its
examples are excerpts of the documents in that directory. Each record has one section, named after the first
field path at which the document has it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from minicluster.document.cel import IMMUTABLE
from minicluster.document.cluster import KIND
from minicluster.document.schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from minicluster.document.schema import Schema

MAX_EXAMPLE_LINES = 16
"""Lines of an example: a longer one hides the fields that it is to show."""
_PREFIX = "#/$defs/"
_TYPES = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "map"}
_UNITS = {"Seconds": "seconds", "bytes": "bytes"}
_HEAD = """\
# Reference of the document

Every field of a MiniCluster (`flux-framework.org/v1alpha2`). Do not edit this page: `make reference` writes
it from the records in `minicluster/document/`. The CustomResourceDefinition is made from them too, so
`kubectl explain minicluster.spec` shows the same. `minicluster validate FILE` checks a document,
and editors check it by `minicluster crd --output json-schema`.

How to read the tables:

- `[]` in a place stands for each item of a list, `<name>` for each name in a map.
- A field without a default may be left out, except where **required** stands.
- A *quantity* is written as Kubernetes does: `2`, `"500m"`, `"4Gi"`.
- A field that is fixed cannot change once brokers were made. Then make a new MiniCluster.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A record of the document, and where the document has it."""

    schema: Schema
    """The record's own JSON schema."""
    field_paths: tuple[str, ...]
    """Such as `spec.containers[]`; empty text: the document itself."""

    @property
    def title(self) -> str:
        """The first of the field paths."""
        return self.field_paths[0] or KIND

    @property
    def anchor(self) -> str:
        """The title as the target of a link on GitHub."""
        return re.sub(r"[^\w\- ]", "", self.title.lower())


@dataclass(frozen=True, slots=True)
class Example:
    """A document of the examples."""

    name: str
    """Its path, from the root of the project."""
    value: Mapping[str, Any]


def page(examples: Iterable[Example]) -> str:
    """Return the page as Markdown."""
    schema = json_schema()
    sections = _sections(schema)
    documents = tuple(examples)
    parts = [_HEAD, _contents(sections.values())]
    parts += [_written(section, sections, documents) for section in sections.values()]
    return "\n".join(parts)


def read_examples(directory: Path) -> list[Example]:
    """Return the MiniClusters in the documents of a directory's directories, by name."""
    return [
        Example(f"{directory.name}/{path.relative_to(directory)}", value)
        for path in sorted(directory.glob("*/minicluster.yaml"))
        for value in yaml.safe_load_all(path.read_text(encoding="utf-8"))
        if isinstance(value, dict) and value.get("kind") == KIND
    ]


def _sections(schema: Schema) -> dict[str, Section]:
    """Return a section for each record, by the record's name, in the order of the document."""
    field_paths: dict[str, list[str]] = {KIND: [""]}
    _collect(schema, "", schema["$defs"], field_paths)
    records = {KIND: schema, **schema["$defs"]}
    return {name: Section(records[name], tuple(found)) for name, found in field_paths.items()}


def _collect(
    record: Schema, field_path: str, records: dict[str, Schema], field_paths: dict[str, list[str]]
) -> None:
    for name, field in record["properties"].items():
        inner, suffix = _record_of(field)
        if not inner:
            continue
        here = f"{field_path}.{name}{suffix}" if field_path else f"{name}{suffix}"
        field_paths.setdefault(inner, []).append(here)
        if len(field_paths[inner]) == 1:
            _collect(records[inner], here, records, field_paths)


def _record_of(field: Schema) -> tuple[str, str]:
    """Return the record of a field's value, and the end of its field path; empty: it has none."""
    plain = _plain(field)
    if "$ref" in plain:
        return plain["$ref"].removeprefix(_PREFIX), ""
    for inner, suffix in ((plain.get("items"), "[]"), (_values(plain), ".<name>")):
        if isinstance(inner, dict) and "$ref" in inner:
            return inner["$ref"].removeprefix(_PREFIX), suffix
    return "", ""


def _plain(field: Schema) -> Schema:
    """Return the schema of a field without the alternative null."""
    for option in field.get("anyOf", ()):
        if option != {"type": "null"}:
            return {**option, **{key: value for key, value in field.items() if key != "anyOf"}}
    return field


def _values(field: Schema) -> Schema | None:
    """Return the schema of a map's values."""
    for values in field.get("patternProperties", {}).values():
        return dict(values)
    values = field.get("additionalProperties")
    return values if isinstance(values, dict) else None


def _contents(sections: Iterable[Section]) -> str:
    rows = [(f"[`{each.title}`](#{each.anchor})", each.schema["description"]) for each in sections]
    return _table(("place", "what"), rows)


def _written(section: Section, sections: Mapping[str, Section], examples: Sequence[Example]) -> str:
    parts = [f"\n## `{section.title}`\n", section.schema["description"]]
    if others := ", ".join(f"`{field_path}`" for field_path in section.field_paths[1:]):
        parts.append(f"The same fields are at {others}.")
    if reason := _fixed(section.field_paths[0]):
        parts.append(f"Fixed: {reason}.")
    if example := _example(section.field_paths, examples):
        parts.append(f"\n{example}")
    return "\n".join([*parts, "", _fields(section, sections)])


def _fixed(field_path: str) -> str:
    """Return why the field at a path cannot change; empty: it can."""
    spec, _, rest = field_path.partition(".")
    return IMMUTABLE.get(re.split(r"[.\[]", rest)[0], "") if spec == "spec" else ""


def _fields(section: Section, sections: Mapping[str, Section]) -> str:
    required = set(section.schema.get("required", ()))
    is_spec = section.field_paths == ("spec",)
    rows = []
    for name, field in section.schema["properties"].items():
        plain = _plain(field)
        default = "**required**" if name in required else _default(field.get("default"))
        row = [f"`{name}`", _type(name, plain, sections), _allowed(plain), default]
        row.append(field.get("description") or sections[_record_of(field)[0]].schema["description"])
        rows.append([*row, *(["fixed" if name in IMMUTABLE else "may change"] if is_spec else [])])
    head = ("field", "type", "allowed", "default", "meaning", *(["later"] if is_spec else []))
    return _table(head, rows)


def _type(name: str, field: Schema, sections: Mapping[str, Section]) -> str:
    record, suffix = _record_of(field)
    if record:
        link = f"[`{sections[record].title}`](#{sections[record].anchor})"
        return {"": link, "[]": f"list: {link}"}.get(suffix, f"map: {link}")
    if "items" in field:
        return f"list of {_type('', field['items'], sections)}"
    if values := _values(field):
        return f"map of {_type('', values, sections)}"
    if field.get("x-kubernetes-int-or-string"):
        return "quantity"
    unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
    return unit or _TYPES.get(field.get("type", ""), "any value")


def _allowed(field: Schema) -> str:
    """Return what a field allows: its shape, its values, or its bounds."""
    if values := field.get("enum") or ([field["const"]] if "const" in field else []):
        return ", ".join(f"`{value}`" for value in values if value != "")
    if "items" in field or "maxProperties" in field:
        return _allowed_entries(field)
    if words := field.get("x-allowed"):
        return "" if field.get("x-kubernetes-int-or-string") else str(words)
    if "minimum" in field:
        least, most = field["minimum"], field.get("maximum")
        return f"from {least}" if most is None else f"{least} to {most}"
    return f"at most {field['maxLength']} characters" if "maxLength" in field else ""


def _allowed_entries(field: Schema) -> str:
    """Return how many entries a list or a map may have, and what each may be."""
    most = field.get("maxItems", field.get("maxProperties"))
    least = field.get("minItems", 0)
    each = _allowed(field.get("items") or _values(field) or {})
    count = f"{least} to {most} entries" if least else f"at most {most} entries" if most else ""
    return "; ".join(filter(None, [count, f"each: {each}" if each else ""]))


def _default(value: object) -> str:
    if value is None or value in ("", [], {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    written = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "\n".join(re.sub(r" +", " ", f"| {line} |") for line in written) + "\n"


def _example(field_paths: Iterable[str], examples: Sequence[Example]) -> str:
    """Return the excerpt of an example with the most fields of a record; empty: none has any."""
    found = [
        (-len(node), len(text.splitlines()), example.name, text)
        for field_path in field_paths
        for example in examples
        for excerpt, node in _excerpts(example.value, _steps(field_path))
        if len((text := _yaml(excerpt)).splitlines()) <= MAX_EXAMPLE_LINES
    ]
    if not found:
        return ""
    *_, name, text = min(found)
    return f"```yaml\n# {name}\n{text}```"


def _steps(field_path: str) -> list[str]:
    return [step for step in field_path.replace("[]", ".[]").split(".") if step]


def _excerpts(value: Any, steps: list[str]) -> Iterator[tuple[Any, Any]]:
    """Yield the parts of a document at a path, each within its parents, and alone."""
    if not steps:
        if value:
            yield value, value
        return
    step, *rest = steps
    if step == "[]":
        for item in value:
            for excerpt, node in _excerpts(item, rest):
                yield [excerpt], node
        return
    for name in value if step == "<name>" else {step} & value.keys():
        for excerpt, node in _excerpts(value[name], rest):
            yield {name: excerpt}, node


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _block(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _block)


def _yaml(value: Any) -> str:
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return str(text)


if __name__ == "__main__":
    sys.stdout.write(page(read_examples(Path(sys.argv[1]))))
