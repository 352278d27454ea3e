"""A document for which Python lacks depth, digits or memory is refused in words, wherever that shows."""

from typing import NoReturn

import pytest

from minicluster import plan as planning
from minicluster.plan import KeysNeededError, Observed, Site, UnplannableError, plan
from minicluster.plan.objects import config_map

ERRORS = {
    "RecursionError: maximum recursion depth exceeded": RecursionError("maximum recursion depth exceeded"),
    "OverflowError: int too big": OverflowError("int too big"),
    "ValueError: 5000 digits": ValueError("5000 digits"),
    "MemoryError": MemoryError(),
}
WHY = "no plan can be made of this document: a field is too deep or too large, or it has met a defect"


@pytest.fixture(params=ERRORS.items(), ids=ERRORS)
def message(request, monkeypatch):
    """What is raised is reported so; the ConfigMap is where it shows."""
    words, error = request.param

    def build(*_: object, **_more: object) -> NoReturn:
        raise error

    monkeypatch.setattr(config_map, "build", build)
    return f"{WHY} ({words})"


def test_no_plan_is_made(make, keys, now, message):
    with pytest.raises(UnplannableError) as caught:
        plan(make(), Observed(), Site(), keys, now)
    assert str(caught.value) == message


def test_no_objects_are_made(make, message):
    with pytest.raises(UnplannableError) as caught:
        planning.render(make(), Site())
    assert (str(caught.value), planning.problem(make(), Site())) == (message, message)


def test_missing_keys_are_no_fault_of_the_document(make, now):
    """The caller has to pass them."""
    with pytest.raises(KeysNeededError):
        plan(make(), Observed(), Site(), None, now)


def test_a_document_without_a_problem_has_none(make):
    assert planning.problem(make(), Site()) == ""


def test_what_only_the_brokers_files_show_is_a_problem(make):
    cluster = make({"flux": {"bursting": {"clusters": [{"name": "hpc", "size": 1}]}}})
    assert "hpc-0" in planning.problem(cluster, Site())
