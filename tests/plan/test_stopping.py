"""What Kubernetes runs in a container before it sends SIGTERM."""

from __future__ import annotations

from broker_config.start_script import WAIT_FOR_TRAP
from minicluster.plan import Site, render

OURS = {"preStop": {"exec": {"command": ["/bin/sh", "-c", WAIT_FOR_TRAP]}}}
BROKER = {"name": "flux", "image": "app", "runFlux": True, "command": "hostname"}
KINDS = ("initContainers", "containers")
HOOK = {"lifeCycle": {"preStopExec": "sync"}}


def hooks(cluster):
    """Return each container's hooks by its name, in broker pods and the services pod."""
    items = render(cluster, Site())
    pods = [item["spec"]["template"]["spec"] for item in items if item["kind"] == "Job"]
    pods += [item["spec"] for item in items if item["kind"] == "Pod"]
    every = [each for pod in pods for kind in KINDS for each in pod.get(kind, [])]
    return {each["name"]: each.get("lifecycle") for each in every}


def test_where_our_script_is_the_first_process(make):
    """It waits for that one's trap. An image's own entry point and a plain command stop as ever."""
    containers = [
        BROKER,
        {"name": "side", "image": "side", "command": "serve"},
        {"name": "plain", "image": "side", "command": "serve", "noWrapEntrypoint": True},
        {"name": "bare", "image": "side"},
    ]
    services = [{"name": "api", "image": "api", "command": "serve"}, {"name": "redis", "image": "redis"}]
    found = hooks(make({"containers": containers, "services": services}))
    wanted = {"flux": OURS, "side": OURS, "plain": None, "bare": None, "api": OURS, "redis": None}
    assert {name: found[name] for name in wanted} == wanted


def test_a_documents_hook_runs_alone(make):
    found = hooks(make({"containers": [{**BROKER, **HOOK}], "services": []}))
    assert found["flux"] == {"preStop": {"exec": {"command": ["/bin/sh", "-c", "sync"]}}}
