"""The bodies of answers: values, what is served, and errors, as Kubernetes clients read them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from metrics_api.adapter import samples
from metrics_api.adapter.queries import APIS, CUSTOM_V1BETA1, EXTERNAL, Api

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from metrics_api.adapter.errors import StatusError
    from metrics_api.adapter.selectors import Selector

Body = dict[str, Any]
AGGREGATED_KIND = "APIGroupDiscoveryList"
AGGREGATED = f"application/json;g=apidiscovery.k8s.io;v=v2;as={AGGREGATED_KIND}"


@dataclass(frozen=True, slots=True)
class Described:
    """The object that a value is about."""

    version: str
    kind: str
    name: str
    namespace: str = ""

    def reference(self) -> Body:
        """Return it as an ObjectReference."""
        place = {"namespace": self.namespace} if self.namespace else {}
        return {"kind": self.kind, **place, "name": self.name, "apiVersion": self.version}


@dataclass(frozen=True, slots=True)
class Value:
    """A value of an object, in thousandths, and when it was so."""

    about: Described
    thousandths: int
    time: datetime


@dataclass(frozen=True, slots=True)
class ExternalValue:
    """A value that has labels in place of an object."""

    labels: Mapping[str, str]
    thousandths: int
    time: datetime


def values(api: Api, metric: str, chosen: Selector, found: Iterable[Value]) -> Body:
    """Return the MetricValueList of a version; `chosen` is the metricLabelSelector that was asked with."""
    selector = chosen.document()
    items = []
    for each in found:
        item: Body = {"describedObject": each.about.reference()}
        if api is CUSTOM_V1BETA1:
            item |= {"metricName": metric, "timestamp": timestamp(each.time), "window": 0}
            item |= {"value": samples.quantity(each.thousandths), "selector": selector}
        else:
            item |= {"metric": {"name": metric, "selector": selector}, "timestamp": timestamp(each.time)}
            item |= {"windowSeconds": 0, "value": samples.quantity(each.thousandths)}
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


def timestamp(time: datetime) -> str:
    """Return a time as RFC 3339 in UTC, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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


def group_list() -> Body:
    """Return all groups that are served."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in _groups()]}


def group(name: str) -> Body:
    """Return a group and its versions, the preferred one first."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name)}


def resources(api: Api, metrics: Iterable[str], objects: Iterable[str]) -> Body:
    """Return what a version has: each metric of each kind of object, and of the namespace."""
    if api is EXTERNAL:
        found = [_resource(metric, "ExternalMetricValueList") for metric in metrics]
    else:
        names = [*objects, "namespaces"]
        found = [
            _resource(f"{name}/{metric}", "MetricValueList", namespaced=name != "namespaces")
            for name in names
            for metric in metrics
        ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api.name, "resources": found}


def aggregated(metrics: Iterable[str], objects: Iterable[str]) -> Body:
    """Return all that is served in one document (KEP-3352): so the API server learns it."""
    names = [*metrics]
    return {
        "kind": AGGREGATED_KIND,
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": name},
                "versions": [_aggregated(api, names, objects) for api in _versions(name)],
            }
            for name in _groups()
        ],
    }


def _aggregated(api: Api, metrics: Iterable[str], objects: Iterable[str]) -> Body:
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
                "scope": "Cluster" if name == "namespaces" else "Namespaced",
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
            for name in (*objects, "namespaces")
        ]
    return {"version": api.version, "resources": found, "freshness": "Current"}


def _resource(name: str, kind: str, *, namespaced: bool = True) -> Body:
    return {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get"]}


def _groups() -> list[str]:
    return list(dict.fromkeys(api.group for api in APIS))


def _versions(group: str) -> list[Api]:
    """Return the versions of a group, the preferred one first."""
    return sorted((api for api in APIS if api.group == group), key=lambda api: -api.priority)


def _response_kind(api: Api, kind: str) -> Body:
    return {"group": api.group, "version": api.version, "kind": kind}


def _group(name: str) -> Body:
    served = [{"groupVersion": api.name, "version": api.version} for api in _versions(name)]
    return {"name": name, "versions": served, "preferredVersion": served[0]}
