"""Jobs from their submission to their end, by the routes, on an embedded instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.restful.jobs.service import opened, spec_of, within

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory


def test_a_job_is_submitted_runs_and_is_found_as_it_ended(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = await here.submit("alice", ["sh", "-c", "exit 3"], tasks=2, name="three", time_limit="1m")
            return jobid, await here.ended("alice", jobid)

    jobid, job = within(work())
    assert job["id"] == jobid
    assert (job["name"], job["state"], job["result"], job["returncode"]) == ("three", "INACTIVE", "FAILED", 3)
    assert (job["ntasks"], job["duration"], job["owner"][2:7]) == (2, 60.0, "ALICE")
    assert job["t_submit"] < job["t_run"] < job["t_inactive"]
