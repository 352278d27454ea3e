"""The worker process for heavy documents: what it answers where memory runs out."""

import io
import pickle
from typing import NoReturn

import pytest

from minicluster.document import loading
from minicluster.document.rules import Rule
from minicluster.operator import plan_process
from minicluster.operator.plan_messages import PlanAnswer, PlanRequest
from minicluster.operator.planned import PlanInputs
from minicluster.plan.objects import config_map
from tests.operator.test_plan_worker import INPUTS, item


def exhausted(*_: object, **_more: object) -> NoReturn:
    raise MemoryError


def answered(inputs: PlanInputs | None) -> tuple[PlanAnswer, bool]:
    """Return the answer to a request, and whether the process ends after it."""
    request = pickle.dumps(PlanRequest(item(), inputs))
    answer, ends = plan_process._answered(io.BytesIO(request), len(request))
    return pickle.loads(answer), ends


def test_of_a_check_that_takes_too_much_it_reports_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though for everybody else the document has a problem then."""
    monkeypatch.setattr(loading, "RULES", [Rule("hostile", frozenset(), exhausted)])
    assert answered(None) == (PlanAnswer(out_of_memory=True), True)


def test_of_a_plan_that_takes_too_much_it_reports_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_map, "build", exhausted)
    assert answered(INPUTS) == (PlanAnswer(out_of_memory=True), True)
