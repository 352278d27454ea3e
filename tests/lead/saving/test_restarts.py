"""Jobs that are started again: of brokers that leave, and of those that are lost."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.lead.client import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lead.pods import Pods
    from tests.lead.saving.saved import Saved

NOTHING: dict[str, list[Any]] = {"restarted": [], "lost": []}


def test_jobs_of_brokers_that_leave_are_restarted(saved: Callable[..., Saved]) -> None:
    """Elsewhere, at once, and only those; what waits for them moves along."""
    cluster = saved().up(0, 1, 2)
    with cluster.lead_api.watch() as watch:
        watch.until(online="0-2")
    for name in "abc":
        cluster.submit(name, gate=True)
    cluster.running("a", "b", "c")
    ranks = {name: cluster.pods.run("jobs", "-n", "-o", "{ranks}", cluster.names[name]) for name in "abc"}
    (leaving,) = [name for name, rank in ranks.items() if rank == "2"]
    cluster.submit("after", f"--dependency=afterok:{cluster.names[leaving]}")
    cluster.lead_api.ask("POST", "/v1/drain", {"ranks": "2"})
    code, answer = cluster.lead_api.ask("POST", "/v1/restart", {"ranks": "2"})
    plain = [cluster.names[name].replace("ƒ", "f") for name in (leaving, "after")]
    assert (code, [old for old, _ in answer["restarted"]], answer["lost"]) == (200, plain, [])
    cluster.gate.touch()
    cluster.done()
    assert cluster.lines() == Counter(["a", "b", "c", "after"])
    new = dict(answer["restarted"])[plain[0]]
    assert cluster.pods.run("jobs", "-n", "-o", "{ranks}", new) in ("0", "1")


def test_restarts_are_named_again_until_their_ranks_stay(saved: Callable[..., Saved]) -> None:
    """Whoever ordered them may not have heard the answer."""
    cluster = saved(1).up(0)
    cluster.submit("a", gate=True)
    cluster.running("a")
    cluster.lead_api.ask("POST", "/v1/drain", {"ranks": "0"})
    first = cluster.lead_api.ask("POST", "/v1/restart", {"ranks": "0"})
    until(lambda: cluster.state(cluster.names["a"]) == "INACTIVE", "the old one's end")
    assert cluster.lead_api.ask("POST", "/v1/restart", {"ranks": "0"}) == first
    assert len(first[1]["restarted"]) == 1
    cluster.gate.touch()
    cluster.lead_api.ask("POST", "/v1/undrain", {"ranks": "0"})
    cluster.done()
    assert cluster.lead_api.ask("POST", "/v1/restart", {"ranks": "0"}) == (200, {"restarted": [], "lost": []})


def test_restart_of_ranks_without_jobs(three: Pods) -> None:
    """Nothing to do."""
    answer = three.lead_api.ask("POST", "/v1/restart", {"ranks": "1-2"})
    assert answer == (200, {"restarted": [], "lost": []})


@pytest.mark.parametrize("body", [{}, {"ranks": ""}, {"ranks": "x"}], ids=["none", "empty", "no-idset"])
def test_ranks_that_are_none(three: Pods, body: dict[str, str]) -> None:
    """As for a drain."""
    assert three.lead_api.ask("POST", "/v1/restart", body)[0] == 400


def test_jobs_that_were_lost_with_their_broker_are_started_again(saved: Callable[..., Saved]) -> None:
    """Elsewhere, and what waited for them moves along; asked again, the same are named.

    Real Flux places jobs on a lost broker for another moment: these are lost in turn.
    """
    cluster = saved().up(0, 1, 2)
    with cluster.lead_api.watch() as watch:
        watch.until(online="0-2")
    lost = {"2": [time.time(), time.time() + 3600]}
    for name in "abc":
        cluster.submit(name, gate=True)
    cluster.running("a", "b", "c")
    ranks = {name: cluster.pods.run("jobs", "-n", "-o", "{ranks}", cluster.names[name]) for name in "abc"}
    (hit,) = [name for name, rank in ranks.items() if rank == "2"]
    cluster.submit("after", f"--dependency=afterok:{cluster.names[hit]}")
    cluster.submit("any", f"--dependency=afterany:{cluster.names[hit]}")
    cluster.pods.kill(2)
    until(lambda: cluster.result(cluster.names["after"]) == "FAILED", "the loss")
    until(lambda: cluster.state(cluster.names["any"]) in ("SCHED", "INACTIVE"), "the next one's fate")
    assert cluster.lead_api.ask("POST", "/v1/recover", {"lost": {"2": [time.time()] * 2}}) == (200, NOTHING)
    code, answer = cluster.lead_api.ask("POST", "/v1/recover", {"lost": lost})
    plain = [cluster.names[name].replace("ƒ", "f") for name in (hit, "after", "any")]
    started_there = cluster.result(cluster.names["any"]) == "FAILED"
    again = plain if started_there else plain[:2]
    assert (code, [old for old, _ in answer["restarted"]], answer["lost"]) == (200, again, [])
    assert cluster.lead_api.ask("POST", "/v1/recover", {"lost": lost}) == (200, answer)
    cluster.gate.touch()
    cluster.done()
    assert cluster.lines() == Counter(["a", "b", "c", "after", "any"])
    new = dict(answer["restarted"])[plain[0]]
    assert cluster.pods.run("jobs", "-n", "-o", "{ranks}", new) in ("0", "1")
    assert cluster.lead_api.ask("POST", "/v1/recover", {"lost": lost}) == (200, answer)
    assert sum(cluster.lines().values()) == 5


@pytest.mark.parametrize(
    "lost",
    [
        None,
        {},
        [1],
        {"x": [1, 2]},
        {"-1": [1, 2]},
        {"1": 1},
        {"1": [1]},
        {"1": [1, "now"]},
        {"1": [1, True]},
        {"1": [-1, 2]},
        {"1": [1, 1e300]},
    ],
    ids=str,
)
def test_losses_that_are_none(three: Pods, lost: Any) -> None:
    """What is right is said."""
    code, answer = three.lead_api.ask("POST", "/v1/recover", {"lost": lost})
    right = (
        "lost: by rank, when its pod had started and when that was taken away, such as"
        ' {"3": [1773500966, 1773501966]} (seconds since 1970), is right'
    )
    assert (code, answer) == (400, {"error": right})
