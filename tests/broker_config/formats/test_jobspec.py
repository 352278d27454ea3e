"""Jobspec V1: what is refused, in the words of Flux 0.88's validator where it has any."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import jobspec
from broker_config.formats.errors import JobspecError

BASE: dict[str, Any] = {
    "resources": [
        {"type": "slot", "count": 1, "with": [{"type": "core", "count": 1}], "label": "task"},
    ],
    "tasks": [{"command": ["/bin/true"], "slot": "task", "count": {"per_slot": 1}}],
    "attributes": {"system": {"duration": 0, "cwd": "/tmp"}},
    "version": 1,
}
SYSTEM = ("attributes", "system")
SLOT, TASK, CORE = ("resources", 0), ("tasks", 0), ("resources", 0, "with", 0)
ABSENT = object()


def changed(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The valid jobspec with one thing different."""
    spec = copy.deepcopy(BASE)
    node: Any = spec
    for key in path[:-1]:
        node = node[key]
    if value is ABSENT:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return spec


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("resources",), ABSENT, "Missing key (resources)"),
        (("tasks",), ABSENT, "Missing key (tasks)"),
        (("attributes",), ABSENT, "Missing key (attributes)"),
        (("version",), ABSENT, "Missing key (version)"),
        (("extra",), 1, "Extraneous key (extra)"),
        (("version",), 2, "version must be 1"),
        (("version",), "1", "version must be 1"),
        (("version",), True, "version must be 1"),
        (("resources",), {}, "resources must be a sequence"),
        (("resources",), [], "Unable to determine slot count"),
        (("resources",), [3], "resource must be a mapping"),
        ((*SLOT, "type"), ABSENT, "type is a required key for resources"),
        ((*SLOT, "count"), ABSENT, "count is a required key for resources"),
        ((*SLOT, "type"), 3, "type must be a string"),
        ((*SLOT, "type"), "rack", "unsupported resource type 'rack': node, slot, core and gpu are"),
        ((*SLOT, "count"), 0, "node, slot, or core count must be > 0"),
        ((*SLOT, "count"), {"min": 1}, "resource count must be an integer for type 'slot' (got 'dict')"),
        ((*SLOT, "count"), True, "resource count must be an integer for type 'slot' (got 'bool')"),
        ((*SLOT, "label"), ABSENT, "slots must have labels"),
        ((*SLOT, "exclusive"), "yes", "exclusive must be a boolean"),
        ((*SLOT, "with"), ABSENT, "Unable to determine slot size"),
        ((*SLOT, "with"), 3, "with must be a sequence"),
        ((*SLOT, "colour"), 3, "Extraneous key (colour)"),
        ((*CORE, "type"), "gpu", "Unable to determine slot size"),
        ((*CORE, "type"), "slot", "unsupported resource hierarchy: slot appears twice or too deep"),
        (SLOT, {"type": "gpu", "count": -1}, "count must be >= 0"),
        ((*SLOT, "with"), [{"type": "node", "count": 1}], "unsupported resource hierarchy: node inside slot"),
        (("tasks",), {}, "tasks must be a sequence"),
        (("tasks",), [], "tasks must hold exactly one task, which is a mapping"),
        (TASK, 3, "tasks must hold exactly one task, which is a mapping"),
        ((*TASK, "slot"), ABSENT, "Missing key (slot)"),
        ((*TASK, "command"), "true", "command must be a list of strings"),
        ((*TASK, "command"), [1], "command must be a list of strings"),
        ((*TASK, "command"), [], "command array cannot have length of zero"),
        ((*TASK, "count"), 1, "count must be a mapping"),
        ((*TASK, "count"), {}, "count must have exactly one key set"),
        ((*TASK, "count"), {"total": 0}, "count total must be > 0"),
        ((*TASK, "count"), {"total": "x"}, "count total must be an int"),
        ((*TASK, "count"), {"per_core": 1}, "count per_slot or total must be set"),
        ((*TASK, "count"), {"per_slot": 1, "total": 1}, "count must have exactly one key set"),
        (("attributes",), [], "attributes must be a mapping"),
        (("attributes",), {}, "attributes.system is a required key"),
        (("attributes", "colour"), {}, "Extraneous key (colour)"),
        ((*SYSTEM, "duration"), ABSENT, "attributes.system.duration is a required key"),
        ((*SYSTEM, "duration"), "1m", "attributes.system.duration must be a number"),
        ((*SYSTEM, "duration"), -1, "attributes.system.duration must be >= 0"),
        ((*SYSTEM, "duration"), float("nan"), "attributes.system.duration must be >= 0"),
        ((*SYSTEM, "cwd"), 3, "attributes.system.cwd must be a string"),
        ((*SYSTEM, "queue"), 3, "attributes.system.queue must be a string"),
        ((*SYSTEM, "environment"), {"A": 1}, "attributes.system.environment must be a mapping of strings"),
        ((*SYSTEM, "dependencies"), {}, "attributes.system.dependencies must be a list"),
        ((*SYSTEM, "dependencies"), [1], "dependency must be a mapping"),
        ((*SYSTEM, "dependencies"), [{}], "Missing key (value)"),
        ((*SYSTEM, "dependencies"), [{"scheme": "x", "value": 3}], "dependency value must be a string"),
        ((*SYSTEM, "constraints"), [], "constraints must be a mapping"),
        ((*SYSTEM, "constraints"), {"foo": ["a"]}, "unknown constraint operator 'foo'"),
        (
            (*SYSTEM, "constraints"),
            {"properties": "a"},
            "argument to constraint properties must be a sequence",
        ),
        (
            (*SYSTEM, "constraints"),
            {"ranks": [1]},
            "argument to constraint ranks must be a sequence of strings",
        ),
        ((*SYSTEM, "constraints"), {"properties": ["a&b"]}, "invalid character in property 'a&b'"),
        ((*SYSTEM, "constraints"), {"properties": ["^"]}, "invalid character in property '^'"),
        ((*SYSTEM, "constraints"), {"hostlist": ["a["]}, "Invalid hostlist: 'a['"),
        ((*SYSTEM, "constraints"), {"ranks": ["x"]}, "Invalid idset: 'x'"),
    ],
)
def test_reports_what_is_wrong(path: tuple[Any, ...], value: Any, message: str) -> None:
    with pytest.raises(JobspecError) as refusal:
        jobspec.parse(changed(path, value))
    assert str(refusal.value).startswith(message)


def test_a_jobspec_is_a_mapping() -> None:
    with pytest.raises(JobspecError, match="jobspec must be a mapping"):
        jobspec.parse([])


@pytest.mark.parametrize(
    ("path", "value", "attribute", "expected"),
    [
        ((), None, "name", "true"),
        ((*SYSTEM, "job"), {"name": "mine"}, "name", "mine"),
        ((*SYSTEM, "job"), {"name": 3}, "name", "true"),
        ((*SYSTEM, "duration"), 30, "duration", 30.0),
        ((*SYSTEM, "queue"), "batch", "queue", "batch"),
        ((*TASK, "count"), {"total": 5}, "ntasks", 5),
        ((*SLOT, "count"), 3, "ntasks", 3),
        ((*SYSTEM, "dependencies"), [{"scheme": "a", "value": "b"}], "dependencies", (("a", "b"),)),
        (SLOT, {"type": "node", "count": 2, "with": [BASE["resources"][0]]}, "ntasks", 2),
    ],
)
def test_reads(path: tuple[Any, ...], value: Any, attribute: str, expected: Any) -> None:
    spec = changed(path, value) if path else BASE
    assert getattr(jobspec.parse(spec), attribute) == expected


def test_equal_requests_have_one_record() -> None:
    assert jobspec.parse(BASE).resources is jobspec.parse(copy.deepcopy(BASE)).resources


def test_remembered_requests_do_not_grow_without_bound() -> None:
    for count in range(1, 10_005):
        jobspec.parse(changed((*SLOT, "count"), count))
    assert jobspec._shared.cache_info().currsize <= 10_000


@pytest.mark.parametrize(
    ("given_", "made"),
    [
        pytest.param({}, None, id="an empty one is none"),
        pytest.param({"properties": ["a", "^b"]}, ("properties", "a", "^b"), id="properties"),
        pytest.param({"not": [{"ranks": ["0-1"]}]}, ("not", ("ranks", "0-1")), id="nested"),
        pytest.param(
            {"ranks": ["0"], "hostlist": ["a"]}, ("and", ("ranks", "0"), ("hostlist", "a")), id="two"
        ),
        pytest.param({"or": [{}, {"ranks": ["1"]}]}, ("or", ("ranks", "1")), id="empty ones inside"),
    ],
)
def test_constraints_become_hashable(given_: Any, made: Any) -> None:
    assert jobspec.parse(changed((*SYSTEM, "constraints"), given_)).resources.constraint == made


def test_the_environment_is_not_shown() -> None:
    spec = changed((*SYSTEM, "environment"), {"SECRET": "x"})
    assert "environment" not in jobspec.redacted(spec)["attributes"]["system"]
    assert spec["attributes"]["system"]["environment"] == {"SECRET": "x"}


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_anything_is_read_or_refused(data: st.DataObject) -> None:
    """Whatever is put anywhere into a jobspec, the answer is a reading or an JobspecError."""
    spec = copy.deepcopy(BASE)
    node: Any = spec
    while isinstance(node, dict | list) and node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()):
            node[key] = data.draw(JSONISH)
            break
        node = node[key]
    with contextlib.suppress(JobspecError):
        assert jobspec.parse(spec).resources.size >= 1


@given(JSONISH)
def test_what_was_admitted_is_read_whatever_it_is(spec: Any) -> None:
    """Real Flux admits jobspecs that this project does not run, and they are counted."""
    assert jobspec.read(spec).asked.cores >= 0


@given(st.data())
def test_a_checked_jobspec_is_read_alike(data: st.DataObject) -> None:
    """What is built is valid, and is read as it was asked for."""
    slots, cores, gpus, nodes = (data.draw(st.integers(low, 5)) for low in (1, 1, 0, 0))
    request = jobspec.slot(slots, cores, gpus)
    if nodes:
        request = jobspec.node(nodes, request, exclusive=data.draw(st.booleans()))
    spec = jobspec.build(["app"], request, {"per_slot": 1}, {"duration": 5}, {"group": "physics"})
    parsed = jobspec.parse(spec)
    asked = (nodes, slots, cores, gpus, request.get("exclusive", False))
    assert tuple(parsed.resources)[:5] == asked
    assert (parsed.duration, parsed.name, parsed.group) == (5.0, "app", "physics")
    assert parsed.ntasks == max(nodes, 1) * slots


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        pytest.param(None, ({}, {}, {}, 1), id="none"),
        pytest.param({"attributes": 3, "resources": "many"}, ({}, {}, {}, 1), id="other types"),
        pytest.param(BASE, ({"duration": 0, "cwd": "/tmp"}, {}, {}, 1), id="without options"),
        pytest.param(
            jobspec.build(
                ["app"], jobspec.slot(1, 4), {"total": 3}, {"shell": {"options": {"mpi": "none"}}}, {"a": 1}
            ),
            ({"shell": {"options": {"mpi": "none"}}}, {"a": 1}, {"mpi": "none"}, 4),
            id="all",
        ),
    ],
)
def test_parts(spec: Any, parts: tuple[Any, ...]) -> None:
    found = (jobspec.system_of(spec), jobspec.user_of(spec), jobspec.shell_options(spec))
    assert (*found, jobspec.cores_per_slot(spec)) == parts


@pytest.mark.parametrize(
    ("path", "table"),
    [("a", {"a": 1}), ("a.b.c", {"a": {"b": {"c": 1}}}), ("x.y", {"x": {"y": 1}})],
)
def test_values_are_set_in_nested_tables(path: str, table: dict[str, Any]) -> None:
    made: dict[str, Any] = {"x": 3} if path.startswith("x") else {}
    jobspec.set_at(made, path.split("."), 1)
    assert made == table


@pytest.mark.parametrize(
    "user",
    [
        pytest.param(None, id="no attributes"),
        pytest.param({"companion_of": "ƒ1"}, id="no task"),
        pytest.param({"companion_of": 1, "task": 1}, id="no id"),
        pytest.param({"companion_of": "ƒ1", "task": True}, id="no number"),
    ],
)
def test_other_jobs_are_nobodys_companions(user: Any) -> None:
    assert jobspec.companion_of({"attributes": {"user": user}}) is None


def test_a_companion_names_its_base_job_and_its_task() -> None:
    spec = {"attributes": {"user": {"companion_of": "ƒ1", "task": 5}}}
    assert jobspec.companion_of(spec) == jobspec.Companion("ƒ1", 5)


@pytest.mark.parametrize("tasks", [None, [], [3], [{"command": "app"}]])
def test_no_valid_task_section_is_no_command(tasks: Any) -> None:
    assert list(jobspec.command_of({"tasks": tasks})) == []


def test_dependencies_are_the_entries_themselves() -> None:
    spec = changed((*SYSTEM, "dependencies"), [{"scheme": "afterok", "value": "ƒ1"}])
    jobspec.dependencies_of(spec)[0]["value"] = "ƒ2"
    assert jobspec.dependencies_of(spec) == [{"scheme": "afterok", "value": "ƒ2"}]
    assert jobspec.read(spec).dependencies == (("afterok", "ƒ2"),)


@pytest.mark.parametrize(
    ("system", "completed"),
    [
        ({}, {"environment": {"A": "1"}, "cwd": "/here"}),
        ({"environment": {}, "cwd": "/"}, {"environment": {}, "cwd": "/"}),
    ],
    ids=["neither", "both"],
)
def test_environment_and_directory_are_completed(system: dict[str, Any], completed: object) -> None:
    spec = {"attributes": {"system": system}}
    jobspec.complete(spec, {"A": "1"}, "/here")
    assert spec == {"attributes": {"system": completed}}
