"""docs/reference.md is what the records of the document say, field for field."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from minicluster.document import reference
from minicluster.document.cel import IMMUTABLE
from minicluster.document.schema import document_schema

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `(.+?)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
WITH_SAME_FIELDS = {
    other: title
    for title, text in SECTIONS.items()
    for line in re.findall(r"^The same fields are at (.+)\.$", text, re.MULTILINE)
    for other in re.findall(r"`(.+?)`", line)
}


def field_paths(schema: dict, field_path: str = "") -> list[tuple[str, str]]:
    """Return every field of the CRD's schema as the path of its record and its name."""
    found = []
    for name, field in schema.get("properties", {}).items():
        here = f"{field_path}.{name}" if field_path else name
        found.append((field_path or "MiniCluster", name))
        values = field.get("additionalProperties")
        found += field_paths(field, here) + field_paths(field.get("items", {}), f"{here}[]")
        found += field_paths(values if isinstance(values, dict) else {}, f"{here}.<name>")
    return found


def section_of(field_path: str) -> str:
    """Return the text of the section for a path: its own, or that of another path with the same fields."""
    for above in sorted(WITH_SAME_FIELDS, key=len, reverse=True):
        if field_path == above or field_path.startswith((f"{above}.", f"{above}[]")):
            return section_of(WITH_SAME_FIELDS[above] + field_path.removeprefix(above))
    return SECTIONS[field_path]


def test_the_page_is_up_to_date() -> None:
    assert reference.page(reference.read_examples(ROOT / "examples")) == PAGE, "run `make reference`"


def test_it_has_every_field_of_the_crd() -> None:
    fields = field_paths(document_schema())
    assert len(fields) > 300
    assert [(path, name) for path, name in fields if f"\n| `{name}` |" not in section_of(path)] == []


@pytest.mark.parametrize("name", IMMUTABLE)
def test_what_cannot_change_is_marked(name: str) -> None:
    assert re.search(rf"^\| `{name}` .*\| fixed \|$", SECTIONS["spec"], re.MULTILINE)


@pytest.mark.parametrize(
    ("field_path", "row"),
    [
        ("spec", "| `drainTimeoutSeconds` | seconds | 0 to 2147483647 | `60` |"),
        ("spec", "| `suspend` | true or false | | `false` |"),
        (
            "metadata",
            '| `name` | text | a host name: a-z, 0-9 and "-", beginning with a letter | **required** |',
        ),
        ("spec.containers[]", "| `imagePullPolicy` | text | `Always`, `IfNotPresent`, `Never` | |"),
        ("spec.containers[]", "| `ports` | list of whole number | at most 64 entries; each: 1 to 65535 | |"),
        ("spec.containers[].resources", "| `limits` | map of quantity | at most 64 entries | |"),
        (
            "spec",
            "| `containers` | list: [`spec.containers[]`](#speccontainers) | 1 to 32 entries |",
        ),
    ],
    ids=["seconds", "flag", "shape", "values", "list", "quantity", "records"],
)
def test_row(field_path: str, row: str) -> None:
    assert f"\n{row}" in SECTIONS[field_path]


@pytest.mark.parametrize(
    "text", re.findall(r"```yaml\n# (.+?)```", PAGE, re.DOTALL), ids=lambda text: text[:40]
)
def test_an_example_is_part_of_the_document_that_it_names(text: str) -> None:
    name, _, excerpt = text.partition("\n")
    documents = yaml.safe_load_all((ROOT / name).read_text(encoding="utf-8"))
    assert any(is_part(yaml.safe_load(excerpt), document) for document in documents)


def is_part(excerpt: object, whole: object) -> bool:
    """Whether everything in an excerpt is in the whole, at the same path."""
    if isinstance(excerpt, dict) and isinstance(whole, dict):
        return all(name in whole and is_part(value, whole[name]) for name, value in excerpt.items())
    if isinstance(excerpt, list) and isinstance(whole, list):
        return all(any(is_part(item, other) for other in whole) for item in excerpt)
    return excerpt == whole
