"""The nodes and queues of a cluster, and the numbers of jobs there; operators drain nodes and stop queues."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from restful.clusters.cluster import ServedCluster
from restful.clusters.views import ClusterJobCounts
from restful.errors import HttpProblem
from restful.identity.principal import Principal
from restful.jobs.schema import GivenReason
from restful.page import forms
from restful.page.browser_sessions import BrowserSession, LoggedIn, PostedForm, PostedHere
from restful.page.page_route import PageRoute, problem_of
from restful.page.responses import page, see_other, words
from restful.routes import nodes as node_routes
from restful.routes import queues as queue_routes
from restful.routes.admission import services_of
from restful.routes.parameters import NO_NUL
from restful.services import Services
from restful.store.job_counts import QueueDepth

router = APIRouter(route_class=PageRoute, include_in_schema=False)

MAX_NODES = 1000
"""Nodes on one page."""
ClusterName = Annotated[str, Query(max_length=255, pattern=NO_NUL)]
REASON = {"reason": "one line of text"}


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """A change of a node or a queue that was refused."""

    problem: HttpProblem
    target: str
    """The node's or the queue's name."""
    reason: str
    """What was filled in."""


@router.get("/nodes")
async def nodes(request: Request, session: LoggedIn, cluster: ClusterName = "") -> Response:
    """Show a cluster: the one that is named, else the first that one may use."""
    return await nodes_page(request, session, cluster)


@router.post("/nodes/drain")
async def drain(request: Request, sent: PostedHere) -> Response:
    """Give a node no new work."""
    change = services_of(request).views.drain
    return await _act(request, sent, "node", lambda: change(*_target(sent, "node"), _reason(sent).reason))


@router.post("/nodes/undrain")
async def undrain(request: Request, sent: PostedHere) -> Response:
    """Give a drained node work again."""
    change = services_of(request).views.undrain
    return await _act(request, sent, "node", lambda: change(*_target(sent, "node")))


@router.post("/queues/start")
async def start(request: Request, sent: PostedHere) -> Response:
    """Have a queue start jobs again."""
    change = services_of(request).views.start_queue
    return await _act(request, sent, "queue", lambda: change(*_target(sent, "queue"), start=True))


@router.post("/queues/stop")
async def stop(request: Request, sent: PostedHere) -> Response:
    """Have a queue start no more jobs."""
    change = partial(services_of(request).views.start_queue, start=False)
    return await _act(
        request, sent, "queue", lambda: change(*_target(sent, "queue"), reason=_reason(sent).reason)
    )


async def _act(
    request: Request, sent: PostedForm, kind: str, change: Callable[[], Awaitable[object]]
) -> Response:
    """Change a node or a queue, and show the cluster again. `change` also reads the form."""
    try:
        await change()
    except HttpProblem as problem:
        return await _refused(request, sent, kind, problem)
    return _changed(sent.form.one("cluster"), f"{kind}s")


def _target(sent: PostedForm, kind: str) -> tuple[Principal, str, str]:
    """Return who asks, the cluster, and the name of the node or queue."""
    return sent.session.principal, sent.form.one("cluster"), sent.form.one(kind)


@router.get("/nodes/drain")
@router.get("/nodes/undrain")
@router.get("/queues/start")
@router.get("/queues/stop")
async def again() -> Response:
    """Show the nodes to who comes here without a form."""
    return see_other("/nodes")


async def nodes_page(
    request: Request, session: BrowserSession, cluster: str, refused: RefusedChange | None = None
) -> Response:
    """Return the page of a cluster, with a change that was refused. Raises HttpProblem "not-found"."""
    services, principal = services_of(request), session.principal
    names = [each.name for each in await services.views.clusters(principal)]
    values: dict[str, Any] = {
        "session": session,
        "here": "/nodes",
        "clusters": names,
        "cluster": cluster or next(iter(names), ""),
        "found": None,
        "refused": refused,
        "problem": [],
    }
    if not values["cluster"]:
        return page("no_cluster.html", {"session": session, "title": "Nodes", "path": "/nodes"})
    chosen = await services.views.cluster(principal, values["cluster"])
    problem = refused.problem if refused is not None else None
    try:
        values["found"] = await _cluster_values(services, session, chosen)
    except Exception as error:
        problem = problem_of(error)
        if problem.type not in {"instance-away", "instance-refused", "busy"}:
            raise
    if problem is None:
        return page("nodes.html", values)
    values["problem"] = words(problem)
    return page("nodes.html", values, problem.status, problem.headers)


async def _cluster_values(
    services: Services, session: BrowserSession, cluster: ServedCluster
) -> dict[str, Any]:
    principal, name = session.principal, cluster.name
    scopes = await services.access.scopes(principal, cluster)
    found = node_routes.view(await services.views.nodes(principal, name))
    snapshot, _ = await services.views.queues(principal, name)
    jobs = await services.views.active_jobs(principal, name)
    return {
        "nodes": [{**each, "jobs": jobs.by_host.get(each["host"], 0)} for each in found["nodes"][:MAX_NODES]],
        "more": len(found["nodes"]) - MAX_NODES,
        "resources": found["resources"],
        "queues": [_queue_row(queue_routes.view(each), each.name, jobs) for each in snapshot.queues],
        "numbers": await queue_routes.numbers(services, principal, name),
        "everybody": jobs.everybody,
        "may_drain": "nodes:drain" in scopes,
        "may_stop": "queues:manage" in scopes,
    }


def _queue_row(shown: dict[str, Any], name: str, jobs: ClusterJobCounts) -> dict[str, Any]:
    depth = jobs.by_queue.get(name, QueueDepth())
    return {**shown, "pending": depth.pending, "running": depth.running}


def _reason(sent: PostedForm) -> GivenReason:
    return forms.validated(GivenReason, {"reason": sent.form.one("reason").strip()}, REASON)


async def _refused(request: Request, sent: PostedForm, kind: str, problem: HttpProblem) -> Response:
    change = RefusedChange(problem, sent.form.one(kind)[:300], sent.form.one("reason")[:300])
    return await nodes_page(request, sent.session, sent.form.one("cluster"), change)


def _changed(cluster: str, part: str) -> Response:
    return see_other(f"/nodes?{urlencode({'cluster': cluster})}#{part}")
