"""list and status on a real API server; the test plays the operator."""

import json
import re
import subprocess

import pytest

from tests.devcluster import Api
from tests.kubernetes import autoscalers
from tests.kubernetes.command_line import CommandLine, Operator


@pytest.fixture
def minicluster(api: Api, namespace: str) -> CommandLine:
    return CommandLine(api.access.kubeconfig, namespace, api.access.context or "")


@pytest.fixture
def operator(api: Api, namespace: str) -> Operator:
    return Operator(api, namespace)


def test_list_shows_one_line_each(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    operator.make("other")
    operator.report_status(
        "Failed", "Failed", "CommandFailed", "so it is", name="other", exitCode=7, readyBrokers=1
    )
    lines = [line.split() for line in minicluster("list").stdout.splitlines()]
    assert lines[0] == ["NAME", "PHASE", "SIZE", "MAX", "SIZE", "BROKERS", "ONLINE", "EXIT", "CODE", "AGE"]
    assert [line[:-1] for line in lines[1:]] == [
        ["mc", "2", "4", "0"],
        ["other", "Failed", "2", "4", "1", "7"],
    ]


def test_list_all_namespaces_reports_which(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    rows = minicluster("list", "-A").stdout.splitlines()
    assert rows[0].split()[:2] == ["NAMESPACE", "NAME"]
    assert [operator.namespace, "mc"] in [row.split()[:2] for row in rows]


def test_list_of_nothing_reports_it(minicluster: CommandLine, namespace: str) -> None:
    done = minicluster("list")
    assert (done.returncode, done.stdout) == (0, f"no cluster is up in namespace {namespace}\n")


SAME = {"name", "phase", "size", "max_size", "created", "age"}  # what a local cluster's row has as well


def test_rows_have_the_keys_of_local_ones(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    (row,) = json.loads(minicluster("list", "--output", "json").stdout)
    assert row.keys() >= SAME
    assert (row["name"], row["size"], row["max_size"], row["phase"]) == ("mc", 2, 4, "")


def event(operator: Operator, reason: str) -> None:
    found = operator.api.get(operator.path())
    regarding = {key: found[key] for key in ("apiVersion", "kind")} | {
        key: found["metadata"][key] for key in ("name", "namespace", "uid")
    }
    operator.api.create(
        f"/apis/events.k8s.io/v1/namespaces/{operator.namespace}/events",
        {
            "metadata": {"name": f"mc.{reason.lower()}"},
            "regarding": regarding,
            "reason": reason,
            "note": "all 9 objects exist",
            "type": "Normal",
            "action": "Reconcile",
            "reportingController": "minicluster",
            "reportingInstance": "test",
            "eventTime": "2026-01-01T00:00:00.000000Z",
        },
    )


def test_status_shows_conditions_and_events(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    operator.make("other")
    operator.report_status("Failed", "Failed", "CommandFailed", "the main command ended with 3", exitCode=3)
    event(operator, "Created")
    out = minicluster("status", "mc").stdout
    assert {"phase:           Failed", "exit code:       3"} <= set(out.splitlines())
    table = [line.split(maxsplit=4) for line in out.splitlines()]
    assert ["TYPE", "STATUS", "REASON", "AGE", "MESSAGE"] in table
    (row,) = [row for row in table if row[:3] == ["Failed", "True", "CommandFailed"]]
    assert row[4] == "the main command ended with 3"
    (created,) = [row for row in table if row[1:3] == ["Normal", "Created"]]
    assert created[3:] == ["1", "all 9 objects exist"]


def test_status_prints_json(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs", readyBrokers=2)
    event(operator, "Created")
    (row,) = json.loads(minicluster("status", "mc", "-o", "json").stdout)
    assert row.keys() >= SAME | {"brokers_online", "exit_code", "conditions", "events"}
    assert (row["brokers_online"], row["conditions"][0]["type"], row["events"][0]["reason"]) == (
        2,
        "Running",
        "Created",
    )


def test_brokers_that_were_cut_are_counted_beside_the_size(
    minicluster: CommandLine, operator: Operator
) -> None:
    """In status, in the list, and by what scale says it has asked for: each one of the size is four."""
    operator.make()
    cut = {"policy": "granularity", "profile": "memory", "nodes": 4, "groups": 4, "brokers": 4}
    operator.report_status("Running", "Running", "ReadyForWork", "", maximumSize=16, granularity=cut)
    out = minicluster("status", "mc").stdout.splitlines()
    assert {"size:            2, 8 brokers (granularity, memory)", "max size:        4, 16 brokers"} <= {*out}
    (row,) = json.loads(minicluster("status", "mc", "-o", "json").stdout)
    assert (row["size"], row["brokers"], row["max_brokers"], row["granularity"]) == (2, 8, 16, cut)
    heads, values = minicluster("list").stdout.splitlines()
    assert re.split(r"\s{2,}", heads)[:5] == ["NAME", "PHASE", "SIZE", "MAX SIZE", "BROKERS"]
    assert values.split()[:5] == ["mc", "Running", "2", "4", "8"]
    done = minicluster("scale", "mc", "3", "--no-wait")
    assert done.stdout == "cluster mc: size 2 → 3, 8 → 12 brokers asked for\n"
    refused = minicluster("scale", "mc", "5", "--no-wait")
    assert "cannot have the size 5, which is 20 brokers: " in refused.stderr
    assert refused.stderr.rstrip().endswith("(4)")


def test_status_without_any_operator_reports_it(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    assert "no operator has looked at it yet" in minicluster("status", "mc").stdout


@pytest.mark.parametrize("command", ["status mc", "list", "list --output json"])
def test_a_status_of_an_earlier_version_is_reported_as_such(
    minicluster: CommandLine, operator: Operator, command: str
) -> None:
    """As after `scale` where no operator runs."""
    operator.make()
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs")
    old = "no operator has looked at this version of the document yet"
    done = minicluster(*command.split())
    assert old not in done.stdout + done.stderr
    operator.api.merge(operator.path(), {"spec": {"size": 3}})
    done = minicluster(*command.split())
    assert (done.returncode, old in (done.stderr if "list" in command else done.stdout)) == (0, True)


def scaler(operator: Operator, name: str, target: str, **status: object) -> None:
    """Have an autoscaler of somebody's, and the autoscaler's word on it."""
    resource_path = f"/apis/autoscaling/v2/namespaces/{operator.namespace}/horizontalpodautoscalers"
    operator.api.create(
        resource_path,
        {**autoscalers.hpa("Object", 2, 7), "metadata": {"name": name}}
        | {
            "spec": {
                **autoscalers.hpa("Object", 2, 7)["spec"],
                "scaleTargetRef": {
                    "apiVersion": "flux-framework.org/v1alpha2",
                    "kind": "MiniCluster",
                    "name": target,
                },
            }
        },
    )
    operator.api.merge(f"{resource_path}/{name}/status", {"status": status})


def test_status_shows_what_the_autoscaler_reports(minicluster: CommandLine, operator: Operator) -> None:
    """Whoever made it, and whatever it is called; not that of another MiniCluster."""
    operator.make()
    operator.make("other")
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs", readyBrokers=2)
    silent = {
        "type": "ScalingActive",
        "status": "False",
        "reason": "FailedGetObjectMetric",
        "message": "the lead API does not answer",
    }
    scaler(operator, "theirs", "mc", desiredReplicas=3, currentReplicas=2, conditions=[silent])
    scaler(operator, "others", "other", desiredReplicas=5, currentReplicas=2)
    (row,) = json.loads(minicluster("status", "mc", "-o", "json").stdout)
    (found,) = row["autoscalers"]
    assert (found["name"], found["least"], found["most"], found["desired"]) == ("theirs", 2, 7, 3)
    shown = minicluster("status", "mc").stdout
    line = next(line for line in shown.splitlines() if line.startswith("autoscaler:"))
    assert "theirs asks for 3, of 2 to 7; ScalingActive False, FailedGetObjectMetric: the lead API" in line


def test_status_shows_the_last_save(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    dump = {"path": "/a.tgz", "time": "2026-01-01T00:00:00Z", "jobs": 1}
    operator.report_status("Suspended", "Suspended", "Suspended", "suspended", lastDump=dump)
    assert json.loads(minicluster("status", "mc", "-o", "json").stdout)[0]["last_dump"]["jobs"] == 1
    assert "last dump:       /a.tgz, 2026-01-01T00:00:00Z, 1 job" in minicluster("status", "mc").stdout


def test_status_goes_without_a_queue_that_cannot_be_asked(
    minicluster: CommandLine, operator: Operator
) -> None:
    """And says why."""
    operator.make()
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs", readyBrokers=2)
    done = minicluster("status", "mc", "-o", "json")
    assert (done.returncode, json.loads(done.stdout)[0]["waiting"]) == (0, None)
    assert done.stderr.startswith(
        "minicluster: its queue cannot be shown: cluster mc: its lead broker has no pod"
    )


def test_top_of_one_whose_lead_is_away_reports_it(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs", readyBrokers=2)
    done = minicluster("top", "mc", "--once")
    assert (done.returncode, "its lead broker has no pod" in done.stderr) == (1, True)


def test_the_environment_may_choose_kubernetes(
    minicluster: CommandLine, operator: Operator, api: Api, namespace: str
) -> None:
    operator.make()
    words = minicluster.words("list")
    words = [word for word in words if word not in {"--on", "kubernetes"}]
    done = subprocess.run(
        words,
        env={**minicluster.environment(), "MINICLUSTER_ON": "kubernetes"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[1].split()[0] == "mc"
