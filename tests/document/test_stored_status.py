"""A later release's status is read as far as this one can; one in a user's file is checked."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.document import DocumentError, stored_status, validate
from minicluster.document.schema import document_schema
from tests.operator.cases import document

AT = "2026-03-14T15:09:26Z"
SAVE = {"phase": "Writing", "startedAt": AT, "error": "full"}
DONE = {"type": "Running", "status": "True", "reason": "Running"}
JOB = {"job": "ƒa", "cause": "Save"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "as it is": ({"size": 3, "save": SAVE, "conditions": [DONE]}, {}, []),
    "a field": ({"size": 3, "later": {"a": [1]}}, {"size": 3}, []),
    "a field of a record": ({"save": {**SAVE, "later": 1}}, {"save": SAVE}, []),
    "a field of a list's entry": ({"conditions": [{**DONE, "later": 1}]}, {"conditions": [DONE]}, []),
    "a value of an enum": (
        {"size": 3, "save": {**SAVE, "phase": "Later"}},
        {"size": 3},
        ["status.save.phase", "status.save"],
    ),
    "another type": ({"size": "many", "jobid": "ƒ"}, {"jobid": "ƒ"}, ["status.size"]),
    "another type of what may be left out": (
        {"save": {**SAVE, "error": ["full"]}},
        {"save": {"phase": "Writing", "startedAt": AT}},
        ["status.save.error"],
    ),
    "entries of a list": (
        {"conditions": [{**DONE, "status": "Maybe"}, DONE, {"later": 1}]},
        {"conditions": [DONE]},
        ["status.conditions[0].status", "status.conditions[2]", "status.conditions[0]"],
    ),
    "a longer list": (
        {"restartedJobs": [JOB] * 98},
        {"restartedJobs": [JOB] * 96},
        ["status.restartedJobs[96]", "status.restartedJobs[97]"],
    ),
    "a text in place of a list": ({"conditions": "fine", "size": 3}, {"size": 3}, ["status.conditions"]),
    "a time of another form": (
        {"leadLoss": {"cause": "Moved"}, "startTime": "noon"},
        {},
        ["status.leadLoss.cause", "status.startTime", "status.leadLoss"],
    ),
}


@pytest.mark.parametrize(("status", "content", "left_out"), CASES.values(), ids=CASES)
def test_what_can_be_read_is_read(
    status: dict[str, Any], content: dict[str, Any], left_out: list[str]
) -> None:
    found = stored_status.readable(status)
    assert found.content == (content or (status if not left_out else {}))
    assert list(found.left_out) == left_out
    assert found.record == validate({**document(), "status": found.content}).status


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["phase", "type", "status", "job", "at", "1", ""]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(sorted(document_schema()["properties"]["status"]["properties"])), JSON)
)
def test_whatever_is_stored_can_be_read(status: dict[str, Any]) -> None:
    found = stored_status.readable(status)
    assert found.record == stored_status.readable(found.content).record
    assert stored_status.readable(found.content).left_out == ()


@pytest.mark.parametrize("status", ["fine", ["fine"], 7])
def test_what_is_no_status_is_none(status: Any) -> None:
    assert stored_status.readable(status).content == {}


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"later": 1}, "status.later: unknown field"),
        ({"save": {**SAVE, "phase": "Later"}}, 'status.save.phase: found the text "Later"'),
    ],
)
def test_in_a_users_file_it_is_a_mistake(status: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        validate({**document(), "status": status})
