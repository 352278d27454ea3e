"""Who gets what of whom: every route, by everybody, about everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from restful.clusters.spec import Tenancy
from tests.restful.authorization import scenarios
from tests.restful.authorization.expectations import expected, of_clusters
from tests.restful.authorization.matrix import Matrix
from tests.restful.authorization.routes import NOT_ASKED, ROWS, STATIC, Kind
from tests.restful.authorization.served_routes import documented, served
from tests.restful.authorization.service import opened
from tests.restful.authorization.users import Asker
from tests.restful.identity.service import within

if TYPE_CHECKING:
    from pathlib import Path


def test_each_route_has_its_row(tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(tmp_path) as here:
            found = {key for key in served(here.app) if not key[1].startswith(STATIC)}
            assert found - set(NOT_ASKED) == {key for key in ROWS if "#" not in key[1]}
            assert documented(here.app) <= found

    within(work())


@pytest.mark.parametrize("tenancy", list(Tenancy))
def test_each_asker_gets_what_the_table_has(tmp_path: Path, tenancy: Tenancy) -> None:
    async def work() -> tuple[list[str], int]:
        async with opened(tmp_path, tenancy) as here:
            matrix = Matrix(here, tenancy)
            keys = [key for key, row in ROWS.items() if tenancy is Tenancy.SHARED or of_clusters(row.kind)]
            return [each async for each in matrix.mismatches(keys)], matrix.asked

    mismatches, asked = within(work())
    assert mismatches == []
    assert asked > 1500


def test_what_one_request_does_not_show(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with opened(tmp_path) as here:
            return [each async for each in scenarios.mismatches(here)]

    assert within(work()) == []


def test_each_kind_is_in_the_table() -> None:
    for tenancy in Tenancy:
        for kind in Kind:
            for asker in Asker:
                assert len(expected(tenancy, kind, asker)) == 3
