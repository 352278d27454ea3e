"""Jobs of a MiniCluster on real nodes, from outside: submit, jobs, attach, cancel, shell."""

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.devcluster import Api, ControlPlane, real_flux, until
from tests.devcluster.node_images import EMBEDDED, PLAIN, REAL
from tests.kubernetes import operators
from tests.kubernetes.command_line import MINICLUSTERS, CommandLine
from tests.kubernetes.terminals import Terminal

GROUP = "rbac.authorization.k8s.io"
LOOK = [
    {"apiGroups": ["flux-framework.org"], "resources": ["miniclusters"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
]
WORK = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]}
SECONDS = 60.0


def document(name: str, image: str, command: str = "", **spec: Any) -> dict[str, Any]:
    """Return a MiniCluster of one broker; without a command it stays up."""
    container = {
        "image": image,
        "command": command,
        "workingDir": "/usr/share",
        "environment": {"GREETING": "of the document"},
    }
    return {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": name},
        "spec": {
            "size": 1,
            "interactive": not command,
            "flux": {"container": {"disable": True}},
            "containers": [container],
            **spec,
        },
    }


@pytest.fixture(scope="module", params=[EMBEDDED, REAL], ids=["embedded", "flux"])
def image(request: pytest.FixtureRequest) -> str:
    """The image with the engine; that of real Flux only where this machine has it."""
    if request.param == REAL and real_flux.find() is None:
        pytest.skip("real Flux is not on PATH")
    return str(request.param)


@pytest.fixture(scope="module")
def place(nodes: ControlPlane, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A namespace with an operator of its own, and a MiniCluster `mc` that is up."""
    name = f"exec-{secrets.token_hex(3)}"
    nodes.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    log = tmp_path_factory.mktemp("operator") / "log"
    with operators.running(nodes.kubeconfig, log, "--namespace", name, "--no-leader-election"):
        make(nodes.api, name, document("mc", image))
        until(lambda: phase(nodes.api, name, "mc") == "Running", "mc to run", SECONDS)
        yield name
        nodes.api.delete(f"/api/v1/namespaces/{name}")


def make(api: Api, namespace: str, item: dict[str, Any]) -> None:
    """Create a MiniCluster, once the namespace is ready for its pods."""
    until(lambda: api.exists(f"/api/v1/namespaces/{namespace}/serviceaccounts/default"), "a service account")
    api.create(MINICLUSTERS.format(namespace), item)


def phase(api: Api, namespace: str, name: str) -> str:
    found = api.get(f"{MINICLUSTERS.format(namespace)}/{name}")
    return str((found.get("status") or {}).get("phase", ""))


def person(plane: ControlPlane, namespace: str, name: str, rules: list[dict[str, Any]]) -> CommandLine:
    """Return the command line of somebody who has just these rights."""
    path = f"/apis/{GROUP}/v1/namespaces/{namespace}"
    plane.api.create(f"{path}/roles", {"metadata": {"name": name}, "rules": rules})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": f"{name}-{namespace}"}],
    }
    plane.api.create(f"{path}/rolebindings", binding)
    return CommandLine(plane.user(f"{name}-{namespace}").kubeconfig, namespace)


@pytest.fixture(scope="module")
def worker(nodes: ControlPlane, place: str) -> Iterator[CommandLine]:
    """Somebody with the rights that jobs need, and no other."""
    program = person(nodes, place, "worker", [*LOOK, WORK])
    until(lambda: program("jobs", "mc").returncode == 0, "the rights and the broker")
    yield program
    program.end()


@pytest.fixture
def submit(worker: CommandLine) -> Callable[..., str]:
    """Submit a job, and return its id."""

    def submitted(*words: object) -> str:
        done = worker("submit", "mc", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return submitted


def test_status_and_top_show_what_waits(worker: CommandLine, submit: Callable[..., str]) -> None:
    """By the right to execute in the lead's pod alone: its Events and autoscalers are not shown."""
    held = submit("--urgency", 0, "--", "true")
    for command in (["status", "mc"], ["top", "mc", "--once"]):
        done = worker(*command, "--output", "json")
        (row,) = json.loads(done.stdout)
        assert (row["nodes_demanded"], row["jobs_pending"], row["jobs_held"]) == (1, 1, 1)
        assert [(each["id"], each["why"]) for each in row["waiting"]] == [(held, "held: its urgency is 0")]
        assert "its autoscalers cannot be shown: " in done.stderr
    assert worker("cancel", "mc", held).returncode == 0


def test_status_says_which_right_it_lacks_for_the_queue(nodes: ControlPlane, place: str) -> None:
    """And shows the rest."""
    looker = person(nodes, place, "onlooker", LOOK)
    until(lambda: looker("status", "mc").returncode == 0, "the rights")
    done = looker("status", "mc", "--output", "json")
    (row,) = json.loads(done.stdout)
    assert (row["phase"], row["waiting"]) == ("Running", None)
    (said,) = (line for line in done.stderr.splitlines() if "its queue cannot be shown" in line)
    assert "Needed are the verbs get and create on pods/exec" in said


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
    assert worker("jobs", "mc", "--all").stdout.split("\n")[0].split() == [
        *("ID", "STATE", "TASKS", "NODES", "TIME", "RANKS", "NAME"),
    ]
    (row,) = [
        each for each in json.loads(worker("jobs", "mc", "-a", "-o", "json").stdout) if each["id"] == job
    ]
    row.pop("time")
    assert row == {
        "id": job,
        "name": "true",
        "state": "COMPLETED",
        "tasks": 1,
        "nodes": 1,
        "ranks": "0",
        "exit_code": 0,
        "exception": "",
    }


def test_what_waits_can_be_cancelled(worker: CommandLine, submit: Callable[..., str]) -> None:
    job = submit("--urgency", 0, "--", "true")
    assert worker("cancel", "mc", job).returncode == 0
    done = worker("attach", "mc", job)
    assert (done.returncode, "job.exception type=cancel" in done.stderr) == (1, True)
    again = worker("cancel", "mc", job)
    said = f"minicluster: {job}: has ended already, with CANCELED; there is nothing to cancel\n"
    assert (again.returncode, again.stderr) == (2, said)


@pytest.mark.parametrize("command", ["attach", "cancel"])
def test_a_job_that_is_not_there(worker: CommandLine, place: str, command: str) -> None:
    done = worker(command, "mc", "f123")
    lists = f"`minicluster jobs mc --all --on kubernetes -n {place}` lists what it has"
    assert (done.returncode, done.stderr) == (
        2,
        f"minicluster: f123: cluster mc has no such job; {lists}\n",
    )


def test_a_shells_command_has_the_instance_and_its_code_is_ours(worker: CommandLine) -> None:
    done = worker.process(
        "shell", "mc", "--", "sh", "-c", "flux resource list -no '{state} {nodelist}'; exit 5"
    )
    assert (done.returncode, done.stdout.splitlines()[0]) == (5, "free mc-0"), done.stderr


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("pwd", "/usr/share\n"),
        ("echo $GREETING", "of the document\n"),
        ("tr a-z A-Z", "TYPED"),
        ("echo $TERM", "\n"),
    ],
    ids=["directory", "environment", "input", "no-terminal"],
)
def test_a_shells_command_is_in_the_lead_s_container(worker: CommandLine, command: str, shown: str) -> None:
    done = worker.process("shell", "mc", "--", "sh", "-c", command, given="typed")
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")


def test_without_a_command_the_shell_reads_its_input(worker: CommandLine) -> None:
    assert worker.process("shell", "mc", given="echo $((6 * 7)); exit 4").stdout == "42\n"


@pytest.fixture
def terminal(worker: CommandLine) -> Terminal:
    """A terminal with a shell beside the lead."""
    words = worker.words("shell", "mc", "--", "sh", "-i")
    started = Terminal.start(words, {**worker.environment(), "TERM": "xterm"}, columns=99, rows=33)
    started.until("$ ", "# ")
    return started


def test_a_shell_has_a_terminal_as_large_as_ours(terminal: Terminal) -> None:
    terminal.type("stty size\n")
    terminal.until("33 99")
    terminal.resize(columns=120, rows=40)
    terminal.until_answered("stty size\n", "40 120")
    terminal.type("exit 6\n")
    assert terminal.end() == 6


def test_ctrl_c_is_for_what_runs_there(terminal: Terminal) -> None:
    terminal.type("sleep 600\n")
    terminal.until("600")
    terminal.until_answered("\x03", "# ")
    terminal.type("echo al''ive; exit 0\n")
    terminal.until("alive")
    assert terminal.end() == 0


@pytest.mark.parametrize("signum", [None, 15], ids=["exit", "SIGTERM"])
def test_the_terminal_is_given_back_as_it_was(terminal: Terminal, signum: int | None) -> None:
    assert not terminal.is_cooked()
    if signum is None:
        terminal.type("exit 0\n")
    else:
        terminal.signal(signum)
    assert terminal.end(keep=True) == (0 if signum is None else 128 + signum)
    assert terminal.is_cooked()
    terminal.close()


def test_a_visitor_that_is_killed_leaves_nothing_there(
    worker: CommandLine, submit: Callable[..., str]
) -> None:
    """The relay ends with the connection."""
    job = submit("--", "sh", "-c", "echo begun; sleep 600")
    process = worker.begin("attach", "mc", job)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    assert relays(worker)
    process.kill()
    process.communicate()
    until(lambda: not relays(worker), "the relay to end")
    worker("cancel", "mc", job)


def relays(worker: CommandLine) -> str:
    """Return a word of each relay in the lead's container, of either engine."""
    return worker.process(
        "shell",
        "mc",
        "--",
        "sh",
        "-c",
        "cat /proc/[0-9]*/cmdline | grep -aoE 'minicluster-[r]elay|flux_[h]elper'",
    ).stdout


@pytest.mark.parametrize("verbs", [[], ["get"], ["create"]], ids=["nothing", "get", "create"])
def test_whoever_may_not_exec_is_told_what_to_ask_for(
    nodes: ControlPlane, place: str, verbs: list[str]
) -> None:
    """Kubernetes wants both: a WebSocket begins with a GET."""
    looker = person(nodes, place, f"looker-{''.join(verbs)}x", [*LOOK, {**WORK, "verbs": verbs or ["watch"]}])
    until(lambda: "pods/exec" in looker("jobs", "mc").stderr, "the rights to look")
    for words in (["submit", "mc", "true"], ["jobs", "mc"], ["cancel", "mc", "f1"], ["attach", "mc", "f1"]):
        done = looker(*words)
        assert (done.returncode, 'resource "pods/exec"' in done.stderr) == (1, True)
        assert done.stderr.endswith(
            "Needed are the verbs get and create on pods/exec: ask whoever administers the cluster"
            f" for the role edit in namespace {place}\n"
        )


def test_the_role_that_is_asked_for_is_enough(nodes: ControlPlane, place: str) -> None:
    """Kubernetes' own role `edit`, with what the installed operator adds to it."""
    editor = person(nodes, place, "editor", LOOK[:1])
    binding = {
        "metadata": {"name": "editor-edits"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": f"editor-{place}"}],
    }
    nodes.api.create(f"/apis/{GROUP}/v1/namespaces/{place}/rolebindings", binding)
    until(lambda: editor("jobs", "mc").returncode == 0, "the rights")
    assert editor.process("shell", "mc", "--", "true").returncode == 0


def test_a_cluster_that_is_not_there(worker: CommandLine, place: str) -> None:
    done = worker("submit", "nope", "true")
    assert (done.returncode, f"cluster nope: there is none in namespace {place}" in done.stderr) == (1, True)


def test_a_suspended_cluster(nodes: ControlPlane, place: str, worker: CommandLine) -> None:
    make(nodes.api, place, document("still", EMBEDDED, suspend=True))
    until(lambda: phase(nodes.api, place, "still") == "Suspended", "still to be suspended", SECONDS)
    done = worker("submit", "still", "true")
    assert (done.returncode, done.stderr.startswith("minicluster: cluster still: is suspended")) == (1, True)


def test_a_pod_that_an_older_operator_made(nodes: ControlPlane, place: str, worker: CommandLine) -> None:
    """Its start script does not know the role, and would start a second broker."""
    nodes.api.create(MINICLUSTERS.format(place), document("old", PLAIN, managedBy="example.org/other"))
    labels = {
        "app.kubernetes.io/name": "minicluster",
        "app.kubernetes.io/instance": "old",
        "app.kubernetes.io/component": "broker",
        "batch.kubernetes.io/job-completion-index": "0",
    }
    path = f"/api/v1/namespaces/{place}/pods"
    container = {"name": "flux", "image": PLAIN, "command": ["sleep", "600"]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    nodes.api.create(path, {"metadata": {"name": "old-0", "labels": labels}, "spec": spec})
    until(lambda: nodes.api.get(f"{path}/old-0")["status"].get("phase") == "Running", "the pod", SECONDS)
    said = "/etc/minicluster/start.sh of this pod is absent or cannot do this: the MiniCluster was made by"
    for done in (worker("submit", "old", "true"), worker.process("shell", "old")):
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr


@pytest.fixture(scope="module")
def ended(nodes: ControlPlane, place: str, image: str) -> str:
    """A MiniCluster whose command has failed with 7."""
    make(nodes.api, place, document("short", image, "sh -c 'echo some output; exit 7'"))
    until(lambda: phase(nodes.api, place, "short") == "Failed", "short to fail", SECONDS)
    return "short"


def test_a_command_that_has_ended_can_be_attached_to(worker: CommandLine, ended: str) -> None:
    done = worker("attach", ended)
    assert done.returncode == 7
    assert "some output" in done.stdout.splitlines()


@pytest.mark.parametrize("words", ["submit {} true", "attach {} f1", "jobs {}"])
def test_an_instance_that_has_ended(worker: CommandLine, ended: str, place: str, words: str) -> None:
    done = worker(*words.format(ended).split())
    shows = f"`minicluster attach {ended} --on kubernetes -n {place}` shows what its command wrote"
    assert (done.returncode, shows in done.stderr) == (1, True), done.stderr


@pytest.fixture
def begun(nodes: ControlPlane, place: str, image: str, worker: CommandLine) -> tuple[str, str]:
    """A MiniCluster whose command takes a while and ends with 9, and its main job's id."""
    name = f"mc-{secrets.token_hex(3)}"
    make(nodes.api, place, document(name, image, "sh -c 'echo begun; sleep 4; echo done; exit 9'"))
    until(lambda: phase(nodes.api, place, name) == "Running", f"{name} to run", SECONDS)
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
    nodes.restart_apiserver()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, "was lost" in errors, "what was begun there goes on" in errors) == (
        125,
        True,
        True,
    )
    assert worker.process("shell", "mc", "--", "touch", "/tmp/go").returncode == 0
    assert worker("attach", "mc", job).stdout == "begun\ndone\n"
