"""The owner mark: good for one request and one jobspec, and for nothing that was copied."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from restful.jobs import seal
from restful.jobs.seal import Seal, SealedRequest

SEAL = Seal(b"k" * 32)
REQUEST = SealedRequest("I1", "alice", "R1")
TEXT = some.text(max_size=8)
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | TEXT,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
TABLE = some.dictionaries(TEXT, JSON, max_size=3)


@some.composite
def jobspecs(draw: some.DrawFn) -> dict[str, Any]:
    """Jobspecs as far as a mark is concerned: any content in every part."""
    return {
        "version": 1,
        "resources": draw(some.lists(TABLE, max_size=2)),
        "tasks": draw(some.lists(TABLE, max_size=2)),
        "attributes": {"system": draw(TABLE), "user": draw(TABLE)},
    }


SPEC: dict[str, Any] = {
    "version": 1,
    "resources": [{"type": "slot", "count": 1}],
    "tasks": [{"command": ["true"]}],
    "attributes": {"system": {"duration": 60.0, "environment": {"A": "1"}}},
}


def marked(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes.user of a jobspec with REQUEST's mark."""
    found: dict[str, Any] = SEAL.marked(spec, REQUEST)["attributes"]["user"]
    return found


def proves(spec: dict[str, Any], request: SealedRequest = REQUEST, sealing: Seal = SEAL) -> bool:
    """Return whether REQUEST's mark, as sealed for SPEC, is good for a jobspec."""
    mark = seal.read(marked(SPEC))
    assert mark is not None
    return sealing.proves(mark, spec, request)


@given(jobspecs())
def test_a_mark_is_good_for_the_jobspec_that_has_it(spec: dict[str, Any]) -> None:
    if not isinstance(spec["attributes"]["user"].get(seal.OURS, {}), dict):
        return
    found = SEAL.marked(spec, REQUEST)
    mark = seal.read(found["attributes"]["user"])
    assert mark is not None
    assert mark.row == "R1"
    assert SEAL.proves(mark, found, REQUEST)


def test_marking_leaves_the_jobspec_as_it_was() -> None:
    spec = copy.deepcopy(SPEC)
    SEAL.marked(spec, REQUEST)
    assert spec == SPEC


CHANGES = {
    "command": ("tasks", [{"command": ["false"]}]),
    "resources": ("resources", [{"type": "slot", "count": 2}]),
    "environment": ("attributes", {"system": {"duration": 60.0, "environment": {"A": "2"}}}),
    "user attributes": ("attributes", {"user": {"x": 1}, **SPEC["attributes"]}),
}


@pytest.mark.parametrize(("key", "value"), CHANGES.values(), ids=CHANGES)
def test_a_mark_is_not_good_for_another_jobspec(key: str, value: Any) -> None:
    assert not proves({**SPEC, key: value})


@pytest.mark.parametrize(
    "request_",
    [REQUEST._replace(**{key: "other"}) for key in SealedRequest._fields],
    ids=SealedRequest._fields,
)
def test_a_mark_is_not_good_for_another_request(request_: SealedRequest) -> None:
    assert not proves(SPEC, request_)


def test_a_mark_of_another_service_is_not_good() -> None:
    assert not proves(SPEC, sealing=Seal(b"o" * 32))


def test_a_restart_keeps_the_mark_good() -> None:
    copied = SEAL.marked(SPEC, REQUEST)
    copied["attributes"]["user"][seal.OURS][seal.RESTART_OF] = 17
    copied["attributes"]["system"]["dependencies"] = [{"scheme": "afternotok", "value": "17"}]
    assert proves(copied)
    assert seal.restart_of(copied["attributes"]["user"]) == 17


def test_numbers_count_by_their_value() -> None:
    assert proves({**SPEC, "attributes": {"system": {"environment": {"A": "1"}, "duration": 60}}})


@given(some.one_of(JSON, TABLE, TEXT.map(lambda text: {seal.OURS: {seal.MARK: text}})))
def test_what_is_no_mark_is_read_as_none(attributes: Any) -> None:
    assert seal.read(attributes) is None


@given(some.integers(0, 60), some.characters(codec="ascii"))
def test_a_mark_that_was_changed_is_none_or_proves_nothing(at: int, character: str) -> None:
    text = marked(SPEC)[seal.OURS][seal.MARK]
    at %= len(text)
    changed = text[:at] + character + text[at + 1 :]
    mark = seal.read({seal.OURS: {seal.MARK: changed}})
    assert changed == text or mark is None or mark.row != "R1" or not SEAL.proves(mark, SPEC, REQUEST)
