"""Authorization of users: by SubjectAccessReviews at the API server, with a short-lived cache."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from metrics_api.answers.errors import ForbiddenError, UnavailableError
from metrics_api.answers.queries import RequestAttributes
from minicluster.kube_client.errors import AccessError, ApiError, ApiUnreachableError
from minicluster.kube_client.resources import ACCESS_REVIEWS
from minicluster.lead_server.routes import MASTERS

if TYPE_CHECKING:
    from minicluster.kube_client.objects import Object
    from minicluster.lead_server.routes import Identity

HOLDS = 10.0
"""Seconds for which an answer is cached, as in the API servers' own libraries."""
MAX_ANSWERS = 10_000
"""Answers that are cached."""
EVERYTHING = "*"


class Reviewing(Protocol):
    """The part of a client that this needs."""

    async def review(self, item: Object) -> Object:
        """Create a review, and return it with its result."""
        ...


class Authorization:
    """Checks users' rights, and caches the answers."""

    def __init__(self, api: Reviewing) -> None:
        self._api = api
        self._known: dict[tuple[Identity, RequestAttributes], tuple[float, bool]] = {}
        self._asking: dict[tuple[Identity, RequestAttributes], asyncio.Task[bool]] = {}

    async def check(self, who: Identity, what: RequestAttributes) -> None:
        """Raise ForbiddenError if the user may not do this, UnavailableError if that cannot be found out.

        A user who may read all of a group in all namespaces, as the autoscaler may, needs one review for all
        requests. The API server has authorized each request before it passed it on.
        """
        if MASTERS in who.groups:
            return
        if what.resource and await self._may(who, _everything(what)):
            return
        if not await self._may(who, what):
            raise ForbiddenError(_refusal(who, what))

    async def _may(self, who: Identity, what: RequestAttributes) -> bool:
        key = who, what
        now = asyncio.get_running_loop().time()
        until, allowed = self._known.get(key, (0.0, False))
        if now < until:
            return allowed
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._ask(who, what))
            asking.add_done_callback(lambda _: self._asking.pop(key))
        allowed = await asyncio.shield(asking)
        if len(self._known) >= MAX_ANSWERS:
            self._known = {key: each for key, each in self._known.items() if now < each[0]}
        if len(self._known) < MAX_ANSWERS:
            self._known[key] = now + HOLDS, allowed
        return allowed

    async def _ask(self, who: Identity, what: RequestAttributes) -> bool:
        try:
            found = await self._api.review(review(who, what))
        except (ApiError, ApiUnreachableError, AccessError) as error:
            raise UnavailableError(f"the API server does not say who may do this: {error}") from error
        return (found.get("status") or {}).get("allowed") is True


def review(who: Identity, what: RequestAttributes) -> Object:
    """Return the SubjectAccessReview for a user and a request."""
    spec: dict[str, Any] = {"user": who.user, "groups": list(who.groups)}
    if who.uid:
        spec["uid"] = who.uid
    if who.extra:
        spec["extra"] = {key: list(values) for key, values in who.extra}
    if what.resource:
        named = {
            "namespace": what.namespace,
            "verb": what.verb,
            "group": what.group,
            "version": what.version,
            "resource": what.resource,
            "name": what.name,
            "subresource": what.subresource,
        }
        spec["resourceAttributes"] = {key: text for key, text in named.items() if text}
    else:
        spec["nonResourceAttributes"] = {"path": what.path, "verb": what.verb}
    return {
        "apiVersion": ACCESS_REVIEWS.version,
        "kind": ACCESS_REVIEWS.kind,
        "metadata": {},
        "spec": spec,
    }


def _everything(what: RequestAttributes) -> RequestAttributes:
    return RequestAttributes("", what.group, what.version, verb=what.verb, resource=EVERYTHING)


def _refusal(who: Identity, what: RequestAttributes) -> str:
    if not what.resource:
        return f"{who.user} may not {what.verb} {what.path}"
    resource = "/".join(part for part in (what.resource, what.subresource) if part)
    name = f" {what.name!r}" if what.name else ""
    return f"{who.user} may not {what.verb} {resource}{name} of {what.group} in namespace {what.namespace}"
