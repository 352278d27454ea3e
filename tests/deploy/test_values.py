"""The values of each chart: schema and defaults agree, and both carry the project's version."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.deploy.files import CHARTS, Object, project

pytestmark = pytest.mark.parametrize("chart", CHARTS, ids=lambda path: path.name)


@pytest.mark.parametrize("field", ["version", "appVersion"])
def test_the_chart_has_the_version_of_the_project(chart: Path, field: str) -> None:
    assert yaml.safe_load((chart / "Chart.yaml").read_text())[field] == project()["version"]


def test_every_default_is_a_value_that_the_schema_allows(chart: Path) -> None:
    jsonschema.Draft7Validator(schema(chart)).validate(values(chart))


def test_every_value_is_in_the_schema_and_has_a_default(chart: Path) -> None:
    described = set(leaves(schema(chart))) - {"global"}
    assert set(keys(values(chart))) == described


def test_who_writes_a_value_that_does_not_exist_is_shown_all_that_do(chart: Path) -> None:
    """Helm prints the list of names."""
    found = schema(chart)
    assert found["propertyNames"]["enum"] == list(found["properties"])


def schema(chart: Path) -> Object:
    """Read the schema of the values."""
    found: Object = json.loads((chart / "values.schema.json").read_text())
    return found


def values(chart: Path) -> Object:
    """Read the default values."""
    found: Object = yaml.safe_load((chart / "values.yaml").read_text())
    return found


def leaves(node: Object, field_path: str = "") -> list[str]:
    """List the paths of a schema that have no paths below."""
    inner = node.get("properties")
    if not inner:
        return [field_path]
    return [
        found for name, below in inner.items() for found in leaves(below, f"{field_path}.{name}".strip("."))
    ]


def keys(node: object, field_path: str = "") -> list[str]:
    """List the paths of the values; where the schema allows any value, a path ends."""
    if not isinstance(node, dict) or not node or field_path.rpartition(".")[2] == "resources":
        return [field_path]
    return [found for name, below in node.items() for found in keys(below, f"{field_path}.{name}".strip("."))]
