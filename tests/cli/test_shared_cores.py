"""What users see of jobs that share cores."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from minicluster.broker_link.errors import RequestRefused
from minicluster.cli import shared_cores
from minicluster.instance.records import Job, JobResult, JobState


def job(sharing: Any, result: JobResult | None = None) -> Job:
    return Job(1, JobState.RUN, result, annotations={"sharing": sharing} if sharing else {})


HOST = {"host": None, "guests": [1 << 24], "quota": 0.5}
GUEST = {"host": 1 << 25, "guests": [], "quota": 0.25}
ALONE = {"host": None, "guests": [], "quota": 1.0}
AT_HALF = {"host": None, "guests": [], "quota": 0.5}


@pytest.mark.parametrize(
    ("sharing", "result", "text"),
    [
        pytest.param(HOST, None, "has fTfF on its cores, 50% of their time", id="a host"),
        pytest.param(GUEST, None, "on the cores of fTfG, 25% of their time", id="a guest"),
        pytest.param(ALONE, None, "", id="alone again"),
        pytest.param(AT_HALF, None, "may use 50% of its cores' time", id="under a quota"),
        pytest.param(None, None, "", id="another job"),
        pytest.param(HOST, JobResult.COMPLETED, "", id="ended"),
        pytest.param("text", None, "", id="no such record"),
    ],
)
def test_information(monkeypatch: Any, sharing: Any, result: JobResult | None, text: str) -> None:
    monkeypatch.setattr(shared_cores, "written", {1 << 24: "fTfF", 1 << 25: "fTfG"}.get)
    assert shared_cores.information(job(sharing, result)) == text


def instance(answer: Any, engine: str = "embedded") -> Any:
    def rpc(topic: str, _payload: Any) -> Any:
        assert topic == "minicluster-sched.sharing"
        if isinstance(answer, Exception):
            raise answer
        return answer

    return cast("Any", SimpleNamespace(engine=engine, links=SimpleNamespace(rpc=rpc)))


@pytest.mark.parametrize(
    ("answer", "engine", "fields"),
    [
        pytest.param(
            {"enforcement": "cgroup-v1", "weights": {"never": 0.2, "half": 0.8}},
            "embedded",
            {"cpu_quotas": "cgroup-v1", "expert_weights": {"never": 0.2, "half": 0.8}},
            id="a learner",
        ),
        pytest.param(
            {"enforcement": "affinity", "weights": {}},
            "embedded",
            {"cpu_quotas": "affinity"},
            id="no experts",
        ),
        pytest.param({}, "embedded", {}, id="nobody shares"),
        pytest.param(RequestRefused("x", 38, "no service"), "embedded", {}, id="an older instance"),
        pytest.param(AssertionError("asked"), "flux", {}, id="real Flux"),
    ],
)
def test_fields(answer: Any, engine: str, fields: dict[str, Any]) -> None:
    assert shared_cores.fields(instance(answer, engine)) == fields


def test_weights_are_in_a_line_for_people() -> None:
    shown = shared_cores.for_people({"expert_weights": {"never": 0.2, "half": 0.8}})
    assert shown == {"expert_weights": "half 80%, never 20%"}
    assert shared_cores.for_people({}) == {}
