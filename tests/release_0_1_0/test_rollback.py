"""The operator of 0.1.0, taken from the history, goes on with what today's was doing, without today's fields.

It has 0.1.0's CRD, which prunes them: what it knows is in the conditions. Its own tests' API server in memory
is around it; `adapters.py` and `scenes.py` are those with which the data of this folder were made of it.
"""

from __future__ import annotations

import copy
import gzip
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.devcluster import release_0_1_0
from tests.release_0_1_0 import adapters, former_operator, scenes, site

if TYPE_CHECKING:
    from pathlib import Path

JSON = dict[str, Any]
ADAPTED = "bea35f8"
"""The revision after 0.1.0: its own code, and these tests for it."""
REMEMBERED = {
    "save-waits-for-jobs": {"save": "Waiting"},
    "save-writes": {"save": "Writing"},
    "save-failed": {"save": "Failed"},
    "deletion-waits-for-save": {"save": "Waiting"},
    "suspended": {},
    "shrinking": {"resize": "Draining"},
    "jobs-restarted-by-a-shrink": {"resize": "JobsRestarted"},
    "growing": {"resize": "Growing"},
    "node-lost": {"nodeLoss": None},
    "lead-lost": {"leadLoss": None},
}
"""What today's operator has in fields that 0.1.0's CRD lacks, with its phase."""

COMMANDS = {"save-failed": [[53, "save", ""]], "shrinking": [[34, "restart", "2"]]}
"""What the lead is still to be told, and in which second of 1.1 s: 20 of the jobs' 60 s were over."""
AT_ONCE = {"growing", "jobs-restarted-by-a-shrink"}
"""What is over within the first second."""


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 0.1.0's packages, and its API server in memory."""
    if not release_0_1_0.is_known():
        pytest.skip(f"revision {release_0_1_0.REVISION} is not in this checkout's history")
    folder = tmp_path_factory.mktemp("former")
    release_0_1_0.extract(folder, *release_0_1_0.PACKAGES, "tests/operator")
    ours = (f"tests/release_0_1_0/{each}.py" for each in ("adapters", "scenes"))
    release_0_1_0.extract(folder, *ours, revision=ADAPTED)
    return folder


def left_by_today(name: str) -> JSON:
    """Return what today's operator leaves amid a scene."""
    left: JSON = adapters.in_virtual_time(scenes.left(name))
    return left


def status_of(left: JSON) -> JSON:
    (found,) = (each for each in left["objects"] if each["kind"] == "MiniCluster")
    status: JSON = found["status"]
    return status


def under_its_crd(left: JSON) -> JSON:
    """Return the same as the API server has it under the CRD of 0.1.0."""
    crd = yaml.safe_load(gzip.decompress((adapters.DATA / "crd.yaml.gz").read_bytes()))
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    left = copy.deepcopy(left)
    (found,) = (each for each in left["objects"] if each["kind"] == "MiniCluster")
    found["status"] = pruned(found["status"], schema)
    return left


def pruned(value: Any, schema: JSON) -> Any:
    """Return a value without the fields that a schema lacks."""
    if isinstance(value, dict):
        known = schema["properties"]
        return {key: pruned(each, known[key]) for key, each in value.items() if key in known}
    return [pruned(each, schema["items"]) for each in value] if isinstance(value, list) else value


def taken_over(former: Path, left: JSON) -> JSON:
    """Return what 0.1.0's operator makes of it."""
    command = (sys.executable, "-P", former_operator.__file__)
    done = subprocess.run(
        command,
        input=json.dumps(left),
        env=site.environment(former),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: JSON = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", REMEMBERED)
def test_it_goes_on_where_todays_operator_was(former: Path, name: str) -> None:
    """Reasons, since when each holds, what the lead is told, Events, and the end: as today's would go on."""
    left = left_by_today(name)
    known = under_its_crd(left)
    assert {field: status_of(left)[field].get("phase") for field in REMEMBERED[name]} == REMEMBERED[name]
    assert not REMEMBERED[name].keys() & status_of(known).keys()
    old, new = taken_over(former, known), former_operator.course(left)
    assert list(map(without_words, old["first"])) == list(map(without_words, new["first"]))
    assert old["ended"] == new["ended"]
    assert old["commands"] == new["commands"] == COMMANDS.get(name, []), "it began anew"
    if name not in AT_ONCE:
        assert list(map(without_words, old["first"])) == list(
            map(without_words, status_of(left)["conditions"])
        )


def without_words(condition: JSON) -> list[str]:
    return [condition[key] for key in ("type", "status", "reason", "lastTransitionTime")]


def test_the_jobs_of_a_lost_node_are_still_named(former: Path) -> None:
    """By the words of the condition: 0.1.0 has nothing else to know them by."""
    found = taken_over(former, under_its_crd(left_by_today("node-lost")))
    assert found["ended"]["jobs"] == ["ƒa", "ƒb", "ƒc"]


def test_it_is_0_1_0_that_runs(former: Path) -> None:
    """Its modules have other names; today's are not found before them."""
    code = "import minicluster.plan.situation, minicluster.kubernetes.reconciler as it; print(it.__file__)"
    command = (sys.executable, "-P", "-c", code)
    done = subprocess.run(command, env=site.environment(former), capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(former))
