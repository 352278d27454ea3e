"""Ranks up, down, drained: what is answered, what is refused, and what the scheduler does."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from minicluster.embedded.errors import RpcError


def test_status(bench: Any) -> None:
    bench.submit()
    bench.engine.membership.rank_down(1, "lost")
    status = bench.call("resource.status")
    assert status["R"]["execution"]["R_lite"] == [{"rank": "0-1", "children": {"core": "0-1"}}]
    del status["R"]
    assert status == {
        "drain": {},
        "online": "0",
        "offline": "1",
        "exclude": "",
        "torpid": "",
        "allocated": "0",
    }


def test_sched_status_counts_drained_ranks_as_down(bench: Any) -> None:
    bench.submit(slots=3)
    bench.call("resource.drain", targets="1", reason="disk")
    answer = bench.call("resource.sched-status")
    lite = {key: answer[key]["execution"]["R_lite"] for key in ("all", "down", "allocated")}
    assert lite == {
        "all": [{"rank": "0-1", "children": {"core": "0-1"}}],
        "down": [{"rank": "1", "children": {"core": "0-1"}}],
        "allocated": [
            {"rank": "0", "children": {"core": "0-1"}},
            {"rank": "1", "children": {"core": "0"}},
        ],
    }


def test_no_job_starts_on_a_rank_that_is_down(bench: Any) -> None:
    bench.engine.membership.rank_down(0, "lost")
    job, both = bench.submit(), bench.submit(nodes=2)
    assert (bench.running(), bench.shown(job)["ranks"]) == ([job], "1")
    bench.engine.membership.rank_up(0, "mc-0")
    bench.loop.turn()
    assert bench.running() == [job, both]


def test_a_rank_beyond_r_is_passed_over(bench: Any) -> None:
    bench.engine.membership.rank_up(7, "mc-7")
    assert bench.call("resource.status")["online"] == "0-1"


def test_drain_by_host_and_undrain(bench: Any) -> None:
    bench.call("resource.drain", targets="mc-[0-1]", reason="upgrade")
    job = bench.submit()
    drained = bench.call("resource.status")["drain"]
    assert drained == {"0-1": {"timestamp": bench.loop.now, "reason": "upgrade"}}
    assert bench.running() == []
    bench.call("resource.undrain", targets="0")
    assert bench.running() == [job]


def test_a_drained_rank_keeps_its_job_and_gets_no_other(bench: Any) -> None:
    jobs = [bench.submit(slots=4), bench.submit()]
    bench.call("resource.drain", targets="0")
    bench.finish(jobs[0])
    assert bench.shown(jobs[1])["ranks"] == "1"


@pytest.mark.parametrize(
    ("mode", "reason", "since"),
    [
        pytest.param("update", "old", 0, id="update keeps a reason"),
        pytest.param("overwrite", "new", 0, id="overwrite keeps the time"),
    ],
)
def test_draining_again(bench: Any, mode: str, reason: str, since: float) -> None:
    begin = bench.loop.now
    bench.call("resource.drain", targets="1", reason="old")
    bench.loop.advance(5)
    bench.call("resource.drain", targets="1", reason="new", mode=mode)
    drained = bench.call("resource.status")["drain"]["1"]
    assert drained == {"timestamp": begin + since, "reason": reason}


def test_a_drain_without_reason_can_be_given_one(bench: Any) -> None:
    bench.call("resource.drain", targets="1")
    bench.call("resource.drain", targets="1", reason="now I know")
    assert bench.call("resource.status")["drain"]["1"]["reason"] == "now I know"


@pytest.mark.parametrize(
    ("topic", "payload", "refusal"),
    [
        ("drain", {"targets": "9"}, (errno.EINVAL, "idset is out of range")),
        ("drain", {"targets": ""}, (errno.EINVAL, "idset is empty")),
        ("drain", {"targets": "nohost"}, (errno.EINVAL, "invalid targets: invalid hosts: nohost")),
        ("drain", {"targets": "a["}, (errno.EINVAL, "invalid targets: hostlist 'a['")),
        ("drain", {"targets": "1", "reason": "b"}, (errno.EEXIST, "rank 1 already drained")),
        ("drain", {"targets": "0", "mode": "x"}, (errno.EINVAL, "invalid drain mode 'x' specified")),
        ("undrain", {"targets": "0"}, (errno.EEXIST, "rank 0 not drained")),
        ("undrain", {"targets": "0", "mode": "x"}, (errno.EINVAL, "invalid undrain mode 'x' specified")),
    ],
)
def test_refusals(bench: Any, topic: str, payload: Any, refusal: tuple[int, str]) -> None:
    bench.call("resource.drain", targets="1", reason="a")
    with pytest.raises(RpcError) as refused:
        bench.call(f"resource.{topic}", **payload)
    assert refused.value.errnum == refusal[0]
    assert refused.value.text.startswith(refusal[1])


def test_undrain_by_force(bench: Any) -> None:
    assert bench.call("resource.undrain", targets="0-1", mode="overwrite") == {}


def test_drains_survive_a_restart(bench: Any) -> None:
    bench.call("resource.drain", targets="1", reason="disk")
    before = bench.call("resource.status")["drain"]
    bench.restart()
    assert bench.call("resource.status")["drain"] == before
    assert bench.shown(bench.submit(slots=2))["ranks"] == "0"
