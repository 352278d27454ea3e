"""A document that 0.1.0's CRD takes, today's takes too, with the same meaning."""

from __future__ import annotations

import copy
import gzip
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from minicluster.document import crd, messages
from tests.release_0_1_0.adapters import DATA
from tests.release_0_1_0.crd_changes import changes, schema_changes

if TYPE_CHECKING:
    from collections.abc import Callable

OLD: dict[str, Any] = yaml.safe_load(gzip.decompress((DATA / "crd.yaml.gz").read_bytes()))
_STORED = "A stored document that had more already still gets its status, can shrink, and can go"
_READ = "(brokers read their configuration only at start); make a new MiniCluster"
_NEW = "no document had `bursting` before"
_CUT = "no document had `profile` or `granularity` before"
_AS_BEFORE = "without `status.granularity`, which 0.1.0 did not have, it is the rule of before"
_FIXED = "cannot change once brokers were made"
ON_PURPOSE = {
    f"the document: new rule: {messages.BEYOND_START}": _AS_BEFORE,
    f"the document: new rule: spec.profile {_FIXED} (the main command is submitted once, and the pods are"
    " made for it); make a new MiniCluster": _CUT,
    f"the document: new rule: spec.granularity {_FIXED} (the pods are made by it once); make a new"
    " MiniCluster": _CUT,
    f"the document: new rule: {messages.AUTOSCALING_BEYOND}": _AS_BEFORE,
    f"the document: new rule: {messages.AUTOSCALING_MAX}": _AS_BEFORE,
    f"the document: new rule: spec.bursting cannot come or go once brokers were made {_READ}": _NEW,
    "spec: new rule: a MiniCluster has at most 100000 hosts, remote ones included": (
        f"one document stopped the operator for all; as many hosts in `size` were refused before. {_STORED}"
    ),
    f"spec: new rule: {messages.GRANULARITY_PROFILE}": _CUT,
    f"spec: new rule: {messages.BURSTING_HOSTS}": _NEW,
    f"spec: new rule: {messages.BURSTING_AND_LEAD}": _NEW,
    **{
        f"spec.{field}: new rule: a broker offers at most {bound}": (
            f"one document stopped the operator for all; no node has as many. {_STORED}"
        )
        for field in ("containers", "services")
        for bound in ("4096 cores", "1024 GPUs, slices included")
    },
}
"""What was accepted and is refused on purpose, each with the reason."""


def test_what_0_1_0_accepted_is_accepted() -> None:
    assert changes(OLD, crd()) == list(ON_PURPOSE)


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


def number(**more: Any) -> dict[str, Any]:
    return {"type": "integer", **more}


def record(required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required)}


def ruled(*rules: str) -> dict[str, Any]:
    return number(
        **{"x-kubernetes-validations": [{"rule": each, "message": f"not {each}"} for each in rules]}
    )


def loose(value: bool) -> dict[str, Any]:
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": value}


MAY = {
    "another text": (number(description="before"), number(description="after")),
    "a new field": (record(a=text()), record(a=text(), b=text())),
    "a new field with fields that it requires": (record(), record(b=record(("c",), c=text()))),
    "a field that is required no more": (record(("a",), a=text()), record(a=text())),
    "a field that is required and has a default": (
        record(a=text(default="x")),
        record(("a",), a=text(default="x")),
    ),
    "another value": (text(enum=["a"]), text(enum=["a", "b"])),
    "any value": (text(enum=["a"]), text()),
    "wider bounds": (number(minimum=1, maximum=2), number(minimum=0, maximum=3)),
    "no bounds": (number(minimum=1, maximum=2), number()),
    "a rule less": (ruled("a", "b"), ruled("b")),
    "null too": (text(), text(nullable=True)),
    "fields that are kept though they are not known": (record(a=text()), loose(value=True)),
}


@pytest.mark.parametrize(("old", "new"), MAY.values(), ids=MAY)
def test_what_accepts_more_may_change(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert list(schema_changes(record(it=old), record(it=new))) == []


MAY_NOT = {
    "a field": (record(a=text()), record(), "it.a: is gone"),
    "a type": (text(), number(), "it: type was string, is integer"),
    "integers or texts": (
        {"x-kubernetes-int-or-string": True},
        number(),
        "it: type was None, is integer; it: x-kubernetes-int-or-string was True, is None",
    ),
    "a required field": (record(a=text()), record(("a",), a=text()), "it.a: is required"),
    "a new required field": (record(), record(("a",), a=text()), "it.a: is required"),
    "a lower bound": (number(minimum=1), number(minimum=2), "it: minimum was 1, is 2"),
    "a new lower bound": (text(), text(minLength=1), "it: minLength was None, is 1"),
    "an upper bound": (number(maximum=2), number(maximum=1), "it: maximum was 2, is 1"),
    "a new upper bound": (text(), text(maxLength=9), "it: maxLength was None, is 9"),
    "a pattern": (text(), text(pattern="a+"), "it: pattern was None, is a+"),
    "a value": (text(enum=["a", "b"]), text(enum=["b"]), "it: value 'a' is refused"),
    "an enum": (text(), text(enum=["b"]), "it: only ['b'] are accepted"),
    "a default": (text(default="a"), text(default="b"), "it: default was a, is b"),
    "a new default": (text(), text(default="b"), "it: default was None, is b"),
    "a rule": (ruled("a"), ruled("a", "b"), "it: new rule: not b"),
    "null": (text(nullable=True), text(), "it: null is refused"),
    "what is kept": (loose(value=True), loose(value=False), "it: unknown fields are dropped"),
    "an item": (
        {"type": "array", "items": text(maxLength=2)},
        {"type": "array", "items": text(maxLength=1)},
        "it[]: maxLength was 2, is 1",
    ),
    "a value of a map": (
        {"type": "object", "additionalProperties": text(enum=["a"])},
        {"type": "object", "additionalProperties": text(enum=["b"])},
        "it.*: value 'a' is refused",
    ),
    "a map": (
        {"type": "object", "additionalProperties": text()},
        {"type": "object"},
        "it: additionalProperties are gone",
    ),
    "how lists are merged": (
        {"type": "array", "items": text(), "x-kubernetes-list-type": "set"},
        {"type": "array", "items": text(), "x-kubernetes-list-type": "atomic"},
        "it: x-kubernetes-list-type was set, is atomic",
    ),
}


@pytest.mark.parametrize(("old", "new", "message"), MAY_NOT.values(), ids=MAY_NOT)
def test_what_accepts_less_is_named(old: dict[str, Any], new: dict[str, Any], message: str) -> None:
    assert "; ".join(schema_changes(record(it=old), record(it=new))) == message


def _version(found: dict[str, Any]) -> dict[str, Any]:
    return dict(found["versions"][0])


AROUND: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "group": (lambda it: it.update(group="other"), "group was flux-framework.org, is other"),
    "scope": (lambda it: it.update(scope="Cluster"), "scope was Namespaced, is Cluster"),
    "kind": (lambda it: it["names"].update(kind="Other"), "names.kind was MiniCluster, is Other"),
    "short name": (lambda it: it["names"].update(shortNames=[]), "names.shortNames: mc is gone"),
    "version": (lambda it: it["versions"][0].update(served=False), "version v1alpha2 is not served"),
    "subresource": (
        lambda it: _version(it)["subresources"].pop("status"),
        "subresource status was {}, is None",
    ),
    "document": (
        lambda it: _version(it)["schema"]["openAPIV3Schema"]["properties"]["spec"].update(maxProperties=9),
        "spec: maxProperties was None, is 9",
    ),
}


@pytest.mark.parametrize(("change", "message"), AROUND.values(), ids=AROUND)
def test_what_is_around_the_schema_stays(change: Callable[[dict[str, Any]], object], message: str) -> None:
    changed = copy.deepcopy(OLD)
    change(changed["spec"])
    assert changes(OLD, changed) == [message]
