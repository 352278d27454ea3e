"""Which jobs a listing is restricted to: times back, users of this machine, queues with names."""

from __future__ import annotations

import os
import pwd
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from minicluster.backends.errors import WrongRequest
from minicluster.cli import job_filters

if TYPE_CHECKING:
    from minicluster.instance.port import Instance

HOUR, DAY = 3600, 86400


def _since(text: str) -> float:
    return job_filters.selection("", "", "", "", text, every=False).since


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("2h", 2 * HOUR, 2 * HOUR),
        ("-2h", 2 * HOUR, 2 * HOUR),
        ("1.5m", 90, 90),
        ("500ms", 0, 1),
        ("yesterday", DAY - HOUR, 2 * DAY + HOUR),
        ("now", 0, 0),
    ],
)
def test_a_time_is_so_long_ago(text: str, least: float, most: float) -> None:
    """Within a minute; a day may have an hour more or less."""
    assert least - 1 <= time.time() - _since(text) <= most + 60


def test_a_day_is_its_beginning() -> None:
    assert _since("2001-02-03") == time.mktime((2001, 2, 3, 0, 0, 0, 0, 0, -1))


def test_a_user_of_this_machine_has_a_name() -> None:
    name = pwd.getpwuid(os.getuid()).pw_name
    which = job_filters.selection("", name, "", "", "", every=True).filter(here=True)
    assert which.userid == os.getuid()


def test_a_user_who_is_not_on_this_machine_is_named() -> None:
    with pytest.raises(WrongRequest) as refusal:
        job_filters.selection("", "no-such-user", "", "", "", every=True).filter(here=True)
    assert str(refusal.value) == "--user no-such-user: there is no such user on this machine"


def test_the_queues_that_there_are_are_named() -> None:
    """Where no job is found."""
    there = [SimpleNamespace(name="batch"), SimpleNamespace(name="debug")]
    made: Any = SimpleNamespace(
        jobs=SimpleNamespace(find=lambda _which, limit: []),
        queues=SimpleNamespace(all=lambda: there),
        links=SimpleNamespace(inherits_environment=True),
    )
    instance = cast("Instance", made)
    assert job_filters.selection("", "", "batch", "", "", every=True).find(instance) == []
    with pytest.raises(WrongRequest) as refusal:
        job_filters.selection("", "", "fast", "", "", every=True).find(instance)
    assert str(refusal.value) == "--queue fast: is not there; there are batch, debug"


@pytest.mark.parametrize(
    ("code", "word"),
    [
        *[
            ("D", "depend"),
            ("P", "priority"),
            ("S", "sched"),
            ("R", "run"),
            ("C", "cleanup"),
            ("I", "inactive"),
        ],
        *[("CD", "completed"), ("F", "failed"), ("CA", "canceled"), ("TO", "timeout")],
        *[
            ("PD", "pending"),
            ("CG", "cleanup"),
            ("NF", "failed"),
            ("oom", "failed"),
            ("pd,F", "pending,failed"),
        ],
    ],
)
def test_the_codes_of_flux_and_slurm_are_states(code: str, word: str) -> None:
    assert job_filters.states_of(code, job_filters.EVERY) == job_filters.states_of(word, job_filters.EVERY)
