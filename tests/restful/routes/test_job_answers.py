"""Jobs as they are answered: with their owners' names, and as they are now."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.restful.jobs.service import spec_of, within
from tests.restful.page import service

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory

JOBS = "/v2/clusters/mc/jobs"


def test_a_job_has_the_name_of_its_owner_while_he_is_there(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path, spec_of(embedded)) as here:
            alice = await here.users.add_user("alice")
            await here.users.ensure_admin("root")
            headers = {name: await here.users.headers(name) for name in ("alice", "root")}
            client = here.users.client
            for cluster in here.services.clusters:
                await asyncio.wait_for(cluster.caught_up.wait(), 60)
            body = {"command": ["true"], "urgency": 0, "name": "named"}
            job = (await client.post(JOBS, json=body, headers=headers["alice"])).json()["id"]
            query = {"owner": "*", "name": "named"}

            async def names() -> list[str | None]:
                listed = await client.get(JOBS, params=query, headers=headers["root"])
                one = await client.get(f"{JOBS}/{job}", headers=headers["root"])
                return [*(each["owner_name"] for each in listed.json()["jobs"]), one.json()["owner_name"]]

            found = [await names()]
            await client.delete(f"/v2/users/{alice.id}", headers=headers["root"])
            found.append(await names())
            canceled = await client.post(f"{JOBS}/{job}/cancel", headers=headers["root"])
            return found, canceled.json()["owner_name"]

    found, canceled = within(work())
    assert found == [["alice", "alice"], [None, None]]
    assert canceled is None
