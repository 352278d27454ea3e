"""Parameters of /v1 become a submission; each that is wrong is named in the reference's form."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.compat.refusals import CompatRefusal
from restful.compat.submission import parameters, submission

FULL = {
    "command": "mpirun -n 'two words' \"x\"",
    "num_tasks": "4",
    "num_nodes": "2",
    "cores_per_task": "3",
    "gpus_per_task": "1",
    "exclusive": "true",
    "option_flags": "cpu-affinity=per-task,verbose=2,mpi=none",
    "workdir": "/tmp",
    "runtime": "90",
    "envars": '{"A": "1", "B": "x y"}',
}


def test_each_parameter_has_its_field() -> None:
    made = submission(FULL)
    assert made.command == ["mpirun", "-n", "two words", "x"]
    assert (made.tasks, made.nodes, made.cores_per_task, made.gpus_per_task) == (4, 2, 3, 1)
    assert (made.exclusive, made.cwd, made.time_limit) == (True, "/tmp", 90.0)
    assert made.shell_options == {"cpu-affinity": "per-task", "verbose": 2, "mpi": "none"}
    assert made.environment == {"A": "1", "B": "x y"}


def test_a_json_body_means_the_same_as_a_query() -> None:
    body = {
        **FULL, "num_tasks": 4, "num_nodes": 2.0, "cores_per_task": 3, "gpus_per_task": 1, "exclusive": True,
        "runtime": 90, "envars": {"A": 1, "B": "x y"},
        "option_flags": {"cpu-affinity": "per-task", "verbose": 2, "mpi": "none"}, "is_launcher": None,
    }  # fmt: skip
    assert submission(parameters({}, json.dumps(body).encode())) == submission(parameters(FULL, b""))


def test_the_body_counts_where_the_query_has_it_too() -> None:
    assert parameters({"command": "a", "workdir": "/q"}, b'{"command": "b"}') == {
        "command": "b",
        "workdir": "/q",
    }


@pytest.mark.parametrize("body", [b"[]", b"{", b'"text"', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(CompatRefusal) as caught:
        parameters({}, body)
    assert caught.value.body() == {
        "Message": "The body must be a JSON object, or empty with the parameters in the query."
    }


@pytest.mark.parametrize("command", [None, "", [], "  ", "''"])
def test_a_submission_needs_a_command(command: Any) -> None:
    if command == "''":
        assert submission({"command": command}).command == [""]
        return
    with pytest.raises(CompatRefusal) as caught:
        submission({"command": command})
    assert caught.value.body() == {"Message": "A 'command' is minimally required."}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"option_flags": "-ompi=noodles"}, "Please provide keys without -o, -ompi is invalid."),
        ({"option_flags": {"-ompi": "noodles"}}, "Please provide keys without -o, -ompi is invalid."),
        (
            {"option_flags": 3},
            "Please provide option args as a dictionary, type int is invalid.",
        ),
        ({"runtime": "-1"}, "Runtime must be >= 0, found -1"),
        ({"num_tasks": 0}, "Parameter num_tasks must be >= 1, found 0"),
        ({"cores_per_task": "two"}, "Parameter cores_per_task must be a whole number, found two"),
        ({"num_nodes": 1.5}, "Parameter num_nodes must be a whole number, found 1.5"),
        ({"num_nodes": "1" * 40}, f"Parameter num_nodes must be a whole number, found {'1' * 40}"),
        ({"num_nodes": True}, "Parameter num_nodes must be a whole number, found True"),
        ({"exclusive": "maybe"}, "Parameter exclusive must be true or false, found maybe"),
        ({"envars": "A=1"}, "Environment variables must be key/value pairs (dict)"),
        ({"envars": {"A": ["1"]}}, "Environment variables must be key/value pairs (dict)"),
        ({"workdir": "here"}, "workdir: String should match pattern '^/'"),
        ({"command": "sh -c 'x"}, "'command' cannot be split into words: No closing quotation"),
        ({"envars": {"A=B": "1"}}, "envars.A=B.[key]: String should match pattern '^[^\\x00=]+$'"),
        ({"num_tasks": 10**8}, "num_tasks: Input should be less than or equal to 1000000"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(CompatRefusal) as caught:
        submission({"command": "true", **given})
    assert caught.value.status == 400
    assert caught.value.body() == {"Message": "Invalid submit request", "Errors": [message]}


def test_everything_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(CompatRefusal) as caught:
        submission({"command": "true", "num_tasks": "x", "runtime": -3, "option_flags": "-o=1"})
    assert len(caught.value.errors) == 3


def test_a_launcher_is_refused_with_words() -> None:
    with pytest.raises(CompatRefusal) as caught:
        submission({"command": "snakemake", "is_launcher": "true"})
    assert caught.value.status == 403
    assert caught.value.message.startswith("is_launcher is not offered: ")
    assert submission({"command": "true", "is_launcher": "false"}).command == ["true"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(["command", "num_tasks", "exclusive", "option_flags", "envars", "workdir", "runtime"])


@given(st.dictionaries(NAMES, VALUES))
def test_whatever_comes_is_submitted_or_refused(given: dict[str, Any]) -> None:
    try:
        found: Any = submission(parameters({}, json.dumps(given).encode())).command
    except CompatRefusal as refusal:
        found = refusal.status in {400, 403}
    assert found
