"""Jobs and nodes over /v1. The path is that of a service of one cluster, or below /clusters/NAME."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from restful.compat import job_attributes, search, submission
from restful.compat.answers import RESPONSES, CompatRoute, json_answer
from restful.compat.refusals import STOP, CompatRefusal
from restful.errors import HttpProblem
from restful.identity.principal import Principal
from restful.jobs.listing import ListingQuery
from restful.routes.access import requires
from restful.routes.admission import services_of
from restful.store.jobs import JobRecord

router = APIRouter(route_class=CompatRoute, tags=["v1"], responses=RESPONSES)

ReadingUser = Annotated[Principal, Depends(requires("jobs:read"))]
Submitting = Annotated[Principal, Depends(requires("jobs:submit"))]
Canceling = Annotated[Principal, Depends(requires("jobs:cancel"))]
Anyone = Annotated[Principal, Depends(requires("clusters:read"))]

MAX_LISTED = 1000
"""Jobs of one answer, the latest ones: as many as Flux lists by default."""
_TRUE = ("true", "1", "yes", "on")
_SUBMIT: dict[str, Any] = {
    "parameters": [
        {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}
        for name in submission.PARAMETERS
    ],
    "requestBody": {
        "required": False,
        "content": {"application/json": {"schema": {"type": "object"}}},
        "description": "The same parameters; they count where the query has them too.",
    },
}


async def cluster_of(request: Request, principal: Principal) -> str:
    """Return which cluster a request is about: that of its path, else the only one for this user."""
    named = request.path_params.get("cluster")
    if named is not None:
        return str(named)
    usable = [each.name for each in await services_of(request).views.clusters(principal)]
    if len(usable) == 1:
        return usable[0]
    if not usable:
        raise CompatRefusal(404, "There is no cluster that you may use.")
    host = f"{request.url.scheme}://{request.url.netloc}/clusters/{usable[0]}"
    raise CompatRefusal(
        409, f"There are several clusters: name one in the address, as {host}", fields={"Clusters": usable}
    )


@router.get("/jobs", summary="List jobs")
async def listing(request: Request, principal: ReadingUser) -> Response:
    """List your jobs, the latest first; with `details` by their ids, and with `listing` as a list again."""
    query = request.query_params
    details = _true(query.get("details")) or _true(query.get("detail"))
    limit = search.number(query.get("limit")) if details else None
    found = await _latest(request, principal, MAX_LISTED if limit is None else min(limit, MAX_LISTED))
    now = services_of(request).now()
    jobs = [job_attributes.attributes(job, now) for job in found]
    if not details:
        return json_answer({"jobs": jobs})
    return json_answer(jobs if _true(query.get("listing")) else {str(job["id"]): job for job in jobs})


@router.get("/jobs/search", summary="Search jobs, by pages")
async def searched(request: Request, principal: ReadingUser) -> Response:
    """Return a page of your jobs, as DataTables asks for it."""
    wanted, services = search.read(request.query_params), services_of(request)
    cluster = await cluster_of(request, principal)
    found = search.matching(await _latest(request, principal, search.needed(wanted, MAX_LISTED)), wanted)
    total = await services.jobs.count(principal, cluster, ListingQuery())
    return json_answer(search.answer(found, total, wanted, services.now()))


@router.post("/jobs/submit", summary="Submit a job", openapi_extra=_SUBMIT)
async def submit(request: Request, principal: Submitting) -> Response:
    """Submit a job, by parameters of the query or of a JSON body."""
    given = submission.parameters(request.query_params, await request.body())
    wanted = submission.submission(given)
    cluster = await cluster_of(request, principal)
    done = await services_of(request).jobs.submit(principal, cluster, wanted)
    return json_answer({"Message": "Job submit.", "id": done.id})


@router.get("/jobs/{jobid}", summary="One job")
async def job(request: Request, jobid: str, principal: ReadingUser) -> Response:
    """Return a job's attributes; null for a job that is not there, or not yours."""
    services, cluster = services_of(request), await cluster_of(request, principal)
    try:
        found = await services.jobs.get(principal, cluster, jobid)
    except HttpProblem as problem:
        if problem.type != "not-found":
            raise
        return json_answer(None)
    return json_answer(job_attributes.attributes(found, services.now()))


@router.post("/jobs/{jobid}/cancel", summary="Cancel a job")
async def cancel(request: Request, jobid: str, principal: Canceling) -> Response:
    """Ask the instance to cancel a job."""
    cluster = await cluster_of(request, principal)
    try:
        await services_of(request).jobs.cancel(principal, cluster, jobid)
    except HttpProblem as problem:
        if problem.type not in {"not-found", "ended", "conflict"}:
            raise
        raise CompatRefusal(
            400, f"Job cannot be cancelled: {problem.detail}.", fields={"id": jobid}
        ) from None
    return json_answer({"Message": "Job is requested to cancel.", "id": jobid})


@router.get("/nodes", summary="Nodes that are up")
async def nodes(request: Request, principal: Anyone) -> Response:
    """List the names of the nodes that are up."""
    found = await services_of(request).views.nodes(principal, await cluster_of(request, principal))
    return json_answer({"nodes": sorted(set(found.resources.ordinary.up.hosts))})


@router.post("/service/stop", summary="Not offered any more")
async def stop(principal: Anyone) -> Response:  # noqa: ARG001 - one has to log in
    """Refuse to stop the service."""
    raise CompatRefusal(410, STOP)


async def _latest(request: Request, principal: Principal, limit: int) -> list[JobRecord]:
    """Return the user's latest jobs, at most so many."""
    services, cluster = services_of(request), await cluster_of(request, principal)
    size = services.settings.requests.page
    found: list[JobRecord] = []
    cursor: str | None = ""
    while cursor is not None and len(found) < limit:
        query = ListingQuery(limit=max(1, min(size, limit - len(found))), cursor=cursor)
        page = await services.jobs.page(principal, cluster, query)
        found += page.records
        cursor = page.next
    return found[: max(0, limit)]


def _true(text: str | None) -> bool:
    return (text or "").lower() in _TRUE
