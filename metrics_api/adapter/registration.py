"""The APIServices, by which the API server passes requests on to the adapter.

There is one for each group and version in the whole cluster. One that names another server (KEDA serves
external metrics, prometheus-adapter custom ones) is not changed, and reported. One that names ours is kept up
to date, above all the authorities that it trusts.
"""

from __future__ import annotations

import logging
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from metrics_api.answers.queries import APIS
from minicluster.kube_client import event_recorder
from minicluster.kube_client.errors import ApiError, ApiUnreachableError
from minicluster.kube_client.event_recorder import EventSource
from minicluster.kube_client.resources import API_SERVICES, CLUSTER_ROLES
from minicluster.plan.constants import LABEL_MANAGED_BY, LABEL_NAME, MANAGER, METRICS_APPLICATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metrics_api.answers.queries import GroupVersion
    from minicluster.kube_client.objects import Object

GROUP_PRIORITY = 100
REPORTER = "flux-framework.org/minicluster-metrics-adapter"
LEFT_ALONE = "LeftAlone"
"""The reason of the Event about an APIService of another server."""
# Compared by their meaning: the API server omits values that are false.
_BY_MEANING = {"caBundle", "insecureSkipTLSVerify"}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServiceReference:
    """The Service by which the API server finds the adapter."""

    namespace: str
    name: str
    port: int = 443

    @property
    def host(self) -> str:
        """The name for which the API server checks the adapter's certificate."""
        return f"{self.name}.{self.namespace}.svc"

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class RegistrationClient(Protocol):
    """The part of an `Api` that this needs."""

    async def apply(self, item: Object, *, new: bool = False) -> Object:
        """Server-side apply an object."""
        ...

    async def create(self, item: Object) -> Object:
        """Create an object."""
        ...


def name(api: GroupVersion) -> str:
    """Return the APIService's name."""
    return f"{api.version}.{api.group}"


NAMES: Mapping[str, GroupVersion] = {name(api): api for api in APIS}


def wanted(api: GroupVersion, server: ServiceReference, bundle: str, owner: Object | None) -> Object:
    """Return the APIService of a version. It is deleted with its owner, the adapter's ClusterRole."""
    found: Object = {
        "apiVersion": API_SERVICES.version,
        "kind": API_SERVICES.kind,
        "metadata": {
            "name": name(api),
            "labels": {LABEL_NAME: METRICS_APPLICATION, LABEL_MANAGED_BY: MANAGER},
        },
        "spec": {
            "group": api.group,
            "version": api.version,
            "groupPriorityMinimum": GROUP_PRIORITY,
            "versionPriority": api.priority,
            "service": {"namespace": server.namespace, "name": server.name, "port": server.port},
            "caBundle": b64encode(bundle.encode()).decode(),
            "insecureSkipTLSVerify": False,
        },
    }
    if owner is not None:
        reference = {
            "apiVersion": CLUSTER_ROLES.version,
            "kind": CLUSTER_ROLES.kind,
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        found["metadata"]["ownerReferences"] = [reference]
    return found


def holder(item: Object, server: ServiceReference) -> str:
    """Return the server of an APIService if that is not ours, else an empty text."""
    service = item["spec"].get("service")
    if not service:
        return "the API server itself (a CustomResourceDefinition of that group?)"
    if (service["namespace"], service["name"]) != (server.namespace, server.name):
        return f"Service {service['namespace']}/{service['name']}"
    return ""


def is_right(item: Object, right: Object) -> bool:
    """Return whether an APIService of ours is up to date; fields that the API server adds do not count."""
    found, spec = item["spec"], right["spec"]
    same = all(found.get(key) == spec[key] for key in spec.keys() - _BY_MEANING)
    owners = {each["uid"] for each in item["metadata"].get("ownerReferences") or ()}
    meant = {each["uid"] for each in right["metadata"].get("ownerReferences") or ()}
    trusting = _decoded(found.get("caBundle") or "") == _decoded(spec["caBundle"])
    return same and trusting and meant <= owners and not found.get("insecureSkipTLSVerify")


class Registration:
    """Keeps the APIServices up to date.

    An APIService of another server is reported by an Event, from the process `identity`.
    """

    def __init__(
        self,
        api: RegistrationClient,
        server: ServiceReference,
        owner: Object | None = None,
        identity: str = "adapter",
    ) -> None:
        self._api = api
        self._server = server
        self._owner = owner
        self._reporter = EventSource(REPORTER, identity, "Register")
        self.conflicting: dict[str, str] = {}
        """The APIServices of other servers, with these."""

    async def keep(self, service: str, item: Object | None, bundle: str) -> None:
        """Write an APIService if that is needed; `item` is the present one, None: there is none.

        Raises ApiError, ApiUnreachableError.
        """
        right = wanted(NAMES[service], self._server, bundle, self._owner)
        other = holder(item, self._server) if item is not None else ""
        if self._report(service, other) and item is not None:
            await self._report_conflict(service, item, other)
        if other or (item is not None and is_right(item, right)):
            return
        if item is not None:
            # Another one could replace it at this moment: only this one may be changed.
            right["metadata"]["uid"] = item["metadata"]["uid"]
        try:
            await self._api.apply(right, new=item is None)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            return  # another client was faster: the watch will deliver its change
        log.info("APIService %s %s", service, "made" if item is None else "put right")

    def _report(self, service: str, other: str) -> bool:
        """Log an APIService's change of server; return whether it belongs to another server now."""
        if self.conflicting.get(service, "") == other:
            return False
        if other:
            self.conflicting[service] = other
            log.warning("APIService %s", _left_alone(service, other))
        else:
            del self.conflicting[service]
            log.info("APIService %s is nobody else's any more", service)
        return bool(other)

    async def _report_conflict(self, service: str, item: Object, other: str) -> None:
        """Write an Event about an APIService of another server; if that fails, log it."""
        about = {"apiVersion": API_SERVICES.version, "kind": API_SERVICES.kind, "metadata": item["metadata"]}
        why = LEFT_ALONE, _left_alone(service, other)
        event = event_recorder.event_about(about, "Warning", why, self._reporter, datetime.now(UTC))
        try:
            await self._api.create(event)
        except (ApiError, ApiUnreachableError) as error:
            log.warning("no Event tells of APIService %s: %s", service, error)


def _left_alone(service: str, other: str) -> str:
    return (
        f"{service} belongs to {other} and is left alone: this adapter does not serve that API;"
        " Prometheus or KEDA's metrics-api scaler can ask lead brokers themselves"
    )


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text)
    except (Base64Error, ValueError):
        return b""
