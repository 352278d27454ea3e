"""The bits of RFC 21, whose values stand in eventlogs, dumps and on the wire."""

from __future__ import annotations

import pytest

from broker_config.formats import broker_state, job_states
from broker_config.formats.job_states import JobFlag, JobResult, JobState


@pytest.mark.parametrize(
    ("state", "bits"),
    [
        ("NEW", 1),
        ("DEPEND", 2),
        ("PRIORITY", 4),
        ("SCHED", 8),
        ("RUN", 16),
        ("CLEANUP", 32),
        ("INACTIVE", 64),
        ("PENDING", 14),
        ("RUNNING", 48),
        ("ACTIVE", 62),
    ],
)
def test_states(state: str, bits: int) -> None:
    assert (job_states.state_of(state.lower()), JobState[state]) == (bits, bits)


@pytest.mark.parametrize(
    ("result", "bits"), [("COMPLETED", 1), ("FAILED", 2), ("CANCELED", 4), ("TIMEOUT", 8)]
)
def test_results(result: str, bits: int) -> None:
    assert (job_states.result_of(result.lower()), JobResult[result]) == (bits, bits)
    assert job_states.RESULT_NAMES[bits] == result


@pytest.mark.parametrize(("flag", "bits"), [("DEBUG", 2), ("WAITABLE", 4), ("NOVALIDATE", 8)])
def test_flags(flag: str, bits: int) -> None:
    assert JobFlag[flag] == bits


def test_names() -> None:
    """Single states both ways; those that Flux counts, in its order."""
    assert {job_states.state_of(name): name for name in job_states.STATE_NAMES.values()} == (
        job_states.STATE_NAMES
    )
    assert job_states.STATES == ("depend", "priority", "sched", "run", "cleanup", "inactive")
    groups = {JobState.PENDING: job_states.PENDING_STATES, JobState.RUNNING: job_states.RUNNING_STATES}
    for group, names in groups.items():
        assert group == sum(job_states.state_of(name) for name in names)


@pytest.mark.parametrize("name", ["", "held", "DEPEND "])
def test_no_state(name: str) -> None:
    with pytest.raises(KeyError):
        job_states.state_of(name)


def test_the_state_in_which_a_brokers_program_runs() -> None:
    """Flux 0.88 sends 5."""
    assert broker_state.RUN == 5
