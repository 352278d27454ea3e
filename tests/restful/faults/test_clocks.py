"""Clocks that jump back and forth: nobody is locked out, no job is doubled, and the log stays whole."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from restful import audit
from restful.identity import backoff, key_rotation
from restful.identity.backoff import LoginFailures
from restful.identity.key_rotation import KeyTimes
from restful.jobs import jobspecs, marked_jobs, seal
from restful.jobs.rules import Rules
from restful.jobs.seal import Seal
from restful.settings import JobLimits
from tests.restful.clusters.test_ownership import ROW
from tests.restful.identity import service
from tests.restful.identity.service import bearer, within
from tests.restful.jobs.service import BASE, opened, spec_of
from tests.restful.jobs.test_crashes import submission

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory

DAY = 86_400.0
JUMPS = (0.0, 3600.0, -3600.0, DAY / 2, -DAY / 2, 7.0, -400.0, 0.0)
"""Seconds, of which each is how far the clock is off from then on."""


def test_jobs_are_submitted_once_and_end_whatever_the_clock_shows(
    embedded: Laboratory, tmp_path: Path
) -> None:
    off = [0.0]

    async def work() -> Any:
        found = []
        async with opened(tmp_path, spec_of(embedded), now=lambda: time.time() + off[0]) as here:
            for number, jump in enumerate(JUMPS):
                off[0] = jump
                more = {"name": f"jump{number}", "headers": {"Idempotency-Key": f"jump{number}"}}
                first = await here.submit("alice", **more)
                off[0] += 60 if number % 2 else -60
                job = await here.ended("alice", first)
                found.append((await here.submit("alice", **more) == first, job["result"]))
            listed = await here.ask("alice", "GET", "/jobs?name=jump*&limit=100")
            async with here.services.database.read() as connection:
                return found, len(listed.json()["jobs"]), await audit.first_broken(connection)

    assert within(work()) == ([(True, "COMPLETED")] * len(JUMPS), len(JUMPS), None)


def test_logins_and_tokens_are_good_whatever_the_clock_shows(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            personal, start, found = (await here.personal("alice", "jobs:read"))["token"], here.clock.time, []
            for jump in (40 * DAY, 0.0, 3600.0, -3600.0, 31 * DAY, 0.0):
                here.clock.time = start + jump
                wrong = await here.token(grant_type="password", username="alice", password="wrong password")
                here.clock.time += 1
                login = await here.login("alice")
                renewed = await here.token(grant_type="refresh_token", refresh_token=login["refresh_token"])
                tokens = (login["access_token"], renewed.json()["access_token"], personal)
                answers = [await here.client.get("/v2/me", headers=bearer(each)) for each in tokens]
                found.append([wrong.status_code, *(each.status_code for each in answers)])
            return found

    assert within(work()) == [[400, 200, 200, 200]] * 6


def test_who_waits_after_wrong_passwords_does_not_wait_for_a_clock_that_was_put_back() -> None:
    failures = LoginFailures(3, 1_000_000.0)
    assert backoff.wait(failures, 1_000_000.0 - backoff.MAX_DELAY) == backoff.MAX_DELAY
    assert backoff.wait(failures, 1_000_000.0 - DAY) == 0.0


def test_where_every_key_is_of_the_future_the_first_one_signs() -> None:
    keys = [KeyTimes("b", 300.0), KeyTimes("a", 200.0)]
    found = key_rotation.signing(keys, 100.0)
    assert found == keys[1]


@pytest.mark.parametrize("back", [0.0, 3600.0, 10 * DAY])
def test_that_an_operator_reads_is_recorded_after_a_clock_was_put_back(
    embedded: Laboratory, tmp_path: Path, back: float
) -> None:
    off = [0.0]

    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded), now=lambda: time.time() - off[0]) as here:
            jobid = await here.submit("alice")
            await here.ask("olga", "GET", f"/jobs/{jobid}")
            off[0] = back
            await here.ask("olga", "GET", f"/jobs/{jobid}")
            async with here.services.database.read() as connection:
                rows = [each.action async for each in audit.rows.every(connection)]
            return rows.count("job.read")

    assert within(work()) == (2 if back else 1)


@pytest.mark.parametrize("off", [0.0, 3600.0, -3600.0, 10 * DAY])
def test_a_requests_job_is_found_however_wrong_the_clock_was(embedded: Laboratory, off: float) -> None:
    """Else a service that died after the submit would submit it once more."""
    sealing, name = Seal(b"k" * 32), f"wrong{off:.0f}"
    row = replace(ROW, id=f"R{off:.0f}", created=time.time() + off)
    spec = jobspecs.jobspec_of(submission(name, 1), BASE, Rules(JobLimits()))
    request = seal.SealedRequest(row.instance, row.user, row.id)
    with embedded.connect() as instance:
        jobid = instance.jobs.resubmit(sealing.marked(spec, request), urgency=16)
        found = marked_jobs.of_rows(instance, sealing, [row], {jobid - 1})
    assert found[row.id].id == jobid
