"""The words a document is made of, and the same where they may be left empty."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from minicluster.document import scalars

PAIRS = [
    pytest.param(scalars.LabelName, scalars.OptionalLabelName, id="label"),
    pytest.param(scalars.HostLabel, scalars.OptionalHostLabel, id="host"),
    pytest.param(scalars.ObjectName, scalars.OptionalObjectName, id="object"),
]


def errors(scalar: Any, value: object) -> list[tuple[str, Any, str]]:
    """Return what is wrong with a value."""
    try:
        TypeAdapter(scalar).validate_python(value)
    except ValidationError as error:
        return [(each["type"], each["loc"], each["msg"]) for each in error.errors()]
    return []


@pytest.mark.parametrize("value", ["a-b", "A!", "x" * 300, 5, None, []])
@pytest.mark.parametrize(("needed", "optional"), PAIRS)
def test_what_may_be_empty_is_else_checked_alike(needed: Any, optional: Any, value: object) -> None:
    assert errors(optional, value) == errors(needed, value)


@pytest.mark.parametrize(("needed", "optional"), PAIRS)
def test_only_what_may_be_empty_is(needed: Any, optional: Any) -> None:
    assert [kind for kind, *_ in errors(needed, "")] == ["shape"]
    assert errors(optional, "") == []


@pytest.mark.parametrize(("needed", "optional"), PAIRS)
def test_the_crd_has_the_same_but_for_the_empty_text(needed: Any, optional: Any) -> None:
    schema = TypeAdapter(needed).json_schema()
    pattern = schema["pattern"].removeprefix("^").removesuffix("$")
    assert TypeAdapter(optional).json_schema() == schema | {"pattern": f"^({pattern}?)$"}
