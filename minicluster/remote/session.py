"""Runs an operation on a Kubernetes cluster: connection, event loop, errors with advice for users."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from minicluster.kube_client.errors import (
    NO_CRD,
    AccessDeniedError,
    ApiError,
    MissingError,
    RefusalError,
    RequestError,
    TimeOverError,
    UserError,
)
from minicluster.kube_client.resources import MINICLUSTERS, Resource
from minicluster.kube_client.user_client import UserClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from minicluster.kube_client.access import Access
    from minicluster.plan.objects.fields import Object

    Notice = Callable[[str], None]
T = TypeVar("T")

NAMESPACES = Resource("Namespace", "v1", "namespaces")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_IN_NAMESPACE = re.compile(r'in the namespace "([^"]+)"')
_STREAMED = {"pods/exec", "pods/portforward"}
_VERB = re.compile(r'cannot (\S+) resource "([^"]+)"')
"""The verb and the resource that a user may not use, in the words of Kubernetes' authorizer.

A Status names neither the verb nor the subresource in a field. In other words there is no advice.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A Kubernetes cluster and a namespace there."""

    access: Access
    namespace: str = ""
    """Empty: the context's."""


@dataclass(frozen=True, slots=True)
class NamespaceSession:
    """A connection to a Kubernetes cluster, for one namespace."""

    client: UserClient
    namespace: str
    notice: Notice
    """Shows a message to the user."""

    async def cluster(self, name: str) -> Object:
        """Return a MiniCluster. Raises MissingError, RequestError."""
        try:
            return await self.client.read(MINICLUSTERS, self.namespace, checked(name, "MiniCluster"))
        except ApiError as error:
            if error.status == 404 and error.kind:
                raise await self.missing(name) from error
            raise

    async def missing(self, name: str) -> MissingError:
        """Return the error for a MiniCluster that is missing. Raises MissingError without the namespace."""
        await self.need_namespace()
        return MissingError(
            f"cluster {name}: there is none in namespace {self.namespace};"
            f" `minicluster list --on kubernetes -n {self.namespace}` shows the ones that are"
        )

    async def need_namespace(self) -> None:
        """Raise MissingError where the namespace does not exist; not every user may read namespaces."""
        try:
            await self.client.read(NAMESPACES, "", self.namespace)
        except ApiError as error:
            if error.status == 404:
                raise _no_namespace(self.namespace) from error


def run(
    target: Target,
    operation: Callable[[NamespaceSession], Awaitable[T]],
    *,
    notice: Notice = lambda _: None,
    timeout: float | None = None,
) -> T:
    """Connect, run the operation, and return its result.

    Raises AccessError, ApiUnreachableError, UserError; TimeOverError after `timeout` seconds.
    """
    namespace = checked(target.namespace or target.access.namespace(), "namespace")

    async def connected() -> T:
        async with asyncio.timeout(timeout), UserClient(target.access) as client:
            return await operation(NamespaceSession(client, namespace, notice))

    try:
        return asyncio.run(connected())
    except TimeoutError as error:
        raise TimeOverError(
            f"not done within {timeout:g} s (--timeout); what was asked for goes on in the cluster"
        ) from error
    except ApiError as error:
        raise explained(error, namespace) from error


def checked(name: str, what: str) -> str:
    """Return a name after a check that it can be one (RFC 1123). Raises RequestError."""
    if not _NAME.fullmatch(name) or len(name) > 253:
        raise RequestError(
            f"{name!r} cannot be the name of a {what}: allowed are lower-case letters, digits, - and ."
        )
    return name


def explained(error: ApiError, namespace: str) -> UserError:
    """Return a refusal for the user: the server's message, and what would be right."""
    if error.status == 404:
        return _nothing_there(error, namespace)
    if error.status == 401:
        return AccessDeniedError(
            f"the API server does not accept your credentials ({error.message}): log in again,"
            " or choose another --context"
        )
    found = _VERB.search(error.message)
    if error.status == 403 and found:
        verb, resource = found.groups()
        if resource in _STREAMED:
            needed, within = f"are the verbs get and create on {resource}", namespace
        else:
            at = _IN_NAMESPACE.search(error.message)
            needed, within = f"is the verb {verb} on {resource}", at[1] if at else ""
        # No role of a namespace has what is refused at the cluster's scope.
        role = f" for the role edit in namespace {within}" if within else ""
        return AccessDeniedError(
            f"{error.message}. Needed {needed}: ask whoever administers the cluster{role}"
        )
    return RefusalError(f"the API server refused it: {error.message or error}")


def _nothing_there(error: ApiError, namespace: str) -> UserError:
    if not error.kind:
        return MissingError(NO_CRD)
    if error.kind == NAMESPACES.plural:
        return _no_namespace(namespace)
    return MissingError(error.message)


def _no_namespace(namespace: str) -> MissingError:
    return MissingError(
        f"namespace {namespace}: there is none in this cluster; kubectl create namespace {namespace} makes it"
    )
