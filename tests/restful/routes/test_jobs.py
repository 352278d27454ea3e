"""The routes of jobs: what they answer to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.jobid import f58plain, kvs, parse
from restful.jobs.quota import Quota
from restful.store import quotas
from restful.store.audit import AUDIT
from restful.store.quotas import QuotaRecord
from tests.restful.jobs.service import USERS, C, Service, opened, spec_of, within

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory

OTHERS = [
    ("GET", "/jobs/{id}"), ("GET", "/jobs/{id}/jobspec"), ("GET", "/jobs/{id}/why"),
    ("POST", "/jobs/{id}/cancel"), ("POST", "/jobs/{id}/kill"),
]  # fmt: skip


def test_a_job_of_somebody_else_is_as_one_that_is_not_there(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> list[tuple[Any, Any]]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = await here.submit("alice", ["true"], urgency=0)
            answers = []
            for method, path in OTHERS:
                pair = []
                for each in (jobid, "ƒ2oVwY1"):
                    answer = await here.ask("bob", method, path.format(id=each))
                    text = answer.text.replace(each, "ID").replace(f58plain(parse(each)), "ID")
                    pair.append((answer.status_code, text))
                answers.append((pair[0], pair[1]))
            await here.ask("alice", "POST", f"/jobs/{jobid}/cancel")
            return answers

    for others, absent in within(work()):
        assert others == absent
        assert others[0] == 404


def test_an_operator_reads_and_cancels_jobs_of_others_and_it_is_recorded(
    embedded: Laboratory, tmp_path: Path
) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = await here.submit("alice", ["true"], urgency=0)
            codes = [
                (await here.ask("olga", "GET", f"/jobs/{jobid}")).status_code,
                (await here.ask("olga", "GET", f"/jobs/{jobid}")).status_code,
                (await here.ask("olga", "POST", f"/jobs/{jobid}/cancel")).status_code,
            ]
            return codes, await actions(here)

    codes, recorded = within(work())
    assert codes == [200, 200, 202]
    assert recorded == [("alice", "job.submit"), ("olga", "job.read"), ("olga", "job.cancel")]


async def actions(here: Service) -> list[tuple[str, str]]:
    """Return who did what, as the audit log has it."""
    names = {each.user: name for name, each in USERS.items()}
    async with here.services.database.read() as connection:
        rows = await connection.execute(AUDIT.select().order_by(AUDIT.c.id))
    return [(names[row.actor], row.action) for row in rows]


def test_ids_are_accepted_in_every_form(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> set[str]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = await here.submit("alice", ["true"])
            number = parse(jobid)
            forms = (jobid, f58plain(number), str(number), kvs(number), f"{number:#x}")
            found = [(await here.ask("alice", "GET", f"/jobs/{form}")).json() for form in forms]
            assert {job["number"] for job in found} == {str(number)}
            return {job["id"] for job in found} - {jobid}

    assert within(work()) == set()


def test_the_same_key_gives_the_same_job_and_another_body_is_refused(
    embedded: Laboratory, tmp_path: Path
) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            key = {"Idempotency-Key": "k1"}
            sent = {"command": ["true"], "tasks": 1}
            first = await here.ask("alice", "POST", "/jobs", json=sent, headers=key)
            second = await here.ask("alice", "POST", "/jobs", json=dict(reversed(sent.items())), headers=key)
            bobs = await here.ask("bob", "POST", "/jobs", json=sent, headers=key)
            other = await here.ask("alice", "POST", "/jobs", json={**sent, "tasks": 2}, headers=key)
            bad = await here.ask("alice", "POST", "/jobs", json=sent, headers={"Idempotency-Key": "x" * 256})
            return first, second, bobs, other, bad

    first, second, bobs, other, bad = within(work())
    assert first.json() == second.json() != bobs.json()
    assert (first.headers["location"], "idempotency-replayed" in first.headers) == (
        f"{C}/jobs/{f58plain(parse(first.json()['id']))}", False,
    )  # fmt: skip
    assert second.headers["idempotency-replayed"] == "true"
    assert (other.status_code, other.json()["errors"][0]["path"]) == (422, "Idempotency-Key")
    assert "take a new one for each job" in other.json()["detail"]
    assert "1 to 255 printable characters" in bad.json()["detail"]


REFUSED = {
    "no JSON": ({"content": b"{"}, 400, "malformed", "the body is no JSON"),
    "a field": ({"json": {"command": ["a"], "tasks": 0}}, 422, "invalid", "tasks: "),
    "what the instance refuses": ({"json": {"command": ["a"], "queue": "nope"}}, 422, "invalid", "nope"),
    "urgency": ({"json": {"command": ["a"], "urgency": 17}}, 422, "invalid", "is at most 16 here, not 17"),
    "a dependency": (
        {"json": {"command": ["a"], "dependencies": ["afterok:ƒ2oVwY1"]}},
        422,
        "invalid",
        "no job 'ƒ2oVwY1'",
    ),
    "a scheme": (
        {"json": {"command": ["a"], "dependencies": ["singleton:x"]}},
        422,
        "invalid",
        "not offered",
    ),
}


def test_a_submission_is_refused_and_leaves_no_reservation(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            answers = [await here.ask("alice", "POST", "/jobs", **sent) for sent, *_ in REFUSED.values()]
            cluster = next(iter(here.services.clusters))
            async with here.services.database.write() as connection:
                await quotas.add(connection, QuotaRecord("Q1", cluster.name, Quota(jobs=0)))
            answers.append(await here.ask("alice", "POST", "/jobs", json={"command": ["true"]}))
            return answers

    *answers, quota = within(work())
    for answer, (_, status, kind, words) in zip(answers, REFUSED.values(), strict=True):
        found = answer.json()
        assert (answer.status_code, found["type"]) == (status, f"/problems/{kind}"), found
        assert words in found["detail"]
    assert (quota.status_code, quota.json()["detail"][:40]) == (
        403,
        "quota of 0 jobs at a time: 0 have not en",
    )


def test_a_dependency_on_a_job_of_somebody_else_is_refused(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> tuple[int, str]:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = await here.submit("alice", ["true"])
            mine = await here.ask(
                "alice", "POST", "/jobs", json={"command": ["true"], "dependencies": [f"afterok:{jobid}"]}
            )
            bobs = await here.ask(
                "bob", "POST", "/jobs", json={"command": ["true"], "dependencies": [f"afterok:{jobid}"]}
            )
            return mine.status_code, bobs.json()["detail"].replace(jobid, "ID")

    assert within(work()) == (201, "dependencies: there is no job 'ID' here")


def test_a_listing_is_filtered_and_paged(embedded: Laboratory, tmp_path: Path) -> None:
    called = f"{tmp_path.name}-page"  # other tests have their jobs in the same instance

    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            for number in range(5):
                await here.submit("alice", ["true"], urgency=0, name=f"{called}{number}")
            await here.submit("bob", ["true"], name=f"{called}9")
            pages: list[list[str]] = []
            cursors: list[str | None] = [""]
            while cursors[-1] is not None:
                query = {"name": f"{called}*", "state": "pending", "limit": 2, "cursor": cursors[-1]}
                page = (await here.ask("alice", "GET", "/jobs", params=query)).json()
                pages.append([job["name"].removeprefix(called) for job in page["jobs"]])
                cursors.append(page["next"])
            other = {"cursor": cursors[1], "name": "other"}
            wrong = await here.ask("alice", "GET", "/jobs", params=other)
            counts = [
                len((await here.ask(user, "GET", "/jobs", params=query)).json()["jobs"])
                for user, query in (
                    ("alice", {"name": f"{called}1"}),
                    ("alice", {"name": f"{called}?", "state": "inactive,run"}),
                    ("alice", {"queue": "none"}),
                    ("alice", {"until": 1.0}),
                    ("olga", {"owner": "*", "name": f"{called}*"}),
                    ("olga", {"owner": USERS["bob"].user, "name": f"{called}*"}),
                    ("olga", {"name": f"{called}*"}),
                )
            ]
            await here.ask("alice", "POST", "/jobs:cancel", json={"filter": {"name": f"{called}*"}})
            return pages, wrong, counts

    pages, wrong, counts = within(work())
    assert pages == [["4", "3"], ["2", "1"], ["0"]]
    assert counts == [1, 0, 0, 0, 6, 1, 0]
    assert (wrong.status_code, wrong.json()["type"]) == (400, "/problems/cursor")


BAD_QUERIES = {
    "state": ({"state": "asleep"}, 422, "'asleep' is no state of a job; there are depend,"),
    "result": ({"result": "fine"}, 422, "'fine' is no result of a job; there are completed,"),
    "limit": ({"limit": 501}, 422, "limit is 1 to 500, not 501"),
    "since": ({"since": "yesterday"}, 422, "since: "),
    "cursor": ({"cursor": "x"}, 400, "cursor: take it unchanged from `next`"),
    "owner": ({"owner": "*"}, 403, "owner: others' jobs need the scope jobs:read:all"),
}


def test_a_listing_refuses_what_it_does_not_know(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            return [
                await here.ask("alice", "GET", "/jobs", params=query) for query, *_ in BAD_QUERIES.values()
            ]

    for answer, (_, status, words) in zip(within(work()), BAD_QUERIES.values(), strict=True):
        assert answer.status_code == status
        assert words in answer.json()["detail"]


def test_many_jobs_are_cancelled_each_with_its_own_outcome(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            mine = [await here.submit("alice", ["true"], urgency=0) for _ in range(3)]
            bobs = await here.submit("bob", ["true"], urgency=0)
            ended = await here.submit("alice", ["true"])
            await here.ended("alice", ended)
            ids = [*mine[:2], bobs, ended, "x"]
            answer = await here.ask("alice", "POST", "/jobs:cancel", json={"ids": ids})
            rest = await here.ask("alice", "POST", "/jobs:cancel", json={"filter": {"state": ["pending"]}})
            neither = await here.ask("alice", "POST", "/jobs:cancel", json={})
            many = await here.ask("alice", "POST", "/jobs:cancel", json={"ids": ["1"] * 1001})
            await here.ask("bob", "POST", f"/jobs/{bobs}/cancel")
            return mine, answer, rest, neither, many

    mine, answer, rest, neither, many = within(work())
    assert answer.status_code == 207
    assert [each["status"] for each in answer.json()["results"]] == [202, 202, 404, 409, 404]
    assert mine[2] in [each["id"] for each in rest.json()["results"]]
    assert neither.json()["detail"] == "the body: give one of ids and filter"
    assert many.json()["detail"] == "one request cancels at most 1000 jobs"


def test_signals_and_urgencies(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            waits = await here.submit("alice", ["sleep", "60"], urgency=0)
            why = (await here.ask("alice", "GET", f"/jobs/{waits}/why")).json()["why"]
            early = await here.ask("alice", "POST", f"/jobs/{waits}/kill")
            high = await here.ask("alice", "POST", f"/jobs/{waits}/urgency", json={"urgency": 20})
            raised = await here.ask("olga", "POST", f"/jobs/{waits}/urgency", json={"urgency": 20})
            await here.until("alice", waits, lambda job: job["state"] == "RUN")
            late = await here.ask("alice", "POST", f"/jobs/{waits}/urgency", json={"urgency": 10})
            unknown = await here.ask("alice", "POST", f"/jobs/{waits}/kill", json={"signal": "SEGV"})
            killed = await here.ask("alice", "POST", f"/jobs/{waits}/kill", json={"signal": "KILL"})
            job = await here.ended("alice", waits)
            ended = await here.ask("alice", "POST", f"/jobs/{waits}/cancel")
            return why, early, high, raised, late, unknown, killed, job, ended

    why, early, high, raised, late, unknown, killed, job, ended = within(work())
    assert "urgency" in why or "held" in why
    assert [each.status_code for each in (early, high, raised, late, unknown, killed, ended)] == [
        409, 403, 200, 409, 422, 202, 409,
    ]  # fmt: skip
    assert "needs the scope jobs:urgency" in high.json()["detail"]
    assert "has ended" in ended.json()["detail"]
    assert job["returncode"] == 128 + 9


def test_a_jobspec_is_shown_without_environment_and_mark(embedded: Laboratory, tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = await here.submit("alice", ["true"], environment={"SECRET": "s3cret"})
            return await here.ask("alice", "GET", f"/jobs/{jobid}/jobspec")

    answer = within(work())
    assert answer.json()["tasks"][0]["command"] == ["true"]
    assert "s3cret" not in answer.text
    assert answer.json()["attributes"]["user"] == {}


@pytest.mark.parametrize(("tasks", "feasible"), [(4, True), (400, False)])
def test_a_job_is_checked_without_being_submitted(
    embedded: Laboratory, tmp_path: Path, tasks: int, feasible: bool
) -> None:
    async def work() -> Any:
        async with opened(tmp_path, spec_of(embedded)) as here:
            sent = {"command": ["true"], "tasks": tasks, "environment": {"SECRET": "s3cret"}}
            answer = await here.ask("alice", "POST", "/jobs:validate", json=sent)
            return answer, (await here.ask("alice", "GET", "/jobs")).json()["jobs"]

    answer, jobs = within(work())
    found = answer.json()
    assert (found["feasible"], bool(found["reason"]), jobs) == (feasible, not feasible, [])
    assert "s3cret" not in answer.text


def test_a_job_gets_nothing_of_the_service(
    embedded: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", "c4n4ry")

    async def work() -> bytes:
        async with opened(tmp_path, spec_of(embedded)) as here:
            jobid = await here.submit("alice", ["sh", "-c", "pwd; env; cat"], input="typed")
            await here.ended("alice", jobid)
        with embedded.connect() as instance, instance.jobs.output(parse(jobid)) as output:
            return b"".join(chunk.data for chunk in output)

    lines = within(work()).decode().splitlines()
    assert (lines[0], lines[-1]) == ("/tmp", "typed")
    assert "LANG=C.UTF-8" in lines
    assert not any("c4n4ry" in line for line in lines)
