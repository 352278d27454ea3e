"""Jobs of a MiniCluster on real nodes, from outside: submit, jobs, attach, cancel."""

import json
import secrets
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.devcluster import ControlPlane, until
from tests.devcluster.node_images import EMBEDDED, PLAIN
from tests.kubernetes.cli.exec.single_broker import READ, SECONDS, WORK, document, make, phase, user
from tests.kubernetes.command_line import MINICLUSTERS, RBAC, CommandLine


def test_status_and_top_show_what_waits(worker: CommandLine, submit: Callable[..., str]) -> None:
    """By the right to execute in the lead's pod alone: its Events and autoscalers are not shown."""
    pending = submit("--urgency", 0, "--", "true")
    for command in (["status", "mc"], ["top", "mc", "--once"]):
        done = worker(*command, "--output", "json")
        (row,) = json.loads(done.stdout)
        assert (row["nodes_demanded"], row["jobs_pending"], row["jobs_held"]) == (1, 1, 1)
        assert [(each["id"], each["why"]) for each in row["waiting"]] == [(pending, "held: its urgency is 0")]
        assert "its autoscalers cannot be shown: " in done.stderr
    assert worker("cancel", "mc", pending).returncode == 0


def test_status_reports_which_right_it_lacks_for_the_queue(nodes: ControlPlane, namespace: str) -> None:
    """And shows the rest."""
    reader = user(nodes, namespace, "onlooker", READ)
    until(lambda: reader("status", "mc").returncode == 0, "the rights")
    done = reader("status", "mc", "--output", "json")
    (row,) = json.loads(done.stdout)
    assert (row["phase"], row["waiting"]) == ("Running", None)
    (message,) = (line for line in done.stderr.splitlines() if "its queue cannot be shown" in line)
    assert "Needed are the verbs get and create on pods/exec" in message


def test_a_jobs_output_and_exit_code_come_back(worker: CommandLine, submit: Callable[..., str]) -> None:
    done = worker("attach", "mc", submit("--", "sh", "-c", "echo out; echo err >&2; exit 3"))
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_a_job_has_the_pods_environment_and_directory(worker: CommandLine) -> None:
    """Nothing of the person's own is sent: their paths and secrets mean nothing there."""
    there = replace(worker, more=(("GREETING", "mine"), ("TOKEN", "secret")))
    job = there("submit", "mc", "--", "sh", "-c", "echo $GREETING, $TOKEN; pwd").stdout.strip()
    assert worker("attach", "mc", job).stdout == "of the document,\n/usr/share\n"


def test_output_of_several_tasks_is_labelled(worker: CommandLine, submit: Callable[..., str]) -> None:
    shown = worker("attach", "mc", submit("-n", 2, "--", "echo", "hello")).stdout
    assert sorted(shown.splitlines()) == ["0: hello", "1: hello"]


def test_much_output_is_whole(worker: CommandLine, submit: Callable[..., str]) -> None:
    shown = worker("attach", "mc", submit("--", "seq", "100000")).stdout
    assert shown == "".join(f"{number}\n" for number in range(1, 100001))


def test_jobs_are_listed_as_on_this_machine(worker: CommandLine, submit: Callable[..., str]) -> None:
    """The same columns, the same keys."""
    job = submit("--", "true")
    worker("attach", "mc", job)
    columns = worker("jobs", "mc", "--all").stdout.split("\n")[0].split()
    # Jobs of other tests may have an urgency of their own.
    assert [each for each in columns if each != "URGENCY"] == [
        *("ID", "USER", "NAME", "STATE", "TASKS", "NODES", "SUBMITTED", "TIME", "INFO"),
    ]
    (row,) = [
        each for each in json.loads(worker("jobs", "mc", "-a", "-o", "json").stdout) if each["id"] == job
    ]
    known = {
        "id": job,
        "name": "true",
        "state": "COMPLETED",
        "tasks": 1,
        "nodes": 1,
        "ranks": "0",
        "exit_code": 0,
        "exception": "",
    }
    assert {key: row[key] for key in known} == known
    assert row["t_submit"] <= row["t_run"] <= row["t_inactive"]


def test_a_job_may_change_the_pods_environment(worker: CommandLine) -> None:
    """A copy for each id; of the person's own only what is asked for."""
    there = replace(worker, more=(("GREETING", "mine"), ("TOKEN", "given")))
    program = ("sh", "-c", "echo $GREETING, $TOKEN, $MORE, $FLUX_JOB_CC; pwd; exit {cc}")
    options = ("--watch", "--quiet", "--cc", "2", "--env", "TOKEN", "--env", "MORE=$GREETING more")
    done = there("submit", "mc", *options, *program)
    assert (done.returncode, done.stdout) == (
        2,
        "of the document, given, of the document more, 2\n/usr/share\n",
    )


def test_what_waits_can_be_cancelled(worker: CommandLine, submit: Callable[..., str]) -> None:
    job = submit("--urgency", 0, "--", "true")
    assert worker("cancel", "mc", job).returncode == 0
    done = worker("attach", "mc", job)
    assert (done.returncode, "job.exception type=cancel" in done.stderr) == (1, True)
    again = worker("cancel", "mc", job)
    message = f"minicluster: {job}: has ended already, with CANCELED; there is nothing to cancel\n"
    assert (again.returncode, again.stderr) == (2, message)


@pytest.mark.parametrize("command", ["attach", "cancel"])
def test_a_job_that_is_not_there(worker: CommandLine, namespace: str, command: str) -> None:
    done = worker(command, "mc", "f123")
    lists = f"`minicluster jobs mc --all --on kubernetes -n {namespace}` lists what it has"
    assert (done.returncode, done.stderr) == (
        2,
        f"minicluster: f123: cluster mc has no such job; {lists}\n",
    )


@pytest.mark.parametrize("verbs", [[], ["get"], ["create"]], ids=["nothing", "get", "create"])
def test_whoever_may_not_exec_learns_what_to_ask_for(
    nodes: ControlPlane, namespace: str, verbs: list[str]
) -> None:
    """Kubernetes wants both: a WebSocket begins with a GET."""
    rules = [*READ, {**WORK, "verbs": verbs or ["watch"]}]
    reader = user(nodes, namespace, f"looker-{''.join(verbs)}x", rules)
    until(lambda: "pods/exec" in reader("jobs", "mc").stderr, "the rights to look")
    for words in (["submit", "mc", "true"], ["jobs", "mc"], ["cancel", "mc", "f1"], ["attach", "mc", "f1"]):
        done = reader(*words)
        assert (done.returncode, 'resource "pods/exec"' in done.stderr) == (1, True)
        assert done.stderr.endswith(
            "Needed are the verbs get and create on pods/exec: ask whoever administers the cluster"
            f" for the role edit in namespace {namespace}\n"
        )


def test_the_role_that_is_asked_for_is_enough(nodes: ControlPlane, namespace: str) -> None:
    """Kubernetes' own role `edit`, with what the installed operator adds to it."""
    editor = user(nodes, namespace, "editor", READ[:1])
    binding = {
        "metadata": {"name": "editor-edits"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": f"editor-{namespace}"}],
    }
    nodes.api.create(f"/apis/{RBAC}/v1/namespaces/{namespace}/rolebindings", binding)
    until(lambda: editor("jobs", "mc").returncode == 0, "the rights")
    assert editor.process("shell", "mc", "--", "true").returncode == 0


def test_a_cluster_that_is_not_there(worker: CommandLine, namespace: str) -> None:
    done = worker("submit", "nope", "true")
    message = f"cluster nope: there is none in namespace {namespace}"
    assert (done.returncode, message in done.stderr) == (1, True)


def test_a_suspended_cluster(nodes: ControlPlane, namespace: str, worker: CommandLine) -> None:
    make(nodes.api, namespace, document("still", EMBEDDED, suspend=True))
    until(lambda: phase(nodes.api, namespace, "still") == "Suspended", "still to be suspended", SECONDS)
    done = worker("submit", "still", "true")
    assert (done.returncode, done.stderr.startswith("minicluster: cluster still: is suspended")) == (1, True)


def test_a_pod_that_an_older_operator_made(nodes: ControlPlane, namespace: str, worker: CommandLine) -> None:
    """Its start script does not know the role, and would start a second broker."""
    nodes.api.create(MINICLUSTERS.format(namespace), document("old", PLAIN, managedBy="example.org/other"))
    labels = {
        "app.kubernetes.io/name": "minicluster",
        "app.kubernetes.io/instance": "old",
        "app.kubernetes.io/component": "broker",
        "batch.kubernetes.io/job-completion-index": "0",
    }
    path = f"/api/v1/namespaces/{namespace}/pods"
    container = {"name": "flux", "image": PLAIN, "command": ["sleep", "600"]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    nodes.api.create(path, {"metadata": {"name": "old-0", "labels": labels}, "spec": spec})
    until(lambda: nodes.api.get(f"{path}/old-0")["status"].get("phase") == "Running", "the pod", SECONDS)
    message = "/etc/minicluster/start.sh of this pod is absent or cannot do this: the MiniCluster was made by"
    for done in (worker("submit", "old", "true"), worker.process("shell", "old")):
        assert (done.returncode, message in done.stderr) == (1, True), done.stderr


@pytest.fixture(scope="module")
def ended(nodes: ControlPlane, namespace: str, image: str) -> str:
    """A MiniCluster whose command has failed with 7."""
    make(nodes.api, namespace, document("short", image, "sh -c 'echo some output; exit 7'"))
    until(lambda: phase(nodes.api, namespace, "short") == "Failed", "short to fail", SECONDS)
    return "short"


def test_a_command_that_has_ended_can_be_attached_to(worker: CommandLine, ended: str) -> None:
    done = worker("attach", ended)
    assert done.returncode == 7
    assert "some output" in done.stdout.splitlines()


@pytest.mark.parametrize("words", ["submit {} true", "attach {} f1", "jobs {}"])
def test_an_instance_that_has_ended(worker: CommandLine, ended: str, namespace: str, words: str) -> None:
    done = worker(*words.format(ended).split())
    shows = f"`minicluster attach {ended} --on kubernetes -n {namespace}` shows what its command wrote"
    assert (done.returncode, shows in done.stderr) == (1, True), done.stderr


@pytest.fixture
def begun(nodes: ControlPlane, namespace: str, image: str, worker: CommandLine) -> tuple[str, str]:
    """A MiniCluster whose command takes a while and ends with 9, and its main job's id."""
    name = f"mc-{secrets.token_hex(3)}"
    make(nodes.api, namespace, document(name, image, "sh -c 'echo begun; sleep 4; echo done; exit 9'"))
    until(lambda: phase(nodes.api, namespace, name) == "Running", f"{name} to run", SECONDS)
    listed = until(lambda: json.loads(worker("jobs", name, "-o", "json").stdout or "[]"), "a job")
    return name, str(listed[0]["id"])


def test_attaching_to_the_main_job_ends_with_its_code(worker: CommandLine, begun: tuple[str, str]) -> None:
    """The instance ends with it."""
    done = worker("attach", *begun)
    assert (done.returncode, done.stdout) == (9, "begun\ndone\n"), done.stderr


def test_attaching_to_the_command_follows_the_leads_log(worker: CommandLine, begun: tuple[str, str]) -> None:
    done = worker("attach", begun[0])
    words = [line for line in done.stdout.splitlines() if line in {"begun", "done"}]
    assert (done.returncode, words) == (9, ["begun", "done"]), done.stderr


def test_a_connection_that_is_lost_ends_no_job(
    nodes: ControlPlane, worker: CommandLine, submit: Callable[..., str]
) -> None:
    """The exit code is none of the job's, and the job can be attached to again."""
    job = submit("--", "sh", "-c", "echo begun; until test -e /tmp/go; do sleep 0.1; done; echo done")
    process = worker.begin("attach", "mc", job)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    nodes.apiserver.restart()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, "was lost" in errors, "what was begun there goes on" in errors) == (
        125,
        True,
        True,
    )
    assert worker.process("shell", "mc", "--", "touch", "/tmp/go").returncode == 0
    assert worker("attach", "mc", job).stdout == "begun\ndone\n"
