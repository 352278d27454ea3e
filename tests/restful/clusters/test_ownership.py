"""What a job's mark claims, by what is known of the request that it names."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.records import JobResult, JobState
from minicluster.stand_in.topics import OPTIONS
from restful.clusters.ownership import Claim, ClaimedJob, Ownership, Rows, Submits, claimed, waits_for
from restful.clusters.projection import Owned
from restful.jobs import seal
from restful.jobs.seal import Seal, SealedRequest
from restful.store.clusters import ClusterRow
from restful.store.jobs import JobRecord, status_of
from restful.store.request_keys import DONE, PENDING, RequestRow

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = 1000.0
ROW = RequestRow("R", "alice", "C", "I", None, "", PENDING, None, 1, 0.0, "P", 0.0, 900.0)
DONE_ROW = replace(ROW, state=DONE, job=7)
FAILED = JobRecord("C", "I", 7, "alice", "R", status_of(JobState.INACTIVE, JobResult.FAILED))
RUNNING = replace(FAILED, status=int(JobState.RUN))
COMPLETED = replace(FAILED, status=status_of(JobState.INACTIVE, JobResult.COMPLETED))
RESTARTED = replace(RUNNING, id=8, restart_of=7)
RESTART = {seal.OURS: {seal.RESTART_OF: 7}}

CASES: dict[str, tuple[ClaimedJob, Claim]] = {
    "no request": (ClaimedJob(7, {}, None, ()), Claim.NONE),
    "another instance's": (ClaimedJob(7, {}, replace(ROW, instance="J"), ()), Claim.NONE),
    "noted": (ClaimedJob(7, {}, DONE_ROW, ()), Claim.KNOWN),
    "another process submits": (ClaimedJob(7, {}, replace(ROW, claimed_until=NOW + 1), ()), Claim.LATER),
    "that process died": (ClaimedJob(7, {}, replace(ROW, claimed_until=NOW - 1), ()), Claim.FIRST),
    "nobody submits": (ClaimedJob(7, {}, ROW, ()), Claim.FIRST),
    "a copy": (ClaimedJob(9, {}, DONE_ROW, [FAILED]), Claim.NONE),
    "a restart": (ClaimedJob(8, RESTART, DONE_ROW, [FAILED]), Claim.RESTART),
    "a restart of what runs": (ClaimedJob(8, RESTART, DONE_ROW, [RUNNING]), Claim.RESTART),
    "a restart of what completed": (ClaimedJob(8, RESTART, DONE_ROW, [COMPLETED]), Claim.NONE),
    "a second restart": (ClaimedJob(9, RESTART, DONE_ROW, [FAILED, RESTARTED]), Claim.NONE),
    "a restart that is known": (ClaimedJob(8, RESTART, DONE_ROW, [FAILED, RESTARTED]), Claim.KNOWN),
    "a restart of another's": (ClaimedJob(8, RESTART, replace(DONE_ROW, job=5), []), Claim.NONE),
}


@pytest.mark.parametrize(("candidate", "claim"), CASES.values(), ids=CASES)
def test_what_a_mark_claims(candidate: ClaimedJob, claim: Claim) -> None:
    assert claimed(candidate, "I", Submits((), "Q", NOW)) is claim


def test_while_this_process_submits_it_is_known_later() -> None:
    assert claimed(ClaimedJob(7, {}, ROW, ()), "I", Submits({"R"}, "P", NOW)) is Claim.LATER


def test_its_own_claim_counts_only_while_it_submits() -> None:
    """What it could not give up, as the database was away, keeps it from nothing."""
    left = ClaimedJob(7, {}, replace(ROW, claimed_until=NOW + 1), ())
    assert claimed(left, "I", Submits((), "P", NOW)) is Claim.FIRST


SEAL = Seal(b"k" * 32)
CLUSTER = ClusterRow("C", "mc", "", "", "shared", "", "I", "", 0.0)
SPEC: dict[str, Any] = {"resources": [], "tasks": [], "attributes": {"system": {}}}
OTHER = {**SPEC, "tasks": [1]}
STAND_IN = {
    "resources": [],
    "tasks": [{"command": ["/usr/bin/python3", *OPTIONS, "/zip", "/spool", "/home"]}],
    "attributes": {"system": {"alloc-bypass": {}}, "user": {"minicluster": {"stand_in": "aaaaaaaaaa"}}},
}
TAKES_CORES = {**STAND_IN, "attributes": {**STAND_IN["attributes"], "system": {}}}
PRINTS_MORE = {**STAND_IN, "tasks": [{"command": ["/usr/bin/python3", "-I", "evil.py"]}]}
WAITS = {**SPEC, "attributes": {"system": {"dependencies": [{"scheme": "afternotok", "value": "7"}]}}}


def owner(spec: Mapping[str, Any], claim: Claim, *records: JobRecord, row: RequestRow = ROW) -> Owned:
    """Return whose a job with alice's mark and this jobspec is."""
    attributes = SEAL.marked(SPEC, SealedRequest("I", "alice", "R"))["attributes"]["user"]
    if claim is Claim.RESTART:
        attributes[seal.OURS][seal.RESTART_OF] = 7

    async def jobspec_of(job: int) -> Mapping[str, Any]:
        return spec if job == 8 else OTHER if row.job == 5 else SPEC

    ownership = Ownership(CLUSTER, "", SEAL)
    rows = Rows({"R": row}, {"R": list(records)})
    candidate = rows.candidate(8, attributes, seal.read(attributes))
    return asyncio.run(ownership.owned(candidate, rows, jobspec_of, claim))


OWNERS: dict[str, tuple[Owned, Owned]] = {
    "the seal fits": (owner(SPEC, Claim.FIRST), Owned("alice", "R")),
    "the seal does not fit": (owner(OTHER, Claim.FIRST), Owned()),
    "noted": (owner(OTHER, Claim.KNOWN), Owned("alice", "R")),
    "a restart of what failed": (owner(SPEC, Claim.RESTART, FAILED), Owned("alice", "R", 7)),
    "a restart that waits": (owner(WAITS, Claim.RESTART, RUNNING), Owned("alice", "R", 7)),
    "a restart beside it": (owner(SPEC, Claim.RESTART, RUNNING), Owned()),
    "a restart of another program": (owner(OTHER, Claim.RESTART, FAILED), Owned()),
    "a stand-in": (owner(STAND_IN, Claim.RESTART, FAILED, row=DONE_ROW), Owned("alice", "R", 7)),
    "a stand-in of another job": (
        owner(STAND_IN, Claim.RESTART, FAILED, row=replace(DONE_ROW, job=5)),
        Owned(),
    ),
    "a stand-in that takes cores": (owner(TAKES_CORES, Claim.RESTART, FAILED, row=DONE_ROW), Owned()),
    "a stand-in of another program": (owner(PRINTS_MORE, Claim.RESTART, FAILED, row=DONE_ROW), Owned()),
    "a stand-in that is no restart": (owner(STAND_IN, Claim.FIRST, row=DONE_ROW), Owned()),
}


@pytest.mark.parametrize(("found", "expected"), OWNERS.values(), ids=OWNERS)
def test_whose_a_job_is(found: Owned, expected: Owned) -> None:
    assert found == expected


@pytest.mark.parametrize(("old", "waits"), [(7, True), (8, False)])
def test_a_restart_waits_for_the_failure_of_its_original(old: int, waits: bool) -> None:
    assert waits_for(WAITS, old) is waits
