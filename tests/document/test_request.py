"""Documents made from command lines."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.document import loading, request
from minicluster.document.errors import UnwritableCommand
from minicluster.document.request import DocumentRequest

if TYPE_CHECKING:
    from minicluster.document import MiniCluster

DOCUMENT = """\
# Made by: minicluster init -n 4 -c 2 -g 1 --size 2 python train.py
# `minicluster explain spec` has all fields, `minicluster validate FILE` checks them.
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata:
  name: "train"
spec:
  size: 2                   # brokers: pods on Kubernetes, processes on this machine
  tasks: 4                  # of the command, over all brokers
  flux:
    optionFlags: -c 2 -g 1  # for each task of the command: cores, GPUs
  containers:
    - image: "ubuntu:24.04" # not used on this machine
      command: "python train.py"
      resources:
        limits:             # of each broker: room for its tasks
          cpu: 4
          nvidia.com/gpu: 2
"""


def parsed(asked: DocumentRequest) -> MiniCluster:
    """Return the MiniCluster of a asked's document."""
    (cluster,) = loading.parse(request.text(asked), source="x").clusters
    return cluster


def test_a_document_explains_itself() -> None:
    asked = DocumentRequest(
        ("python", "train.py"),
        size=2,
        tasks=4,
        cores_per_task=2,
        gpus_per_task=1,
        image=request.IMAGE,
        words="minicluster init -n 4 -c 2 -g 1 --size 2 python train.py",
    )
    assert request.text(asked) == DOCUMENT


@pytest.mark.parametrize(
    ("asked", "field", "value"),
    [
        pytest.param(DocumentRequest(("a.out",)), "tasks", 1, id="one task"),
        pytest.param(DocumentRequest(("a.out",), size=3), "tasks", 3, id="a task a broker"),
        pytest.param(DocumentRequest(("a.out",), size=3, tasks=5), "tasks", 5, id="tasks"),
        pytest.param(DocumentRequest(("a.out",)), "interactive", False, id="a command"),
        pytest.param(DocumentRequest(), "interactive", True, id="no command"),
        pytest.param(DocumentRequest(size=2, max_size=8), "max_size", 8, id="room to grow"),
    ],
)
def test_a_field_is_as_asked_for(asked: DocumentRequest, field: str, value: object) -> None:
    assert getattr(parsed(asked).spec, field) == value


@pytest.mark.parametrize(
    ("asked", "limits"),
    [
        pytest.param(DocumentRequest(("a",)), {}, id="one task a broker"),
        pytest.param(DocumentRequest(("a",), tasks=4), {"cpu": "4"}, id="several"),
        pytest.param(
            DocumentRequest(("a",), size=2, tasks=5, cores_per_task=2), {"cpu": "6"}, id="rounded up"
        ),
        pytest.param(DocumentRequest(("a",), size=2, gpus_per_task=1), {"nvidia.com/gpu": "1"}, id="GPUs"),
    ],
)
def test_a_broker_has_room_for_its_tasks(asked: DocumentRequest, limits: dict[str, str]) -> None:
    found = parsed(asked).spec.containers[0].resources.limits
    assert {name: str(value) for name, value in found.items()} == limits


@pytest.mark.parametrize(
    ("command", "name"),
    [
        pytest.param(("/usr/bin/Python3.11",), "python3-11", id="a path"),
        pytest.param(("/usr/bin/python3.11", "-u", "/x/Train_all.py"), "train-all", id="a script"),
        pytest.param(("python", "-c", "print()"), "python", id="a script on the command line"),
        pytest.param(("true",), "true", id="a word of YAML"),
        pytest.param(("null",), "null", id="another word of YAML"),
        pytest.param(("./a.out",), "a-out", id="a dot"),
        pytest.param(("7z",), "minicluster", id="a digit first"),
        pytest.param(("a" * 60,), "a" * 20, id="long"),
        pytest.param((), "minicluster", id="no command"),
    ],
)
def test_the_name_is_the_programs(command: tuple[str, ...], name: str) -> None:
    assert parsed(DocumentRequest(command)).metadata.name == name


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20), min_size=1))
def test_a_command_arrives_unchanged(words: list[str]) -> None:
    command = parsed(DocumentRequest(("run-it", *words))).spec.containers[0].command
    assert shlex.split(command) == ["run-it", *words]


def test_a_command_that_no_document_can_hold_is_refused() -> None:
    with pytest.raises(UnwritableCommand, match="the command is not UTF-8, which a document must be"):
        request.text(DocumentRequest(("a.out", "\udcff")))
