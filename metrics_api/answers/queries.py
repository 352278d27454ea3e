"""Parses queries from a request's path and parameters, and the attributes for authorization. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Union
from urllib.parse import unquote

from metrics_api.answers import selectors
from metrics_api.answers.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metrics_api.answers.selectors import Selector

EVERY: Final = "*"
"""Instead of a name: all objects that the label selector matches."""
NAMESPACE_METRICS: Final = "metrics"
"""Instead of a resource: the metrics of the namespace itself."""


@dataclass(frozen=True)
class GroupVersion:
    """A version of a group of the API."""

    group: str
    version: str
    priority: int
    """Clients prefer the version with the largest number."""

    @property
    def name(self) -> str:
        """The group and version, as in an object's `apiVersion`."""
        return f"{self.group}/{self.version}"

    @property
    def path(self) -> str:
        """The URL path at which it is served."""
        return f"/apis/{self.name}"


CUSTOM_V1BETA1 = GroupVersion("custom.metrics.k8s.io", "v1beta1", 100)
CUSTOM_V1BETA2 = GroupVersion("custom.metrics.k8s.io", "v1beta2", 200)
EXTERNAL = GroupVersion("external.metrics.k8s.io", "v1beta1", 100)
CUSTOM = (CUSTOM_V1BETA2, CUSTOM_V1BETA1)
APIS = (*CUSTOM, EXTERNAL)


@dataclass(frozen=True)
class RequestAttributes:
    """A request's attributes for the API server's authorization."""

    path: str
    group: str = ""
    version: str = ""
    namespace: str = ""
    verb: str = "get"
    resource: str = ""
    """Empty: the path is of no resource."""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True)
class DocumentQuery:
    """A query for discovery."""

    group: str = ""
    """Empty: all groups."""
    version: str = ""
    """Empty: all versions."""
    aggregated: bool = False
    """Whether all is to be in one document, for all groups only."""


@dataclass(frozen=True)
class ObjectQuery:
    """A query for a metric of an object; with the name `*`, of all objects that `labels` match."""

    api: GroupVersion
    namespace: str
    resource: str
    """The plural, with its group if it has one: `pods`, `miniclusters.flux-framework.org`."""
    name: str
    metric: str
    labels: Selector
    """Of the objects; matters with the name `*` only."""
    metric_labels: Selector
    """Of the metric's values."""


@dataclass(frozen=True)
class NamespaceQuery:
    """A query for a metric of a namespace itself."""

    api: GroupVersion
    namespace: str
    metric: str
    metric_labels: Selector
    """Of the metric's values."""


@dataclass(frozen=True)
class ExternalQuery:
    """A query for an external metric: every value in the namespace whose labels match."""

    api: GroupVersion
    namespace: str
    metric: str
    labels: Selector


Query = Union[DocumentQuery, ObjectQuery, NamespaceQuery, ExternalQuery]  # noqa: UP007 - Python 3.8


def attributes(path: str) -> RequestAttributes:
    """Return a path's attributes, by the rules of the API server (apiserver's RequestInfo)."""
    parts = _parts(path)
    if len(parts) <= 3 or parts[0] != "apis":
        return RequestAttributes(path)
    _, group, version, *rest = parts
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    verb = "get" if name else "list"
    return RequestAttributes(path, group, version, namespace, verb, resource, name, subresource)


def parse(path: str, parameters: Mapping[str, str], apis: Sequence[GroupVersion] = APIS) -> Query:
    """Return the query of a path and its parameters. Raises NotFoundError, BadRequestError."""
    parts = _parts(path)
    served = next((api for api in apis if parts[:3] == ["apis", api.group, api.version]), None)
    if served is None or len(parts) == 3:
        return _document(path, parts, apis)
    labels = selectors.parse(parameters.get("labelSelector", ""))
    metric_labels = selectors.parse(parameters.get("metricLabelSelector", ""), "metricLabelSelector")
    word, *rest = parts[3:]
    if word == "namespaces" and served is EXTERNAL and len(rest) == 2:
        return ExternalQuery(served, rest[0], rest[1], labels)
    if word == "namespaces" and served is not EXTERNAL and len(rest) == 3 and rest[1] == NAMESPACE_METRICS:
        return NamespaceQuery(served, rest[0], rest[2], metric_labels)
    if word == "namespaces" and served is not EXTERNAL and len(rest) == 4:
        namespace, resource, name, metric = rest
        return ObjectQuery(served, namespace, resource, name, metric, labels, metric_labels)
    raise NotFoundError(f"there is nothing at {path}: {_FORMS[served is EXTERNAL].format(served.path)}")


def _document(path: str, parts: list[str], apis: Sequence[GroupVersion]) -> DocumentQuery:
    known = {(), *(("apis", *rest) for api in apis for rest in ((), (api.group,), (api.group, api.version)))}
    if parts and tuple(parts) in known:
        group, version = (*parts[1:], "", "")[:2]
        return DocumentQuery(group, version)
    raise NotFoundError(f"there is nothing at {path}: served are {', '.join(api.path for api in apis)}")


def _parts(path: str) -> list[str]:
    """Return the segments of a path, each decoded by itself: `%2A` is `*`."""
    return [unquote(part) for part in path.strip("/").split("/") if part]


_FORMS = {
    True: "right is {0}/namespaces/NAMESPACE/METRIC",
    False: "right are {0}/namespaces/NAMESPACE/RESOURCE/NAME/METRIC"
    " and {0}/namespaces/NAMESPACE/metrics/METRIC",
}
