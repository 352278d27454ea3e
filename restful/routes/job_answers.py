"""Jobs as the routes answer them: as JSON, with the names of their owners."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic_core import to_json
from starlette.responses import Response

from restful.jobs.views import encoded, encoded_row
from restful.routes.admission import services_of
from restful.store.jobs import NOBODY

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.requests import Request

    from minicluster.instance.records import BurstSummary
    from restful.jobs.pages import Page
    from restful.store.jobs import JobRecord

MEDIA_TYPE = "application/json"


async def job_answer(
    request: Request, record: JobRecord, cluster: str, status: int = 200, burst: BurstSummary | None = None
) -> Response:
    """Return the answer with one job."""
    names = await owner_names(request, {record.owner})
    return Response(encoded(record, cluster, names.get(record.owner), burst), status, media_type=MEDIA_TYPE)


async def page_answer(request: Request, page: Page, cluster: str) -> Response:
    """Return the answer with a page of jobs."""
    names = await owner_names(request, page.owners)
    return Response(_encoded(page, cluster, tuple(names.items())), media_type=MEDIA_TYPE)


@lru_cache(maxsize=32)
def _encoded(page: Page, cluster: str, owner_names: tuple[tuple[str, str], ...]) -> bytes:
    """Return a page as JSON: one that was kept is asked for again."""
    names = dict(owner_names)
    jobs = b",".join([encoded_row(each, cluster, names.get(each.owner)) for each in page.rows])
    return b'{"jobs":[' + jobs + b'],"next":' + to_json(page.next) + b"}"


async def owner_names(request: Request, owners: Collection[str]) -> dict[str, str]:
    """Return the names of the owners who are users still, by their ids."""
    identities, found = services_of(request).identities, {}
    for owner in owners:
        if owner == NOBODY:
            continue
        user = await identities.authority.user(owner) if identities is not None else None
        if user is not None:
            found[owner] = user.name
    return found
