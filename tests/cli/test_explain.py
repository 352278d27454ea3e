"""`minicluster explain`: what docs/reference.md has of one field, and the schema for editors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
import yaml

from minicluster.document import explanation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minicluster.document.explanation import FieldExplanation
    from tests.cli.calls import Answer

    Call = Callable[..., Answer]

ROOT = Path(__file__).parents[2]
CELLS = [
    [" ".join(cell.replace("`", "").replace("\\|", "|").split()) for cell in re.split(r"(?<!\\)\|", line)[1:]]
    for line in (ROOT / "docs" / "reference.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]
ROWS = {(cells[0], *cells[2:5]) for cells in CELLS if len(cells) > 5}
"""Name, allowed values, default and meaning of each field."""
SIZE = """\
field:           spec.size
type:            whole number
allowed:         0 to 100000
default:         1

Number of pods, each with one broker. 0 only together with `suspend`. Where brokers are cut by
`profile`, each of these becomes `status.granularity.brokers` of them.
"""


def every_field(above: FieldExplanation) -> Iterator[FieldExplanation]:
    """Yield a field's fields, and theirs."""
    for each in above.fields():
        yield each
        yield from every_field(each)


def test_a_field_is_explained(call: Call) -> None:
    assert call("explain", "spec.size") == (0, SIZE, "")


def test_every_field_has_the_facts_of_the_reference() -> None:
    found = list(every_field(explanation.explain("")))
    assert len(found) > 300
    assert [each.field_path for each in found if _row(each) not in ROWS] == []


def _row(field: FieldExplanation) -> tuple[str, ...]:
    """Return name, allowed values, default and meaning of a field."""
    default = f"**{field.default}**" if field.is_required else field.default
    cells = (field.name, field.allowed, default, field.description)
    return tuple(" ".join(cell.replace("`", "").split()) for cell in cells)


@pytest.mark.parametrize(
    ("text", "field_path"),
    [
        pytest.param("spec.containers.image", "spec.containers[].image", id="without an index"),
        pytest.param("spec.containers[0].image", "spec.containers[].image", id="with an index"),
        pytest.param("minicluster.spec.archive", "spec.archive", id="as kubectl has it"),
        pytest.param(
            "spec.containers.volumes.data.path", "spec.containers[].volumes.<name>.path", id="a name"
        ),
        pytest.param("spec.containers.volumes.path", "spec.containers[].volumes.<name>.path", id="no name"),
        pytest.param(
            "spec.containers.environment.A", "spec.containers[].environment.<name>", id="an entry of a map"
        ),
        pytest.param("", "", id="the whole"),
    ],
)
def test_a_field_is_found_by(text: str, field_path: str) -> None:
    assert explanation.explain(text).field_path == field_path


@pytest.mark.parametrize(
    ("field", "message"),
    [
        pytest.param("spec.sise", "spec has no field sise; did you mean spec.size?", id="alike"),
        pytest.param("size", "MiniCluster has no field size; did you mean spec.size?", id="elsewhere"),
        pytest.param("spec.archive.qq", "spec.archive has no field qq; known are path", id="unlike any"),
        pytest.param("spec.size.x", "spec.size has no field x", id="below a number"),
    ],
)
def test_an_unknown_field_is_refused_with_what_may_be_meant(call: Call, field: str, message: str) -> None:
    done = call("explain", field)
    assert (done.code, message in done.err) == (2, True), done.err


def test_a_record_shows_its_fields(call: Call) -> None:
    lines = call("explain", "spec.archive").out.splitlines()
    assert re.split(r"  +", lines[-1]) == [
        "path",
        "text",
        "File to restore from at start, and to save to at stop; no job is lost.",
    ]


def test_what_cannot_change_later_is_marked(call: Call) -> None:
    assert "later:           fixed: brokers read their configuration" in call("explain", "spec.flux.wrap").out


def test_all_fields_below_one_are_listed(call: Call) -> None:
    lines = call("explain", "spec.flux", "--recursive").out.splitlines()
    assert lines[:2] == ["container <FluxContainer>", "  disable <true or false>"]


@pytest.mark.parametrize(
    ("field", "value", "is_valid"),
    [
        pytest.param("", None, True, id="the whole, an example"),
        pytest.param("spec.size", 3, True, id="a number"),
        pytest.param("spec.size", -1, False, id="a number below its bound"),
        pytest.param("spec.containers", [{"image": "x"}], True, id="a record"),
        pytest.param("spec.containers", [{"imagge": "x"}], False, id="a record with an unknown field"),
    ],
)
def test_a_json_schema_is_complete(call: Call, field: str, value: object, is_valid: bool) -> None:
    schema = json.loads(call("explain", *filter(None, [field]), "--output", "json-schema").out)
    example = yaml.safe_load((ROOT / "examples" / "hello-world" / "minicluster.yaml").read_text())
    found = list(jsonschema.Draft202012Validator(schema).iter_errors(example if value is None else value))
    assert (found == []) == is_valid
