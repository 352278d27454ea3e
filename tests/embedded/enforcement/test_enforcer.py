"""Which way is taken, and what happens where it ceases to hold."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.broker import enforcement
from minicluster.embedded.errors import ConfigurationError
from minicluster.embedded.execution.rank.enforcement import enforcer as module
from minicluster.embedded.execution.rank.enforcement.control_groups import GroupName
from minicluster.embedded.execution.rank.enforcement.enforcer import EnforcedJob, Enforcer, enforcer
from minicluster.embedded.execution.rank.enforcement.records import CpuLimit, EnforcementLost, Way
from tests.embedded.enforcement.group_tree import GroupTree

if TYPE_CHECKING:
    from pathlib import Path

NAME = GroupName("minicluster.d.", "now")


def texts(path: Path) -> tuple[str, str]:
    return f"41 31 0:38 / {path} rw - cgroup2 cgroup2 rw\n", "0::/\n"


def on_tree(path: Path, chosen: str = "", logged: list[str] | None = None) -> tuple[Enforcer, GroupTree]:
    tree = GroupTree(path, root=True)
    log = (logged if logged is not None else []).append
    return enforcer(NAME, chosen, lambda _level, text: log(text), tree, texts(path)), tree


@pytest.fixture(autouse=True)
def _two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda _pid: {0, 1})


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("", Way.GROUPS_2),
        ("cgroup-v2", Way.GROUPS_2),
        ("cgroup-v1", None),
        ("affinity", Way.AFFINITY),
        ("none", None),
    ],
)
def test_the_first_that_holds_is_taken(tmp_path: Path, chosen: str, expected: Way | None) -> None:
    found, _ = on_tree(tmp_path, chosen)
    assert (found.way, found.close()) == (expected, True)


def test_where_the_kernel_has_no_quotas_jobs_are_bound(tmp_path: Path) -> None:
    tree = GroupTree(tmp_path, root=True)
    tree.missing = {"cpu.max"}
    found = enforcer(NAME, files=tree, texts=texts(tmp_path))
    assert found.way is Way.AFFINITY
    assert found.reasons[Way.GROUPS_2].endswith("minicluster.d.now/cpu.max: No such file or directory")


def test_where_none_holds_each_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda _pid: {0})
    found = enforcer(NAME, texts=("", ""))
    assert found.way is None
    assert enforcement.described({}, found).others == (
        "control groups of version 2 (no hierarchy of version 2); "
        "control groups of version 1 (no hierarchy of version 1 with the controller cpu); "
        "affinity (the broker may use 1 CPU, and it takes 2)"
    )
    with pytest.raises(EnforcementLost, match="no way to enforce CPU quotas is left"):
        found.begin(1, list)


@pytest.mark.parametrize("act", ["make", "write"])
def test_a_way_that_is_lost_gives_way_to_the_next_and_that_is_reported_once(tmp_path: Path, act: str) -> None:
    """For the job that met it, with the limit that it had, and for all after it."""
    logged: list[str] = []
    found, tree = on_tree(tmp_path, logged=logged)
    first = EnforcedJob(found, 1, list)
    tree.refused = {act: errno.ENOSPC}
    jobs = [first] if act == "write" else []
    if act == "write":
        first.set_limit(CpuLimit(1, 2, frozenset({0})))
    jobs += [EnforcedJob(found, job, list) for job in (2, 3)]
    assert [job.way for job in jobs] == [Way.AFFINITY] * len(jobs)
    (text,) = logged
    assert text.startswith("CPU quotas cannot be enforced by cgroup-v2 any more: ")
    assert text.endswith("No space left on device; from now on by affinity")
    tree.refused = {}
    first.close()
    found.close_left()
    assert found.close()


def test_a_job_goes_on_unlimited_where_no_way_is_left(tmp_path: Path) -> None:
    logged: list[str] = []
    found, tree = on_tree(tmp_path, "cgroup-v2", logged)
    job = EnforcedJob(found, 1, lambda: [os.getpid()])
    tree.refused = {"write": errno.EROFS}
    with pytest.raises(EnforcementLost, match="no way to enforce CPU quotas is left"):
        job.set_limit(CpuLimit(1))
    assert logged[0].endswith("Read-only file system; nothing enforces them")


def test_a_group_that_is_busy_is_removed_later(tmp_path: Path) -> None:
    found, _ = on_tree(tmp_path)
    job = EnforcedJob(found, 1, list)
    procs = tmp_path / str(NAME) / "1" / "cgroup.procs"
    procs.write_text("5\n")
    job.close()
    assert procs.exists()
    procs.write_text("")
    assert (found.close(), procs.exists(), (tmp_path / str(NAME)).exists()) == (True, False, False)


def test_another_word_in_broker_toml_is_refused() -> None:
    with pytest.raises(ConfigurationError) as error:
        enforcement.chosen({"minicluster": {"cpu-quotas": "cgroups"}})
    assert str(error.value) == (
        "broker.toml, [minicluster] cpu-quotas = 'cgroups': it must be one of"
        " auto, cgroup-v2, cgroup-v1, affinity, none"
    )
