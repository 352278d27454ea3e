"""Jobspecs of jobs that leave: what stays here, what goes along, and which files come back."""

from __future__ import annotations

from typing import Any

import pytest

from burst.elsewhere.jobspecs import elsewhere, has_results, label_of, results_of

SPEC: dict[str, Any] = {
    "version": 1,
    "resources": [{"type": "node", "count": 2}],
    "tasks": [{"command": ["a.out"], "slot": "task", "count": {"per_slot": 1}}],
    "attributes": {
        "system": {
            "duration": 60.0,
            "cwd": "/data",
            "queue": "burst",
            "constraints": {"properties": ["burst"]},
            "dependencies": [{"scheme": "afterok", "value": "ƒ2"}],
            "burstable": True,
            "environment": {"PATH": "/bin", "FLUX_URI": "local:///near", "MINICLUSTER_RUN": "/r", "OMP": "2"},
            "shell": {"options": {"output": {"stdout": {"type": "file", "path": "out"}}, "pty": True}},
        },
        "user": {"minicluster": {"restart": True}, "burst": {"results": ["out.dat"]}},
    },
}


def test_it_leaves_what_is_about_the_instance_here() -> None:
    found = elsewhere(SPEC, "62dgmfw4gk")
    assert found["attributes"] == {
        "system": {
            "duration": 60.0,
            "cwd": "/data",
            "environment": {"PATH": "/bin", "OMP": "2"},
            "shell": {"options": {"pty": True}},
        },
        "user": {"minicluster": {"restart": True, "burst": "62dgmfw4gk"}, "burst": {"results": ["out.dat"]}},
    }
    assert found["resources"] == SPEC["resources"]
    assert SPEC["attributes"]["system"]["queue"] == "burst"


def test_its_burst_is_known_by_an_attribute() -> None:
    assert label_of(elsewhere(SPEC, "62dgmfw4gk")["attributes"]["user"]) == "62dgmfw4gk"
    assert label_of({"minicluster": "x"}) == ""


def test_results_are_paths_below_its_directory() -> None:
    assert results_of({"burst": {"results": ["a", "b/c"]}}) == ("a", "b/c")
    assert results_of({}) == ()
    assert (has_results({"burst": {"results": ["a"]}}), has_results({"burst": {"results": []}})) == (
        True,
        False,
    )


@pytest.mark.parametrize("wrong", ["out.dat", [1], [""], {"a": 1}])
def test_what_are_no_paths_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r'attributes.user.burst.results: \["out.dat"\] is right'):
        results_of({"burst": {"results": wrong}})


@pytest.mark.parametrize("wrong", ["/etc/passwd", "../x", "a/../../b"])
def test_what_is_elsewhere_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not below the job's working directory"):
        results_of({"burst": {"results": [wrong]}})
