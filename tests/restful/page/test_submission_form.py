"""The form for a job, as it is made from the schema."""

from __future__ import annotations

from typing import Any

import pytest

from restful.errors import FieldError, HttpProblem
from restful.jobs.schema import Submission
from restful.page import submission_form
from restful.page.submission_form import FIRST, empty, errors, fields, submission


def meaning(**filled: str) -> dict[str, Any]:
    """Return what a form means, without the schema's defaults."""
    return submission(empty() | filled).model_dump(exclude_unset=True)


def test_every_field_of_the_schema_is_in_the_form() -> None:
    assert {each.name.partition(".")[0] for each in fields()} == set(Submission.model_fields)
    assert set(FIRST) <= {each.name for each in fields()}


def test_a_field_has_its_description_and_its_control() -> None:
    found = {each.name: each for each in fields()}
    assert found["nodes"].note == Submission.model_fields["nodes"].description
    assert {name: each.kind.control for name, each in found.items()} == {
        **dict.fromkeys(
            ("tasks", "nodes", "cores_per_task", "gpus_per_task", "urgency", "elastic.min", "elastic.max"),
            "number",
        ),
        **dict.fromkeys(("exclusive", "elastic.malleable"), "checkbox"),
        **dict.fromkeys(
            ("script", "jobspec", "input", "dependencies", "environment", "shell_options", "results"), "lines"
        ),
        **dict.fromkeys(
            (
                *("command", "time_limit", "queue", "bank", "name", "cwd", "burstable"),
                *("output.stdout", "output.stderr"),
            ),
            "line",
        ),
    }


@pytest.mark.parametrize(
    ("filled", "expected"),
    [
        pytest.param({"command": "sh -c 'a b'"}, {"command": ["sh", "-c", "a b"]}, id="a command"),
        pytest.param(
            {"command": "a", "tasks": " 4 ", "time_limit": "1.5h"},
            {"command": ["a"], "tasks": 4, "time_limit": 5400.0},
            id="numbers",
        ),
        pytest.param(
            {"command": "a", "exclusive": "on", "nodes": "1"},
            {"command": ["a"], "exclusive": True, "nodes": 1},
            id="a checkbox",
        ),
        pytest.param(
            {"command": "a", "environment": "A=1\r\n\r\nB=x=y\r\n"},
            {"command": ["a"], "environment": {"A": "1", "B": "x=y"}},
            id="variables",
        ),
        pytest.param(
            {"script": "#!/bin/sh\r\ntrue\r\n"},
            {"script": "#!/bin/sh\ntrue\n"},
            id="a script's ends of lines",
        ),
        pytest.param(
            {"command": "a", "dependencies": "afterok:f1\nafter:f2"},
            {"command": ["a"], "dependencies": ["afterok:f1", "after:f2"]},
            id="a list",
        ),
        pytest.param(
            {"command": "a", "elastic.min": "1", "elastic.max": "3", "output.stdout": "o"},
            {"command": ["a"], "elastic": {"min": 1, "max": 3}, "output": {"stdout": "o"}},
            id="objects",
        ),
        pytest.param(
            {"command": "a", "shell_options": '{"mpi": "none"}'},
            {"command": ["a"], "shell_options": {"mpi": "none"}},
            id="JSON",
        ),
        pytest.param({"jobspec": '{"version": 1}'}, {"jobspec": {"version": 1}}, id="a jobspec"),
    ],
)
def test_what_a_form_means(filled: dict[str, str], expected: dict[str, Any]) -> None:
    assert meaning(**filled) == expected


def test_all_texts_that_cannot_be_read_are_reported_at_once() -> None:
    with pytest.raises(HttpProblem) as refusal:
        meaning(command="'", environment="A", jobspec="[" * 100_000, tasks="x")
    assert errors(refusal.value) == {
        "tasks": ["Input should be a valid integer"],
        "command": ["cannot be split into words: no closing quotation"],
        "environment": ["'A' has no ="],
        "jobspec": ["is no JSON"],
    }


def test_an_empty_form_needs_a_command() -> None:
    with pytest.raises(HttpProblem) as refusal:
        meaning()
    assert errors(refusal.value) == {"command": ["is empty"]}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(FieldError("/tasks", "m"), {"tasks": ["m"]}, id="a pointer"),
        pytest.param(FieldError("environment/A B", "m"), {"environment": ["m"]}, id="within a field"),
        pytest.param(FieldError("/output/stdout", "m"), {"output.stdout": ["m"]}, id="a part"),
        pytest.param(FieldError("elastic", "m"), {"elastic.min": ["m"]}, id="of several parts"),
        pytest.param(FieldError("form", "script: m"), {"script": ["m"]}, id="in the message"),
        pytest.param(
            FieldError("/attributes/system/dependencies/0", "m"), {"dependencies": ["m"]}, id="of a jobspec"
        ),
        pytest.param(FieldError("/attributes/user/x", "m"), {"": ["/attributes/user/x m"]}, id="of none"),
        pytest.param(FieldError("", "m"), {"": ["m"]}, id="of all"),
    ],
)
def test_an_error_is_shown_with_the_field_that_it_is_about(
    error: FieldError, expected: dict[str, list[str]]
) -> None:
    assert errors(HttpProblem("invalid", "", (error,))) == expected


def test_a_refusal_without_fields_is_shown_as_it_is() -> None:
    assert errors(HttpProblem("quota", "enough jobs")) == {"": ["enough jobs"]}
    assert errors(None) == {}


def test_a_field_that_the_schema_gets_later_is_in_the_form() -> None:
    later = {"properties": {"color": {"type": "string", "description": "Of the job."}}}
    (field,) = submission_form._fields(later, {}, "")
    assert (field.label, field.note, field.kind.control) == ("Color", "Of the job.", "line")
