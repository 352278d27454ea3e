"""The routes of /v1: at the root for a service of one cluster, below /clusters/NAME for each of several."""

from fastapi import APIRouter

from restful.compat import jobs, output, tokens

router = APIRouter()
for each in (tokens.router, jobs.router, output.router):
    router.include_router(each, prefix="/v1")
_below_clusters = APIRouter(prefix="/clusters/{cluster}/v1", include_in_schema=False)
for each in (tokens.router, jobs.router, output.router):
    _below_clusters.include_router(each)
router.include_router(_below_clusters)
