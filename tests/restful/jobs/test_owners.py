"""Whose jobs are whose, in a shared instance and in somebody's own."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_config.formats.jobid import f58, parse
from minicluster.instance.records import JobRequest
from restful.clusters.spec import Tenancy
from restful.jobs import seal
from restful.settings import JobLimits
from tests.conformance.laboratory import Laboratory
from tests.restful.jobs.service import FAST, USERS, opened, spec_of, within

if TYPE_CHECKING:
    from pathlib import Path

INSIDE = JobRequest(("true",), environment={}, cwd="/tmp", name="inside")


def submitted_inside(laboratory: Laboratory, jobspec: dict[str, Any] | None = None) -> int:
    """Submit a job as `flux submit` does inside the instance: past the service."""
    with laboratory.connect() as instance:
        return instance.jobs.submit(INSIDE) if jobspec is None else instance.jobs.resubmit(jobspec)


def test_a_job_from_inside_is_nobodys_and_only_operators_see_it(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = f58(submitted_inside(embedded))
            job = await here.until("olga", jobid, lambda found: found.get("id"))
            alices = await here.ask("alice", "GET", f"/jobs/{jobid}")
            nobodys = await here.ask("olga", "GET", "/jobs", params={"owner": "nobody", "limit": 500})
            return jobid, job, alices.status_code, [each["id"] for each in nobodys.json()["jobs"]]

    jobid, job, status, listed = within(work())
    assert (job["owner"], job["name"], status) == (None, "inside", 404)
    assert jobid in listed


def test_a_copied_mark_is_nobodys(embedded: Laboratory, tmp_path: Path) -> None:
    """Whoever runs jobs in the instance can read marks there, and write them into others."""

    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            mine = await here.submit("alice", ["true"], name="mine")
            await here.ended("alice", mine)
            with embedded.connect() as instance:
                spec: dict[str, Any] = copy.deepcopy(dict(instance.jobs.jobspec(parse(mine))))
            same = submitted_inside(embedded, spec)
            spec["tasks"][0]["command"] = ["false"]
            other = submitted_inside(embedded, spec)
            spec["attributes"]["user"][seal.OURS][seal.RESTART_OF] = parse(mine)
            restart = submitted_inside(embedded, spec)
            found = [
                await here.until("olga", f58(each), lambda job: job.get("id"))
                for each in (same, other, restart)
            ]
            owner = (await here.ask("alice", "GET", f"/jobs/{mine}")).json()["owner"]
            return owner, [each["owner"] for each in found]

    owner, others = within(work())
    assert owner == USERS["alice"].user
    assert others == [None, None, None]


def test_jobs_from_inside_count_in_no_quota(embedded: Laboratory, tmp_path: Path) -> None:
    settings = replace(FAST, jobs=JobLimits(active=1))

    async def work() -> list[int]:
        async with opened(tmp_path, spec_of(embedded), settings=settings) as here:
            submitted_inside(embedded)
            first = await here.submit("alice", ["true"], urgency=0)
            codes = [(await here.ask("alice", "POST", "/jobs", json={"command": ["true"]})).status_code]
            await here.ask("alice", "POST", f"/jobs/{first}/cancel")
            await here.ended("alice", first)
            codes.append((await here.ask("alice", "POST", "/jobs", json={"command": ["true"]})).status_code)
            return codes

    assert within(work()) == [403, 201]


def test_owners_survive_a_dump_and_its_restore(
    embedded: Laboratory, short_folder: Path, tmp_path: Path
) -> None:
    one = Laboratory("embedded", embedded.flux, short_folder / "one", reached="embedded")
    other = Laboratory("embedded", embedded.flux, short_folder / "two", reached="embedded")
    dump = str(short_folder / "dump")

    async def before() -> tuple[str, str]:
        async with opened(tmp_path, spec_of(one)) as here:
            ended = await here.submit("alice", ["true"])
            waits = await here.submit("alice", ["true"], urgency=0)
            await here.ended("alice", ended)
            with one.connect() as instance:
                instance.life.dump(dump)
            return ended, waits

    async def afterwards(ids: tuple[str, str]) -> Any:
        async with opened(tmp_path, spec_of(other)) as here:
            raised = await here.ask("alice", "POST", f"/jobs/{ids[1]}/urgency", json={"urgency": 16})
            job = await here.ended("alice", ids[1])
            bobs = await here.ask("bob", "GET", f"/jobs/{ids[1]}")
            listed = await here.ask("alice", "GET", "/jobs")
            return raised.json(), job["result"], bobs.status_code, len(listed.json()["jobs"])

    try:
        one.start()
        ids = within(before())
        one.stop()
        other.start(f"-Scontent.restore={dump}")
        assert within(afterwards(ids)) == ({"urgency": 16, "before": 0}, "COMPLETED", 404, 2)
    finally:
        one.stop()
        other.stop()


def test_another_instance_of_the_same_name_has_none_of_the_jobs(
    embedded: Laboratory, short_folder: Path, tmp_path: Path
) -> None:
    one = Laboratory("embedded", embedded.flux, short_folder / "gone", reached="embedded")

    async def before() -> str:
        async with opened(tmp_path, spec_of(one)) as here:
            return await here.submit("alice", ["true"], urgency=0)

    async def afterwards(jobid: str) -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            job = await here.ended("alice", jobid)
            cancelled = await here.ask("alice", "POST", f"/jobs/{jobid}/cancel")
            return job["exception"]["type"], job["result"], cancelled.status_code

    try:
        one.start()
        jobid = within(before())
    finally:
        one.stop()
    assert within(afterwards(jobid)) == ("lost", "FAILED", 409)


def test_in_somebodys_own_cluster_all_jobs_are_his(embedded: Laboratory, tmp_path: Path) -> None:
    own = spec_of(embedded, tenancy=Tenancy.OWN, owner=USERS["alice"].user)

    async def work() -> Any:
        async with opened(tmp_path, own, grants=Nothing()) as here:
            jobid = f58(submitted_inside(embedded))
            job = await here.until("alice", jobid, lambda found: found.get("id"))
            bobs = [
                (await here.ask("bob", *request)).json()["detail"]
                for request in (("GET", "/jobs"), ("GET", f"/jobs/{jobid}"), ("GET", "/nodes"))
            ]
            return job["owner"], set(bobs)

    assert within(work()) == (USERS["alice"].user, {"there is no cluster 'mc'"})


class Nothing:
    """Grants of which there are none."""

    async def grants(self, user: str) -> dict[str, Any]:
        """Return what a user was granted."""
        return {}
