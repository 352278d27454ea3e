"""The records and what is made of a broker's answers."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.instance import records, resource_sets, wire
from minicluster.instance.errors import SubmitRefused
from minicluster.instance.jobspec import jobspec
from minicluster.instance.records import (
    Job,
    JobException,
    JobFilter,
    JobRequest,
    JobResult,
    JobState,
    OutputChunk,
)
from minicluster.instance.rpc_jobs import RpcJobs

PLAIN = JobRequest(("true",), environment={}, cwd="/")


@pytest.mark.parametrize(
    "name", [name for name, value in vars(records).items() if dataclasses.is_dataclass(value)]
)
def test_a_record_is_frozen_and_slotted(name: str) -> None:
    record: Any = getattr(records, name)
    assert record.__dataclass_params__.frozen
    assert "__slots__" in vars(record)


def test_states_have_the_bits_of_flux() -> None:
    assert [int(state) for state in JobState] == [1, 2, 4, 8, 16, 32, 64]
    assert int(JobState.PENDING), int(JobState.RUNNING) == (14, 48)


@pytest.mark.parametrize(
    ("job", "code"),
    [
        pytest.param(Job(1, JobState.RUN), None, id="runs"),
        pytest.param(Job(1, JobState.INACTIVE, JobResult.COMPLETED, waitstatus=0), 0, id="success"),
        pytest.param(Job(1, JobState.INACTIVE, JobResult.FAILED, waitstatus=768), 3, id="exit code"),
        pytest.param(Job(1, JobState.INACTIVE, JobResult.FAILED, waitstatus=9), -9, id="signal"),
        pytest.param(Job(1, JobState.INACTIVE, JobResult.CANCELED), -128, id="cancelled before it ran"),
        pytest.param(Job(1, JobState.INACTIVE, JobResult.FAILED), 1, id="failed before it ran"),
        pytest.param(
            Job(1, JobState.INACTIVE, JobResult.FAILED, waitstatus=0, exception=JobException("exec", 0, "")),
            1,
            id="ended by an exception",
        ),
        pytest.param(
            Job(1, JobState.INACTIVE, JobResult.COMPLETED, waitstatus=0, exception=JobException("x", 1, "")),
            0,
            id="with a mild exception",
        ),
    ],
)
def test_return_code(job: Job, code: int | None) -> None:
    assert job.returncode == code


@pytest.mark.parametrize(
    ("wishes", "resources", "count"),
    [
        pytest.param({}, {"type": "slot", "count": 1}, {"per_slot": 1}, id="one task"),
        pytest.param({"tasks": 4}, {"type": "slot", "count": 4}, {"per_slot": 1}, id="tasks"),
        pytest.param(
            {"tasks": 4, "nodes": 2}, {"type": "node", "count": 2}, {"per_slot": 1}, id="even on nodes"
        ),
        pytest.param(
            {"tasks": 3, "nodes": 2}, {"type": "node", "count": 2}, {"total": 3}, id="uneven on nodes"
        ),
        pytest.param(
            {"tasks": 2, "nodes": 2, "exclusive": True},
            {"type": "node", "count": 2, "exclusive": True},
            {"per_slot": 1},
            id="whole nodes",
        ),
    ],
)
def test_jobspec_resources(wishes: dict[str, Any], resources: dict[str, Any], count: dict[str, int]) -> None:
    spec = jobspec(dataclasses.replace(PLAIN, **wishes))
    [found] = spec["resources"]
    assert resources.items() <= found.items()
    assert spec["tasks"][0]["count"] == count


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"command": ()}, "command: is empty; give the program and its arguments"),
        ({"tasks": 0}, "tasks and cores per task are at least 1"),
        ({"cores_per_task": 0}, "tasks and cores per task are at least 1"),
        ({"duration": -1.0}, "GPUs per task, nodes and duration are not negative"),
        ({"nodes": 3}, "3 nodes for 1 tasks: each node needs a task"),
        ({"exclusive": True}, "exclusive: give the number of nodes as well"),
        ({"script": "echo"}, "true: is no script: it does not begin with '#!'"),
        ({"dependencies": ("123",)}, "dependency '123': expected SCHEME:VALUE, like afterok:ƒ2FdCrT"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_contradictory_request_is_refused(wishes: dict[str, Any], message: str) -> None:
    with pytest.raises(SubmitRefused) as refusal:
        jobspec(dataclasses.replace(PLAIN, **wishes))
    assert str(refusal.value) == message


def test_dots_in_shell_options_are_levels() -> None:
    options = {"output.stdout.type": "file", "output.stdout.path": "x", "verbose": 1}
    spec = jobspec(dataclasses.replace(PLAIN, shell_options=options))
    nested = {"output": {"stdout": {"type": "file", "path": "x"}}, "verbose": 1}
    assert spec["attributes"]["system"]["shell"] == {"options": nested}


@pytest.mark.parametrize(
    ("which", "terms"),
    [
        pytest.param(JobFilter(), [], id="every job"),
        pytest.param(JobFilter(submitted=(0.0, math.inf)), [], id="submitted at any time"),
        pytest.param(
            JobFilter(submitted=(17.5, 1e9)),
            [{"t_submit": [">=17.5"]}, {"t_submit": ["<1000000000.0"]}],
            id="submitted between",
        ),
        pytest.param(JobFilter(userid=0, name="x"), [{"userid": [0]}, {"name": ["x"]}], id="user and name"),
        pytest.param(
            JobFilter(states=JobState.PENDING, results=JobResult.FAILED),
            [{"or": [{"states": [14]}, {"results": [2]}]}],
            id="any of states and results",
        ),
    ],
)
def test_filter_as_constraint(which: JobFilter, terms: list[Any]) -> None:
    assert wire.constraint(which) == {"and": terms}


@pytest.mark.parametrize(
    ("entry", "chunks"),
    [
        pytest.param({"name": "header", "context": {"version": 1}}, [], id="header"),
        pytest.param(
            {"name": "data", "context": {"stream": "stdout", "rank": "3", "data": "é\n"}},
            [OutputChunk(7, 5, 3, "stdout", "é\n".encode())],
            id="text",
        ),
        pytest.param(
            {
                "name": "data",
                "context": {"stream": "stderr", "rank": "0", "encoding": "base64", "data": "/wo="},
            },
            [OutputChunk(7, 5, 0, "stderr", b"\xff\n")],
            id="no text",
        ),
        pytest.param(
            {"name": "data", "context": {"stream": "stdout", "rank": "[0-1]", "data": "x"}},
            [OutputChunk(7, 5, 0, "stdout", b"x", last=False), OutputChunk(7, 5, 1, "stdout", b"x")],
            id="the same of several tasks",
        ),
        pytest.param(
            {"name": "data", "context": {"stream": "stdout", "rank": "0", "eof": True}}, [], id="end of file"
        ),
        pytest.param(
            {"name": "log", "context": {"rank": 1, "level": 3, "message": "bad"}},
            [OutputChunk(7, 5, 1, "log", b"bad\n")],
            id="words of the shell",
        ),
    ],
)
def test_output_entry(entry: dict[str, Any], chunks: list[OutputChunk]) -> None:
    assert list(wire.output(7, 5, entry)) == chunks


@given(st.binary())
def test_any_bytes_survive_as_text_with_lone_surrogates(data: bytes) -> None:
    text = json.loads(json.dumps(data.decode(errors="surrogateescape")))
    entry = {"name": "data", "context": {"stream": "stdout", "rank": "0", "data": text}}
    [chunk] = wire.output(1, 0, entry)
    assert chunk.data == data


def r(*lite: tuple[str, dict[str, str]], nodelist: str = "") -> dict[str, Any]:
    entries = [{"rank": rank, "children": children} for rank, children in lite]
    return {"version": 1, "execution": {"R_lite": entries, "nodelist": [nodelist] if nodelist else []}}


def test_resources_are_sums_and_differences_by_core() -> None:
    everything = r(("0-2", {"core": "0-3", "gpu": "0"}), nodelist="mc-[0-2]")
    sched = {
        "all": everything,
        "down": r(("2", {"core": "0-3", "gpu": "0"})),
        "allocated": r(("0", {"core": "0-3", "gpu": "0"}), ("1", {"core": "0"})),
    }
    status = {"drain": {"1": {"timestamp": 5.0, "reason": "disk"}}, "offline": "2"}
    found = resource_sets.resources(sched, status)
    assert (found.up.nodes, found.up.cores) == (2, 8)
    assert (found.free.ranks, found.free.cores, found.free.gpus) == ((1,), 3, 1)
    assert (found.allocated.hosts, found.allocated.cores) == (("mc-0", "mc-1"), 5)
    assert (found.down.hosts, found.offline.hosts) == (("mc-2",), ("mc-2",))
    assert (found.drained.hosts, found.drains[0].reason) == (("mc-1",), "disk")
    part = resource_sets.resources(sched, status, range(1))
    assert (part.all.nodes, part.free.cores, part.allocated.cores, part.offline.nodes) == (1, 0, 4, 0)


def test_records_and_errors_import_no_more_than_the_standard_library() -> None:
    """They serve inside Flux's own Python, which has nothing else."""
    code = (
        "import sys; before = set(sys.modules);"
        "import minicluster.instance.records, minicluster.instance.errors;"
        "names = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(names - sys.stdlib_module_names))"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout == "['broker_config', 'minicluster']\n"


def test_a_command_is_words() -> None:
    """A text is a sequence of characters, which would be the words."""
    text: Any = "python a.py"
    with pytest.raises(SubmitRefused) as refusal:
        jobspec(JobRequest(text))
    assert str(refusal.value) == (
        "command: 'python a.py' is one text; give a tuple of words, as ('python', 'a.py')"
    )


@pytest.mark.parametrize("call", ["get", "wait", "cancel"])
def test_an_id_that_is_a_text_is_refused(call: str) -> None:
    nowhere: Any = None
    with pytest.raises(TypeError) as refusal:
        getattr(RpcJobs(nowhere, nowhere), call)("ƒABC")
    assert str(refusal.value) == (
        "'ƒABC': job ids are numbers here; broker_config.formats.jobid.parse makes one of a text"
    )
