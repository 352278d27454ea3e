"""What a task is given: environment, GPUs, templates, files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minicluster.embedded.execution.rank import spawn
from minicluster.embedded.execution.rank_launch import RankLaunch


def rank_launch(**changes: object) -> RankLaunch:
    fields: dict[str, object] = {
        "id": 1,
        "f58": "ƒ2",
        "argv": ["x"],
        "env": {"A": "b", "PMI_FD": "3"},
        "cwd": "/",
        "name": "x",
        "size": 4,
        "nodes": 2,
        "node": 1,
        "tasks": [2, 3],
        "cores": [0, 1],
        "gpus": [],
        "options": {},
        "files": {},
        "mapping": "(vector,(0,2,2))",
    }
    return RankLaunch.of_fields(fields | changes)


def broker() -> spawn.BrokerEnv:
    return spawn.BrokerEnv("local:///u", Path("/run"), "outer.7/inner")


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        (None, ""),
        (1000, ""),
        (0, "failed to unwrap J: sign-none-unwrap: signing userid 0 != current 1000"),
    ],
    ids=["not known", "its own", "another user's"],
)
def test_a_broker_starts_jobs_of_its_own_user_alone(owner: int | None, why: str) -> None:
    """In the words of Flux."""
    assert rank_launch(owner=owner).refusal(1000) == why


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("A", "b"),
        ("FLUX_URI", "local:///u"),
        ("FLUX_JOB_ID", "ƒ2"),
        ("FLUX_JOB_SIZE", "4"),
        ("FLUX_JOB_NNODES", "2"),
        ("FLUX_JOB_TMPDIR", "/run/jobtmp-1-ƒ2"),
        ("FLUX_TASK_RANK", "3"),
        ("FLUX_TASK_LOCAL_ID", "1"),
        ("MINICLUSTER_JOB", "outer.7/inner.1"),
        ("PMI_FD", "9"),
        ("PMI_RANK", "3"),
        ("PMI_SIZE", "4"),
        ("CUDA_VISIBLE_DEVICES", "-1"),
    ],
)
def test_environment(name: str, value: str) -> None:
    assert spawn.environment(rank_launch(), 3, broker(), 9)[name] == value


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="of a start"),
        pytest.param({"fresh": [3], "order": 7, "part": 1, "credentials": "c.json"}, id="of a resize"),
    ],
)
def test_a_message_has_what_it_was_made_of(changes: dict[str, object]) -> None:
    """A field at its default is left out, as the lead of 0.1.0 does."""
    sent = rank_launch(**changes).fields()
    assert RankLaunch.of_fields(json.loads(json.dumps(sent))) == rank_launch(**changes)
    assert changes.keys() == sent.keys() & {"fresh", "order", "part", "credentials"}


def test_no_pmi() -> None:
    """Without a PMI channel no variable promises one, not even an inherited one."""
    assert not [
        name for name in spawn.environment(rank_launch(), 3, broker(), None) if name.startswith("PMI")
    ]


@pytest.mark.parametrize(
    ("gpus", "options", "seen"),
    [
        ([0, 1, 2, 3], {}, "0,1,2,3"),
        ([0, 1], {"gpu-affinity": "off"}, None),
        ([1, 3, 5, 7, 8], {"gpu-affinity": "per-task"}, "5,7"),
        ([0], {"gpu-affinity": "per-task"}, ""),
    ],
    ids=["all", "off", "a part", "too few for each"],
)
def test_gpus(gpus: list[int], options: dict[str, str], seen: str | None) -> None:
    assert (
        spawn.environment(rank_launch(gpus=gpus, options=options), 3, broker(), None).get(
            "CUDA_VISIBLE_DEVICES"
        )
        == seen
    )


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("{{id}}-{{id.dec}}-{{taskid}}", "ƒ2-1-3"),
        ("{{name}} {{size}} {{nnodes}} {{node.id}}", "x 4 2 1"),
        ("{{tmpdir}}/script", "/tmpdir/script"),
        ("{{unknown}} {id} {{", "{{unknown}} {id} {{"),
    ],
    ids=["ids", "sizes", "tmpdir", "others stay"],
)
def test_templates(text: str, expanded: str) -> None:
    assert rank_launch().expand(text, 3, "/tmpdir") == expanded


def test_files(tmp_path: Path) -> None:
    """The job's files are there with their modes."""
    script = {"mode": 33216, "data": "#!/bin/sh\n", "encoding": "utf-8"}
    spawn.write_files(tmp_path / "job", {"script": script, "plain": {"data": "\udcff"}})
    assert (tmp_path / "job" / "script").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "job" / "plain").read_bytes() == b"\xff"
