"""Who gets what of whom: every route, by everybody, about everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from restful.clusters.spec import Tenancy
from tests.restful.authorization import scenarios
from tests.restful.authorization.expectations import WITHOUT_ROW, expected, kinds, of_clusters
from tests.restful.authorization.matrix import Matrix
from tests.restful.authorization.routes import ROWS, STATIC, Kind
from tests.restful.authorization.served_routes import documented, served
from tests.restful.authorization.service import opened
from tests.restful.authorization.users import Asker
from tests.restful.identity.service import within
from tests.restful.owasp.answer_headers import AnswerHeaders
from tests.restful.owasp.documented_answers import DocumentedAnswers

if TYPE_CHECKING:
    from pathlib import Path

    from tests.restful.authorization.matrix import Case
    from tests.restful.authorization.requests import Answer, Sent

LONG = 300
"""Seconds for thousands of requests on a machine that others use."""


def test_each_route_has_its_row(tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(tmp_path) as here:
            found = {key for key in served(here.app) if not key[1].startswith(STATIC)}
            assert found == {key for key in ROWS if "#" not in key[1]}
            assert documented(here.app) <= found

    within(work())


@pytest.mark.timeout(LONG)
def test_each_asker_gets_what_the_table_has(tmp_path: Path) -> None:
    """Every answer is as the OpenAPI document has it, with its headers (OWASP API1:2023, API3:2023, API8)."""
    answer_headers = AnswerHeaders()

    async def work() -> tuple[list[str], Matrix, DocumentedAnswers]:
        async with opened(tmp_path) as here:
            documented_answers = DocumentedAnswers(here)

            def observe(case: Case, sent: Sent, answer: Answer) -> None:
                documented_answers.observe(case, sent, answer)
                answer_headers.observe(case, answer)

            matrix = Matrix(here, Tenancy.SHARED, observe)
            return [each async for each in matrix.mismatches()], matrix, documented_answers

    mismatches, matrix, documented_answers = within(work(), LONG)
    assert mismatches == []
    assert sorted(documented_answers.wrong) == []
    assert sorted(answer_headers.wrong) == []
    assert {200, 201, 204, 303, 401, 403, 404, 422} <= answer_headers.statuses
    assert matrix.asked > 3000
    assert len(documented_answers.checked) > 100


@pytest.mark.timeout(LONG)
def test_each_asker_gets_what_the_table_of_own_clusters_has(tmp_path: Path) -> None:
    async def work() -> tuple[list[str], int]:
        async with opened(tmp_path, Tenancy.OWN) as here:
            matrix = Matrix(here, Tenancy.OWN)
            keys = [key for key, row in ROWS.items() if of_clusters(row.kind)]
            return [each async for each in matrix.mismatches(keys)], matrix.asked

    mismatches, asked = within(work(), LONG)
    assert mismatches == []
    assert asked > 1500


def test_what_one_request_does_not_show(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with opened(tmp_path) as here:
            return [each async for each in scenarios.mismatches(here)]

    assert within(work()) == []


@pytest.mark.parametrize("tenancy", list(Tenancy))
def test_each_kind_is_in_the_table_once(tenancy: Tenancy) -> None:
    assert sorted(kinds(tenancy)) == sorted(set(Kind) - WITHOUT_ROW)
    answers = {answer for kind in Kind for asker in Asker for answer in expected(tenancy, kind, asker)}
    assert answers <= {"ok", "nil", "any", *map(str, range(300, 500))}


def test_each_kind_has_a_route() -> None:
    assert {row.kind for row in ROWS.values()} == set(Kind)
