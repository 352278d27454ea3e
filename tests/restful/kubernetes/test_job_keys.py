"""The keys for leads: read, read again when they are refused, and for a while the former ones as well."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.kube_client.errors import ApiError, ApiUnreachableError
from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import JOBS, PurposeKeys
from minicluster.lead_client.renewed_keys import FORMER_LIFE
from restful.kubernetes import job_keys
from restful.kubernetes.job_keys import JobKeys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.kube_client.objects import Object
    from minicluster.kube_client.resources import Resource

AUTHORITY = LeadAuthority.make()
FIRST, SECOND = (AUTHORITY.purpose(JOBS, generation) for generation in (1, 2))


class Answers:
    """An API server that answers each read with the next of these; at last for ever with the last."""

    def __init__(self, *answers: PurposeKeys | Exception | dict[str, Any]) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, str]] = []
        self.exhausted = asyncio.Event()

    async def read(self, resource: Resource, namespace: str, name: str) -> Object:
        self.asked.append((namespace, name))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if len(self.asked) >= 2 and len(self._answers) == 1:
            self.exhausted.set()
        if isinstance(answer, Exception):
            raise answer
        return answer.secret("system") if isinstance(answer, PurposeKeys) else answer


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(job_keys, "RETRY_DELAY", 0.0)
    return None


async def kept(answers: Answers, clock: list[float], *, refusals: int = 0) -> tuple[JobKeys, int]:
    """Return the keys once everything was answered, and how often there were others."""
    renewed: list[None] = []
    keys = JobKeys(answers, ("system", "minicluster-jobs"), lambda: renewed.append(None), lambda: clock[0])
    task = asyncio.create_task(keys.keep())
    async with asyncio.timeout(60):
        while not keys.current and not keys.trouble.startswith("Secret"):
            await asyncio.sleep(0)
        for _ in range(refusals):
            await asyncio.to_thread(keys.refused)  # as the threads that connect do
        if refusals:
            await answers.exhausted.wait()
    await asyncio.sleep(0)
    task.cancel()
    return keys, len(renewed)


def test_they_are_the_operators() -> None:
    async def work() -> None:
        answers = Answers(FIRST)
        keys, renewed = await kept(answers, [0.0])
        assert (keys.current, keys.trouble, renewed) == ((FIRST,), "", 1)
        assert answers.asked[0] == ("system", "minicluster-jobs")

    asyncio.run(work())


def test_after_a_refusal_they_are_read_again_and_the_former_ones_are_shown_for_a_while() -> None:
    async def work() -> None:
        clock = [1000.0]
        keys, renewed = await kept(Answers(FIRST, SECOND), clock, refusals=1)
        assert (keys.current, renewed) == ((SECOND, FIRST), 2)
        clock[0] += FORMER_LIFE + 1
        assert keys.current == (SECOND,)

    asyncio.run(work())


def test_the_same_keys_again_are_no_news() -> None:
    async def work() -> None:
        keys, renewed = await kept(Answers(FIRST, FIRST), [0.0], refusals=1)
        assert (keys.current, renewed) == ((FIRST,), 1)

    asyncio.run(work())


FORBIDDEN = 'secrets "minicluster-jobs" is forbidden: User "rest" cannot get resource "secrets"'
NAMED = "Secret system/minicluster-jobs with the keys for leads"
TROUBLES: dict[str, tuple[Exception | dict[str, Any], str]] = {
    "missing": (ApiError(404, "NotFound", "not found"), f"{NAMED} is missing: the operator makes it"),
    "no right": (
        ApiError(403, "Forbidden", FORBIDDEN), f"{NAMED} cannot be used: 403 Forbidden: {FORBIDDEN}",
    ),
    "no API server": (ApiUnreachableError("no answer"), f"{NAMED} cannot be used: no answer"),
    "empty": ({"data": {}}, f"{NAMED} cannot be used: jobs.key is missing"),
    "damaged": (
        {"data": {"jobs.key": "eA==", "ca.crt": "eA=="}}, f"{NAMED} cannot be used: they are damaged",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "message"), TROUBLES.values(), ids=TROUBLES)
def test_without_keys_the_reason_is_known(
    answer: Exception | dict[str, Any], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        keys, _ = await kept(Answers(answer), [0.0])
        assert (keys.current, keys.trouble) == ((), message)

    asyncio.run(work())
    assert [each.getMessage() for each in caplog.records if each.name == "restful.kubernetes"] == [message]


def test_keys_that_are_there_go_on_while_the_secret_cannot_be_read() -> None:
    async def work() -> None:
        keys, _ = await kept(Answers(FIRST, ApiUnreachableError("no answer")), [0.0], refusals=1)
        assert keys.current == (FIRST,)

    asyncio.run(work())
