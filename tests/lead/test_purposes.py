"""What each token is good for: no more than those who have it call, and no less."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import minicluster.instance
from metrics_api.lead.routes import QueueRoutes
from minicluster.lead_server.purposes import BURST, CURVE_CERTIFICATE, INSTANCE, JOBS, METRICS, PURPOSES
from minicluster.lead_server.routes import Audience
from minicluster.stand_in.topics import TOPICS
from restful.clusters import instance_calls

ROOM = Path(minicluster.instance.__file__).parent
OF_JOBS = PURPOSES[JOBS]
CALLS = {"rpc", "stream", "_steer", "_submit"}


class _Topics(ast.NodeVisitor):
    """Collects the topics that a module of the port calls, without those of the instance's life."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.attributes: set[str] = set()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if node.name != "RpcLifecycle":
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        text = node.value.value if isinstance(node.value, ast.Constant) else None
        self.found |= {text} if isinstance(text, str) and _is_topic(text) else set()
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        words = [each.value for each in node.args if isinstance(each, ast.Constant)]
        self.found |= {each for each in words if isinstance(each, str) and _is_topic(each)}
        if isinstance(node.func, ast.Name) and node.func.id == "_attribute":
            self.attributes |= {each for each in words if isinstance(each, str)}
        self.generic_visit(node)


def _is_topic(text: str) -> bool:
    service, dot, method = text.partition(".")
    return bool(dot) and all(part.replace("-", "").isalpha() for part in (service, method))


def _called() -> _Topics:
    topics = _Topics()
    for path in (*ROOM.glob("*.py"), ROOM / "links" / "lines.py"):
        topics.visit(ast.parse(path.read_text()))
    return topics


NOT_TOPICS = {"guest.output", "shell.init", "helper.dump"}
"""A stored eventlog, and an event of one; and what `RpcLifecycle` has the link do."""


def test_jobs_may_call_what_the_port_calls_and_nothing_else() -> None:
    """The port without the instance's life: its attributes, dumps, and its end."""
    assert _called().found - NOT_TOPICS == OF_JOBS.topics


def test_jobs_may_read_the_attributes_that_the_port_and_the_service_read() -> None:
    assert _called().attributes | {instance_calls.STARTED} <= OF_JOBS.attributes


NEVER = [
    "helper.dump",
    "content.dump",
    "shutdown.start",
    "attr.set",
    "attr.list",
    "config.get",
    "config.load",
    "module.load",
    "module.remove",
    "rexec.exec",
    "job-exec.kill",
    "kvs.commit",
    "log.dmesg",
    "minicluster-sched.stats-get",
]


@pytest.mark.parametrize("topic", NEVER)
def test_jobs_may_not(topic: str) -> None:
    assert OF_JOBS.refusal(topic, {}) == f"a token for jobs is not good for {topic}"


def test_an_attribute_that_is_not_listed_is_refused() -> None:
    assert OF_JOBS.refusal("attr.get", {"name": "hostlist"}) == ""
    refusal = OF_JOBS.refusal("attr.get", {"name": "config.path"})
    assert refusal == "a token for jobs is not good for the attribute 'config.path'"


def test_those_for_metrics_are_good_for_the_paths_of_metrics() -> None:
    served = {path for path, who in QueueRoutes.audiences.items() if who == Audience.METRICS}
    assert PURPOSES[METRICS].paths == served
    assert PURPOSES[METRICS].topics == frozenset()


def test_those_for_bursts_are_good_for_less_than_those_for_jobs_and_the_certificate() -> None:
    """What bursting calls is compared with them in tests/burst/leads. It alone writes spools of stand-ins."""
    found = PURPOSES[BURST]
    assert found.paths == {INSTANCE, CURVE_CERTIFICATE}
    assert found.topics - {*TOPICS} < OF_JOBS.topics
    assert found.topics >= {*TOPICS}
    assert OF_JOBS.topics.isdisjoint(TOPICS)
    assert found.attributes < OF_JOBS.attributes
    refusal = "a token for burst is not good for job-manager.raiseall"
    assert found.refusal("job-manager.raiseall", {}) == refusal


def test_each_has_a_file_of_its_own() -> None:
    assert [each.file_name for each in PURPOSES.values()] == ["metrics.token", "jobs.token", "burst.token"]
