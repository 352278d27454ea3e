"""What may be submitted, what becomes of it, and what is refused in which words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import ValidationError

from broker_config.formats import jobspec as formats
from restful.errors import FieldError, HttpProblem
from restful.jobs import dependencies, jobspecs
from restful.jobs.jobspecs import Base
from restful.jobs.quota import Reservation
from restful.jobs.rules import Rules
from restful.jobs.schema import Submission
from restful.routes.answers import invalid
from restful.settings import JobLimits

LIMITS = JobLimits(command_bytes=200, environment_bytes=200, environment_entries=5, input_bytes=50)
RULES = Rules(LIMITS)
BASE = Base({"PATH": "/bin", "LANG": "C"}, "/home")


def built(fields: dict[str, Any], rules: Rules = RULES) -> dict[str, Any]:
    """Return the jobspec of a request's fields, as a client sends them."""
    try:
        submission = Submission.model_validate_json(json.dumps(fields))
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_input=False, include_context=False)) from None
    return jobspecs.jobspec_of(submission, BASE, rules)


def system(fields: dict[str, Any]) -> dict[str, Any]:
    """Return attributes.system of the jobspec of a request's fields."""
    return formats.system_of(built(fields))


def spec(**changes: Any) -> dict[str, Any]:
    """Return a jobspec as a user writes one; `system` and `user` are attributes."""
    given = {"system": {"duration": 0.0, **changes.pop("system", {})}, "user": changes.pop("user", {})}
    return {
        "version": 1,
        "resources": [{"type": "slot", "count": 1, "label": "task", "with": [{"type": "core", "count": 1}]}],
        "tasks": [{"command": ["true"], "slot": "task", "count": {"per_slot": 1}}],
        "attributes": given,
        **changes,
    }


def test_the_environment_is_the_requests_over_the_clusters() -> None:
    found = system({"command": ["a"], "environment": {"LANG": "de", "X": "1"}})
    assert found["environment"] == {"PATH": "/bin", "LANG": "de", "X": "1"}
    found = system({"jobspec": spec(system={"environment": {"X": "1"}})})
    assert found["environment"] == {"PATH": "/bin", "LANG": "C", "X": "1"}


@pytest.mark.parametrize("form", [{"command": ["a"]}, {"jobspec": spec()}], ids=["fields", "jobspec"])
def test_without_a_working_directory_it_is_the_clusters(form: dict[str, Any]) -> None:
    assert system(form)["cwd"] == "/home"


def test_nodes_alone_are_a_task_each() -> None:
    assert formats.read(built({"command": ["a"], "nodes": 3})).ntasks == 3


def test_standard_input_is_a_file_that_comes_with_the_job() -> None:
    found = built({"command": ["cat", "-n"], "input": "hello"})
    assert formats.system_of(found)["files"]["stdin"]["data"] == "hello"
    assert formats.command_of(found)[-2:] == ["cat", "-n"]
    assert formats.read(found).name == "cat"


def test_a_script_is_an_instance_of_its_own() -> None:
    found = built({"script": "#!/bin/sh\ntrue\n", "command": ["x"], "nodes": 2})
    assert formats.command_of(found) == ["flux", "broker", "{{tmpdir}}/script", "x"]
    assert formats.system_of(found)["files"]["script"]["data"] == "#!/bin/sh\ntrue\n"


def test_an_elastic_range_and_dependencies_and_a_bank_are_written_where_flux_reads_them() -> None:
    found = built(
        {"command": ["a"], "elastic": {"min": 1, "max": 4}, "dependencies": ["afterok:17"], "bank": "b"}
    )
    assert formats.user_of(found)["elastic"] == {"min": 1, "max": 4, "malleable": False}
    assert formats.system_of(found)["dependencies"] == [{"scheme": "afterok", "value": "17"}]
    assert formats.system_of(found)["bank"] == "b"
    assert jobspecs.summary_of(found, 2).reservation == Reservation(2, 0.0)


@pytest.mark.parametrize("count", [10**6, 10**300])
def test_more_nodes_than_a_database_can_count_are_refused(count: int) -> None:
    cores = [{"type": "core", "count": count}]
    huge = spec(resources=[{"type": "slot", "count": count, "label": "task", "with": cores}])
    with pytest.raises(HttpProblem) as refused:
        jobspecs.summary_of(huge, 1)
    assert refused.value.type == "invalid"
    assert refused.value.errors == (FieldError("/nodes", "the job needs more than 2147483647 nodes"),)


@pytest.mark.parametrize(("given", "wish"), [(True, True), ("far", "far")])
def test_a_burstable_job_is_one_at_the_instance(given: Any, wish: Any) -> None:
    assert formats.system_of(built({"command": ["a"], "burstable": given}))["burstable"] == wish
    assert "burstable" not in formats.system_of(built({"command": ["a"], "burstable": False}))


@pytest.mark.parametrize(
    ("value", "is_right"), [(True, True), (1, True), ("far", True), ("a b", False), ([], False)]
)
def test_a_jobspec_may_be_burstable(value: Any, is_right: bool) -> None:
    given = spec()
    given["attributes"]["system"]["burstable"] = value
    if is_right:
        assert formats.system_of(built({"jobspec": given}))["burstable"] == value
        return
    with pytest.raises(HttpProblem) as refused:
        built({"jobspec": given})
    path = "/jobspec/attributes/system/burstable"
    assert refused.value.errors == (FieldError(path, "is true, false or the name of a provider"),)


def test_results_are_an_attribute_of_the_job() -> None:
    found = built({"command": ["a"], "results": ["out.h5", "logs"]})
    assert formats.user_of(found) == {"burst": {"results": ["out.h5", "logs"]}}
    assert "burst" not in formats.user_of(built({"command": ["a"]}))


@pytest.mark.parametrize("wrong", ["out.h5", ["/etc/passwd"], ["a/../../x"], [1]])
def test_a_jobspec_has_results_below_the_working_directory(wrong: Any) -> None:
    given = spec()
    given["attributes"]["user"] = {"burst": {"results": wrong}}
    with pytest.raises(HttpProblem) as refused:
        built({"jobspec": given})
    path = "/jobspec/attributes/user/burst/results"
    assert refused.value.errors == (FieldError(path, "is a list of paths below the working directory"),)


def test_output_below_the_working_directory_goes_into_files() -> None:
    found = formats.shell_options(built({"command": ["a"], "output": {"stdout": "out/a.txt"}}))
    assert found == {"output": {"stdout": {"type": "file", "path": "out/a.txt"}}}


def test_output_may_go_anywhere_where_the_cluster_allows_it() -> None:
    rules = Rules(LIMITS, any_output_path=True)
    found = built({"command": ["a"], "output": {"stdout": "/data/a"}}, rules)
    assert formats.shell_options(found)["output"]["stdout"]["path"] == "/data/a"


SHELL = "/jobspec/attributes/system/shell/options"
OURS = "/jobspec/attributes/user"
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing": ({}, "", "give one of command, script and jobspec"),
    "both forms": ({"jobspec": spec(), "tasks": 2}, "", "leave out tasks"),
    "unknown field": ({"command": ["a"], "taskz": 2}, "/taskz", "is not known here"),
    "tasks as a text": ({"command": ["a"], "tasks": "2"}, "/tasks", "valid integer"),
    "no words": ({"command": []}, "/command", "at least 1 item"),
    "NUL": ({"command": ["a\0"]}, "/command/0", "pattern"),
    "nodes": ({"command": ["a"], "nodes": 3, "tasks": 2}, "", "3 nodes for 2 tasks"),
    "exclusive": ({"command": ["a"], "exclusive": True}, "", "give the number of nodes as well"),
    "duration": ({"command": ["a"], "time_limit": "soon"}, "/time_limit", "'soon' is no duration"),
    "range": ({"command": ["a"], "elastic": {"min": 3, "max": 2}}, "/elastic", "min 3 is greater than max 2"),
    "no script": ({"script": "true"}, "", "does not begin with '#!'"),
    "script with input": ({"script": "#!/bin/sh", "input": "x"}, "", "a script has none"),
    "a large input": ({"command": ["a"], "input": "x" * 51}, "/input", "has 51 bytes; the limit is 50"),
    "a large command": ({"command": ["a" * 300]}, "/command", "has 301 bytes; the limit is 200"),
    "variables": ({"command": ["a"], "environment": dict.fromkeys("abcdef", "")}, "/environment", "is 5"),
    "a large environment": (
        {"command": ["a"], "environment": {"a": "x" * 300}},
        "/environment",
        "the limit is 200",
    ),
    "results elsewhere": ({"command": ["a"], "results": ["/etc/x"]}, "/results/0", "below the working"),
    "no provider": ({"command": ["a"], "burstable": "a b"}, "/burstable", "is true, false or the name"),
    "relative cwd": ({"command": ["a"], "cwd": "here"}, "/cwd", "pattern"),
    "absolute output": (
        {"command": ["a"], "output": {"stdout": "/etc/x"}},
        "/output/stdout",
        "below the working directory",
    ),
    "output above": (
        {"command": ["a"], "output": {"stderr": "a/../../x"}},
        "/output/stderr",
        "below the working directory",
    ),
    "option initrc": (
        {"command": ["a"], "shell_options": {"initrc": "/x"}},
        "/shell_options/initrc",
        "not for users",
    ),
    "option userrc": (
        {"command": ["a"], "shell_options": {"userrc": "/x"}},
        "/shell_options/userrc",
        "not for users",
    ),
    "option pty": (
        {"command": ["a"], "shell_options": {"pty.interactive": 1}},
        "/shell_options/pty/interactive",
        "pty",
    ),
    "option input": (
        {"command": ["a"], "shell_options": {"input.stdin.path": "/etc/shadow"}},
        "/shell_options/input/stdin/path",
        "not for users",
    ),
    "dependency": ({"command": ["a"], "dependencies": ["afterok"]}, "", "expected SCHEME:VALUE"),
    "jobspec, version": ({"jobspec": spec(version=2)}, "/jobspec", "version must be 1"),
    "jobspec, no tasks": ({"jobspec": {**spec(), "tasks": []}}, "/jobspec", "exactly one task"),
    "jobspec, exec": (
        {"jobspec": spec(system={"exec": {"test": {}}})},
        "/jobspec/attributes/system/exec",
        "not for users",
    ),
    "jobspec, alloc-bypass": (
        {"jobspec": spec(system={"alloc-bypass": {}})},
        "/jobspec/attributes/system/alloc-bypass",
        "not for users",
    ),
    "jobspec, ours": (
        {"jobspec": spec(user={"minicluster": {}})},
        f"{OURS}/minicluster",
        "the service's own",
    ),
    "jobspec, companion": ({"jobspec": spec(user={"companion_of": "f"})}, f"{OURS}/companion_of", "own"),
    "jobspec, restart": ({"jobspec": spec(user={"restart_of": 1})}, f"{OURS}/restart_of", "own"),
    "jobspec, main": ({"jobspec": spec(user={"main": True})}, f"{OURS}/main", "own"),
    "jobspec, pty": (
        {"jobspec": spec(system={"shell": {"options": {"pty": {"interactive": 1}}}})},
        f"{SHELL}/pty/interactive",
        "pty.interactive is not for users",
    ),
    "jobspec, shell": (
        {"jobspec": spec(system={"shell": []})},
        "/jobspec/attributes/system/shell",
        "an object",
    ),
    "jobspec, output": (
        {"jobspec": spec(system={"shell": {"options": {"output": {"stdout": {"path": "/x"}}}}})},
        f"{SHELL}/output/stdout/path",
        "below the working directory",
    ),
    "jobspec, type": (
        {"jobspec": spec(system={"shell": {"options": {"output": {"stdout": {"type": "tcp"}}}}})},
        f"{SHELL}/output/stdout/type",
        "is kvs or file",
    ),
    "jobspec, cwd": (
        {"jobspec": spec(system={"cwd": "x"})},
        "/jobspec/attributes/system/cwd",
        "begins with /",
    ),
    "jobspec, files": (
        {"jobspec": spec(system={"files": {"../x": {"data": "y"}}})},
        "/jobspec/attributes/system/files/..~1x",
        "is a name without /",
    ),
}


@pytest.mark.parametrize(("fields", "path", "words"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_names_the_field_and_what_would_be_right(
    fields: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(HttpProblem) as raised:
        built(fields)
    first = raised.value.errors[0]
    assert (raised.value.status, first.path) == (422, path)
    assert words in first.message


def test_a_jobspec_that_is_too_deep_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(60):
        deep = {"x": deep}
    with pytest.raises(HttpProblem, match="more than 40 levels"):
        built({"jobspec": spec(user=deep)})


def test_a_number_that_json_has_not_is_refused() -> None:
    submission = Submission(jobspec=spec(user={"x": float("nan")}))
    with pytest.raises(HttpProblem, match="a number that JSON has not"):
        jobspecs.jobspec_of(submission, BASE, RULES)


@pytest.mark.parametrize("scheme", ["singleton", "string", "fluxion"])
def test_a_dependency_on_others_is_not_offered(scheme: str) -> None:
    _, wrong = dependencies.targets(spec(system={"dependencies": [{"scheme": scheme, "value": "x"}]}))
    assert f"'{scheme}' is not offered here" in wrong[0].message


KEYS = some.sampled_from(
    ["minicluster", "companion_of", "exec", "alloc-bypass", "initrc", "userrc", "pty", "duration", "mpi", "x"]
)
TREES = some.recursive(
    some.none() | some.integers(0, 3) | some.text(max_size=3),
    lambda inner: some.dictionaries(KEYS, inner, max_size=3) | some.lists(inner, max_size=2),
    max_leaves=6,
)


@given(some.dictionaries(KEYS, TREES, max_size=4), some.dictionaries(KEYS, TREES, max_size=4), TREES)
def test_whatever_a_user_writes_nothing_of_the_services_own_passes(
    attributes: dict[str, Any], of_user: dict[str, Any], options: Any
) -> None:
    given_ = spec(system={**attributes, "shell": {"options": options}}, user=of_user)
    try:
        found = built({"jobspec": given_})
    except HttpProblem:
        return
    assert not {"minicluster", "companion_of"} & formats.user_of(found).keys()
    assert not {"exec", "alloc-bypass"} & formats.system_of(found).keys()
    assert not {"initrc", "userrc", "pty"} & formats.shell_options(found).keys()
