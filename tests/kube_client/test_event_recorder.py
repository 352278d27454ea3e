"""Events as operator and metrics adapter write them: kubectl describe has them in the order of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from minicluster.kube_client.event_recorder import EventSource, event_about
from minicluster.kube_client.resources import RESOURCES
from minicluster.remote.summary import summarize_event

BEGIN = datetime(2026, 3, 14, 15, 9, 26, 999_990, tzinfo=UTC)
SOURCE = EventSource("example.org/tester", "one", "Test")
ABOUT = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "science", "name": "mc", "uid": "1-2"}}


def made(now: datetime, reason: str = "Ready") -> dict[str, Any]:
    return event_about(ABOUT, "Normal", (reason, "all is well"), SOURCE, now)


def test_kubectl_finds_the_times_by_which_it_sorts() -> None:
    """Without lastTimestamp all are alike for it; events.k8s.io/v1 refuses one."""
    found = made(BEGIN.astimezone(timezone(timedelta(hours=2))))
    times = {key: found[key] for key in ("eventTime", "firstTimestamp", "lastTimestamp", "count")}
    assert (found["apiVersion"], RESOURCES["Event"].version, times) == (
        "v1",
        "v1",
        {
            "eventTime": "2026-03-14T15:09:26.999990Z",
            "firstTimestamp": "2026-03-14T15:09:26Z",
            "lastTimestamp": "2026-03-14T15:09:26Z",
            "count": 1,
        },
    )


def test_within_a_second_the_names_are_in_the_order_of_time() -> None:
    """The API server lists by name."""
    names = [made(BEGIN + timedelta(microseconds=each))["metadata"]["name"] for each in range(20)]
    assert (names, len(set(names))) == (sorted(names), 20)


def test_two_of_the_same_moment_have_different_names() -> None:
    assert made(BEGIN, "Created")["metadata"]["name"] != made(BEGIN, "Ready")["metadata"]["name"]


SERVED = {
    "core/v1": ({"deprecatedLastTimestamp": "2026-03-14T15:09:26Z", "deprecatedCount": 1}, BEGIN),
    "events.k8s.io/v1": ({}, BEGIN),
    "repeated by an older client": (
        {"deprecatedLastTimestamp": "2026-03-14T15:10:00Z", "deprecatedCount": 3},
        datetime(2026, 3, 14, 15, 10, tzinfo=UTC),
    ),
}


@pytest.mark.parametrize(("fields", "last"), SERVED.values(), ids=SERVED)
def test_status_shows_the_most_exact_time(fields: dict[str, Any], last: datetime) -> None:
    served = {"metadata": {}, "eventTime": "2026-03-14T15:09:26.999990Z", **fields}
    assert summarize_event(served).last == last.timestamp()
