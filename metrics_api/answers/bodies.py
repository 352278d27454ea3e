"""The bodies of answers as Kubernetes clients read them: values, discovery documents, and errors. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timezone
from typing import TYPE_CHECKING, Any, Dict  # noqa: UP035 - Python 3.8

from metrics_api.answers import samples
from metrics_api.answers.queries import CUSTOM_V1BETA1, EXTERNAL, DocumentQuery

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from metrics_api.answers.errors import StatusError
    from metrics_api.answers.queries import GroupVersion, Query
    from metrics_api.answers.selectors import Selector

Body = Dict[str, Any]  # noqa: UP006 - Python 3.8
NAMESPACES = "namespaces"
"""Among the kinds of objects: a namespace itself, which is in no namespace."""
AGGREGATED_KIND = "APIGroupDiscoveryList"
AGGREGATED = f"application/json;g=apidiscovery.k8s.io;v=v2;as={AGGREGATED_KIND}"


@dataclass(frozen=True)
class DescribedObject:
    """The object that a value is about."""

    version: str
    """Its apiVersion: group and version."""
    kind: str
    name: str
    namespace: str = ""
    """Empty: the object is in none."""

    def reference(self) -> Body:
        """Return it as an ObjectReference."""
        scope = {"namespace": self.namespace} if self.namespace else {}
        return {"kind": self.kind, **scope, "name": self.name, "apiVersion": self.version}


@dataclass(frozen=True)
class Value:
    """A value of an object, in thousandths, with its time."""

    about: DescribedObject
    thousandths: int
    time: datetime


@dataclass(frozen=True)
class ExternalValue:
    """A value with labels instead of an object."""

    labels: Mapping[str, str]
    thousandths: int
    time: datetime


def values(api: GroupVersion, metric: str, chosen: Selector, found: Iterable[Value]) -> Body:
    """Return the MetricValueList of a version; `chosen` is the query's metricLabelSelector."""
    selector = chosen.document()
    items = []
    for each in found:
        item: Body = {"describedObject": each.about.reference()}
        if api is CUSTOM_V1BETA1:
            item.update({"metricName": metric, "timestamp": timestamp(each.time), "window": 0})
            item.update({"value": samples.quantity(each.thousandths), "selector": selector})
        else:
            item.update({"metric": {"name": metric, "selector": selector}, "timestamp": timestamp(each.time)})
            item.update({"windowSeconds": 0, "value": samples.quantity(each.thousandths)})
        items.append(item)
    return {"kind": "MetricValueList", "apiVersion": api.name, "metadata": {}, "items": items}


def external_values(metric: str, found: Iterable[ExternalValue]) -> Body:
    """Return the ExternalMetricValueList."""
    items = [
        {
            "metricName": metric,
            "metricLabels": dict(each.labels),
            "timestamp": timestamp(each.time),
            "window": 0,
            "value": samples.quantity(each.thousandths),
        }
        for each in found
    ]
    return {"kind": "ExternalMetricValueList", "apiVersion": EXTERNAL.name, "metadata": {}, "items": items}


def negotiated(query: Query, accept: str) -> Query:
    """Return the query, for a discovery document in the form that an Accept header prefers."""
    if query == DocumentQuery() and AGGREGATED_KIND in accept:
        return DocumentQuery(aggregated=True)
    return query


def content_type(body: Body) -> str:
    """Return the Content-Type of an answer."""
    return AGGREGATED if body["kind"] == AGGREGATED_KIND else "application/json"


def encoded(body: Body) -> str:
    """Return the text of an answer."""
    return json.dumps(body, separators=(",", ":")) + "\n"


def timestamp(time: datetime) -> str:
    """Return a time as RFC 3339 in UTC, to the second."""
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: UP017 - 3.8


def status(error: StatusError) -> Body:
    """Return an error as a Status (meta/v1)."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": str(error),
        "reason": error.reason,
        "code": error.code,
    }


def document(
    query: DocumentQuery, apis: Sequence[GroupVersion], metrics: Iterable[str], objects: Iterable[str]
) -> Body:
    """Return a discovery document of `apis`: each metric of each kind of object."""
    for api in apis:
        if (api.group, api.version) == (query.group, query.version):
            return _resources(api, metrics, objects)
    if query.aggregated:
        return _aggregated_list(apis, metrics, objects)
    if query.group:
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(query.group, apis)}
    groups = [_group(name, apis) for name in _groups(apis)]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _resources(api: GroupVersion, metrics: Iterable[str], objects: Iterable[str]) -> Body:
    if api is EXTERNAL:
        found = [_resource(metric, "ExternalMetricValueList") for metric in metrics]
    else:
        found = [
            _resource(f"{name}/{metric}", "MetricValueList", namespaced=name != NAMESPACES)
            for name in objects
            for metric in metrics
        ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api.name, "resources": found}


def _aggregated_list(apis: Sequence[GroupVersion], metrics: Iterable[str], objects: Iterable[str]) -> Body:
    """Return all APIs in one document (KEP-3352), which the API server reads."""
    names = [*metrics]
    return {
        "kind": AGGREGATED_KIND,
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": name},
                "versions": [_aggregated(api, names, objects) for api in _versions(name, apis)],
            }
            for name in _groups(apis)
        ],
    }


def _aggregated(api: GroupVersion, metrics: Iterable[str], objects: Iterable[str]) -> Body:
    if api is EXTERNAL:
        found: list[Body] = [
            {
                "resource": name,
                "responseKind": _response_kind(api, "ExternalMetricValueList"),
                "scope": "Namespaced",
                "singularResource": "",
                "verbs": ["get"],
            }
            for name in metrics
        ]
    else:
        found = [
            {
                "resource": name,
                "responseKind": {"group": "", "version": "", "kind": ""},
                "scope": "Cluster" if name == NAMESPACES else "Namespaced",
                "singularResource": "",
                "verbs": [],
                "subresources": [
                    {
                        "subresource": metric,
                        "responseKind": _response_kind(api, "MetricValueList"),
                        "verbs": ["get"],
                    }
                    for metric in metrics
                ],
            }
            for name in objects
        ]
    return {"version": api.version, "resources": found, "freshness": "Current"}


def _resource(name: str, kind: str, *, namespaced: bool = True) -> Body:
    return {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get"]}


def _groups(apis: Sequence[GroupVersion]) -> list[str]:
    return list(dict.fromkeys(api.group for api in apis))


def _versions(group: str, apis: Sequence[GroupVersion]) -> list[GroupVersion]:
    """Return the versions of a group, the preferred one first."""
    return sorted((api for api in apis if api.group == group), key=lambda api: -api.priority)


def _response_kind(api: GroupVersion, kind: str) -> Body:
    return {"group": api.group, "version": api.version, "kind": kind}


def _group(name: str, apis: Sequence[GroupVersion]) -> Body:
    served = [{"groupVersion": api.name, "version": api.version} for api in _versions(name, apis)]
    return {"name": name, "versions": served, "preferredVersion": served[0]}
