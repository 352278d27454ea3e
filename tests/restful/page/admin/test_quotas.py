"""Quotas by the pages for admins, and what is used of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from restful.jobs.quota import Quota, Use
from restful.jobs.reserved import QuotaUse
from restful.page import quota_rows
from restful.store.quotas import AppliedQuota
from tests.restful.identity.service import within
from tests.restful.page.roles import browsers, csrf

if TYPE_CHECKING:
    from pathlib import Path

GOOD = {
    "cluster": "*", "subject": "everyone", "name": "", "jobs": "10", "queued_jobs": "", "nodes": "4",
    "node_hours": "100.5", "days": "1.5",
}  # fmt: skip


def test_a_quota_is_made_changed_and_removed(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            root = found["root"]
            made = await root.fill("/admin/quotas", "/admin/quotas", **GOOD)
            assert (made.status_code, made.headers["location"]) == (303, "/admin/quotas")
            text = (await root.get("/admin/quotas")).text
            assert "10 jobs that have not ended, 4 nodes, 100.5 node-hours in 1.5 days" in text
            path = re.findall(r'href="(/admin/quotas/\w+)"', text)[0]
            text = (await root.get(path)).text
            assert ('value="100.5"' in text, 'value="1.5"' in text) == (True, True)
            form = {**GOOD, "jobs": "", "node_hours": ""}
            changed = await root.fill(path, f"{path}/change", **form)
            assert (changed.status_code, changed.headers["location"]) == (303, "/admin/quotas")
            assert '<td data-label="At most">4 nodes</td>' in (await root.get("/admin/quotas")).text
            removed = await root.fill("/admin/quotas", f"{path}/delete")
            assert (removed.status_code, removed.headers["location"]) == (303, "/admin/quotas")
            gone = await root.get(path)
            assert (gone.status_code, "There is no such quota." in gone.text) == (404, True)
            again = await root.send(f"{path}/delete", csrf=await csrf(root))
            assert again.status_code == 404
            assert [each for each, _ in await page.users.audit()] == [
                "quota.create", "quota.change", "quota.delete",
            ]  # fmt: skip

    within(test())


WRONG = [
    ({"jobs": "-1"}, 422, 'id="new-jobs-error">Input should be greater than or equal to 0.'),
    ({"nodes": "many"}, 422, 'id="new-nodes-error">Input should be a valid integer'),
    ({"node_hours": "x"}, 422, 'id="new-node_hours-error">A number from 0 on is needed.'),
    ({"node_hours": "-1"}, 422, 'id="new-node_hours-error">A number from 0 on is needed.'),
    ({"node_hours": "inf"}, 422, 'id="new-node_hours-error">A number from 0 on is needed.'),
    ({"days": "0.9"}, 422, 'id="new-days-error">A number from 1 to 3660 is needed.'),
    ({"days": "3661"}, 422, 'id="new-days-error">A number from 1 to 3660 is needed.'),
    ({"days": ""}, 422, 'id="new-days-error">A number from 1 to 3660 is needed.'),
    ({"days": "nan"}, 422, 'id="new-days-error">A number from 1 to 3660 is needed.'),
    ({"cluster": "absent"}, 422, 'id="new-cluster-error">There is no cluster &#39;absent&#39;'),
    ({"subject": "user", "name": "bob"}, 422, 'id="new-name-error">There is no user &#39;bob&#39;.'),
]


def test_a_quota_is_refused_in_words(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            for form, status, error in WRONG:
                answer = await found["root"].fill("/admin/quotas", "/admin/quotas", **{**GOOD, **form})
                assert (answer.status_code, error in answer.text) == (status, True), answer.text

    within(test())


def test_a_second_quota_for_the_same_jobs_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            await found["root"].fill("/admin/quotas", "/admin/quotas", **GOOD)
            answer = await found["root"].fill("/admin/quotas", "/admin/quotas", **GOOD)
            assert answer.status_code == 409
            assert "There is a quota for these jobs already: change that one." in answer.text

    within(test())


def test_what_is_used_of_a_quota() -> None:
    limits = Quota(jobs=10, nodes=4, node_seconds=36_000.0, window=7 * 86_400.0)
    use = Use(jobs=5, queued=1, nodes=4, committed=7200.0, spent=1800.0)
    found = quota_rows.rows(QuotaUse(AppliedQuota("*", "group", "physics", limits), use))
    assert [each[:6] for each in found] == [
        ("Jobs that have not ended", "all clusters", "group physics", "5", "10", "50.00%"),
        ("Nodes of these jobs", "all clusters", "group physics", "4", "4", "100.00%"),
        (
            "Node-hours in 7 days, with what these jobs may use",
            *("all clusters", "group physics", "2.5", "10", "25.00%"),
        ),
    ]
    assert [each.full for each in found] == [False, True, False]


def test_a_job_without_a_time_limit_may_use_all() -> None:
    limits = Quota(node_seconds=36_000.0)
    found = quota_rows.rows(QuotaUse(AppliedQuota("mc", "user", None, limits), Use(committed=float("inf"))))
    used = "0, and a job without a time limit has not ended"
    assert (found[0].used, found[0].fraction, found[0].full) == (used, "100.00%", True)
