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

from minicluster.document import field_facts
from minicluster.document.cel import IMMUTABLE
from minicluster.document.names import KIND
from minicluster.document.schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from minicluster.document.structural import SchemaNode

MAX_EXAMPLE_LINES = 16
"""Lines of an example: a longer one hides the fields that it is to show."""
_HEAD = """\
# Reference of the document

Every field of a MiniCluster (`flux-framework.org/v1alpha2`). Do not edit this page: `make reference` writes
it from the records in `minicluster/document/`. The CustomResourceDefinition is made from them too, so
`kubectl explain minicluster.spec` shows the same; so does `minicluster explain spec`, without a cluster.
`minicluster validate FILE` checks a document. Editors do by `minicluster explain --output json-schema`.

How to read the tables:

- `[]` in a place stands for each item of a list, `<name>` for each name in a map.
- A field without a default may be left out, except where **required** stands.
- A *quantity* is written as Kubernetes does: `2`, `"500m"`, `"4Gi"`.
- A field that is fixed cannot change once brokers were made. Then make a new MiniCluster.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A record of the document, and where the document has it."""

    schema: SchemaNode
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


def _sections(schema: SchemaNode) -> dict[str, Section]:
    """Return a section for each record, by the record's name, in the order of the document."""
    field_paths: dict[str, list[str]] = {KIND: [""]}
    _collect(schema, "", schema["$defs"], field_paths)
    records = {KIND: schema, **schema["$defs"]}
    return {name: Section(records[name], tuple(found)) for name, found in field_paths.items()}


def _collect(
    record: SchemaNode, field_path: str, records: dict[str, SchemaNode], field_paths: dict[str, list[str]]
) -> None:
    for name, field in record["properties"].items():
        inner, suffix = field_facts.record_of(field)
        if not inner:
            continue
        here = f"{field_path}.{name}{suffix}" if field_path else f"{name}{suffix}"
        field_paths.setdefault(inner, []).append(here)
        if len(field_paths[inner]) == 1:
            _collect(records[inner], here, records, field_paths)


def _contents(sections: Iterable[Section]) -> str:
    rows = [(f"[`{each.title}`](#{each.anchor})", each.schema["description"]) for each in sections]
    return _table(("place", "what"), rows)


def _written(section: Section, sections: Mapping[str, Section], examples: Sequence[Example]) -> str:
    parts = [f"\n## `{section.title}`\n", section.schema["description"]]
    if others := ", ".join(f"`{field_path}`" for field_path in section.field_paths[1:]):
        parts.append(f"The same fields are at {others}.")
    if reason := field_facts.fixed(section.field_paths[0]):
        parts.append(f"Fixed: {reason}.")
    if example := _example(section.field_paths, examples):
        parts.append(f"\n{example}")
    return "\n".join([*parts, "", _fields(section, sections)])


def _fields(section: Section, sections: Mapping[str, Section]) -> str:
    required = set(section.schema.get("required", ()))
    is_spec = section.field_paths == ("spec",)
    rows = []
    for name, field in section.schema["properties"].items():
        plain = field_facts.without_null(field)
        default = "**required**" if name in required else field_facts.default(field.get("default"))
        row = [f"`{name}`", _type(name, plain, sections), field_facts.allowed(plain), default]
        row.append(
            field.get("description") or sections[field_facts.record_of(field)[0]].schema["description"]
        )
        rows.append([*row, *(["fixed" if name in IMMUTABLE else "may change"] if is_spec else [])])
    head = ("field", "type", "allowed", "default", "meaning", *(["later"] if is_spec else []))
    return _table(head, rows)


def _type(name: str, field: SchemaNode, sections: Mapping[str, Section]) -> str:
    """Return the type of a field, with a link to the section of its record."""
    record, _ = field_facts.record_of(field)
    if not record:
        return field_facts.type_name(name, field)
    link = f"[`{sections[record].title}`](#{sections[record].anchor})"
    return field_facts.of_shape(field, link)


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
