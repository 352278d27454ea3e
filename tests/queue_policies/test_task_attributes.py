"""What `attributes.user` tells of a job's tasks, and what is refused at submission."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies.errors import TaskAttributeError
from queue_policies.placement.attributes import shape_of, valid_shape_of
from queue_policies.placement.records import Profile, ProfileKind, TaskShape

MEMORY = Profile(ProfileKind.MEMORY)


@pytest.mark.parametrize(
    ("user", "shape"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"elastic": {"min": 1, "max": 2}}, None, id="something else"),
        pytest.param({"profile": "memory"}, TaskShape(MEMORY), id="a profile"),
        pytest.param({"workers": 4}, TaskShape(workers=4), id="workers"),
        pytest.param({"workers": 17}, TaskShape(workers=16), id="more workers than tasks"),
        pytest.param({"profile": {"kind": "memory"}}, TaskShape(MEMORY), id="a table"),
        pytest.param(
            {"profile": {"kind": "network", "network": 2, "io": 0.5}},
            TaskShape(Profile(ProfileKind.NETWORK, network=2.0, io=0.5)),
            id="demands",
        ),
    ],
)
def test_a_shape(user: dict[str, Any], shape: TaskShape | None) -> None:
    """Of sixteen tasks, one a slot."""
    assert shape_of(user, 16, 16) == shape


def test_tasks_that_are_not_one_a_slot() -> None:
    assert shape_of({"workers": 40}, 32, 16) == TaskShape(tasks=32, workers=32)


def test_tasks_whose_number_is_not_known() -> None:
    """So many a node or core: the job's resources decide."""
    assert shape_of({"workers": 40}, 0, 16) == TaskShape(workers=40)


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"profile": "memroy"}, "attributes.user.profile: 'memroy' is no profile; did you mean 'memory'?"),
        (
            {"profile": "zzz"},
            "attributes.user.profile: 'zzz' is no profile; known are cpu, memory, network, io",
        ),
        ({"profile": 3}, "attributes.user.profile: 3 is no profile; known are cpu, memory, network, io"),
        (
            {"profile": {"bandwidth": 3}},
            "attributes.user.profile.kind is missing; known are cpu, memory, network, io",
        ),
        (
            {"profile": {"kind": "cpu", "bandwith": 3}},
            "attributes.user.profile: unknown key 'bandwith'; did you mean 'bandwidth'?",
        ),
        (
            {"profile": {"kind": "netwrok"}},
            "attributes.user.profile.kind: 'netwrok' is no profile; did you mean 'network'?",
        ),
        ({"profile": {"kind": "io", "io": -1}}, "attributes.user.profile.io must be a number >= 0, not -1"),
        ({"workers": 0}, "attributes.user.workers must be an integer > 0, not 0"),
        ({"workers": True}, "attributes.user.workers must be an integer > 0, not True"),
        ({"workers": "four"}, "attributes.user.workers must be an integer > 0, not 'four'"),
        ({"workers": 1.5}, "attributes.user.workers must be an integer > 0, not 1.5"),
    ],
)
def test_what_is_refused(user: dict[str, Any], message: str) -> None:
    """An instance that has admitted it, before it knew profiles, goes on without it."""
    with pytest.raises(TaskAttributeError) as caught:
        shape_of(user, 16, 16)
    assert str(caught.value) == message
    assert valid_shape_of(user, 16, 16) is None
