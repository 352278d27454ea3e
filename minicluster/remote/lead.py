"""The container of a MiniCluster's lead broker, or why there is none now and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.kube_client.errors import FailedError, NotRunningError
from minicluster.kube_client.exec_stream import STDERR, STDOUT
from minicluster.kube_client.pod_streams import PodContainer
from minicluster.lead_client.broker_pods import pod_report
from minicluster.plan.constants import CONFIG_DIR, START_SCRIPT, Phase
from minicluster.remote import broker_pods, summary

if TYPE_CHECKING:
    from minicluster.plan.objects.fields import Object
    from minicluster.remote.session import NamespaceSession
    from minicluster.remote.summary import Summary

_SCRIPT = f"{CONFIG_DIR}/{START_SCRIPT}"
# A script that does not know the roles would start a second broker.
_CHECK = (
    'grep -q "^visit()" "$0" 2>/dev/null && exec sh "$0" "$@";'
    ' echo "minicluster: $0 of this pod is absent or cannot do this: the MiniCluster was made by an older'
    ' operator, or by another one; make it anew" >&2; exit 1'
)


def visit(role: str, *words: str) -> list[str]:
    """Return the command that runs a role of the start script for users, such as `shell`."""
    return ["sh", "-c", _CHECK, _SCRIPT, role, *words]


async def container(session: NamespaceSession, name: str) -> PodContainer:
    """Return the container in which the lead broker runs. Raises MissingError, NotRunningError."""
    cluster = summary.of(await session.cluster(name))
    pod = broker_pods.of_rank(await broker_pods.listing(session, name), 0)
    if pod is None or not _runs(pod):
        raise NotRunningError(f"cluster {name}: {_why_not(session, cluster, pod)}")
    return PodContainer(session.namespace, pod["metadata"]["name"], broker_pods.runner(pod))


async def environment(session: NamespaceSession, name: str) -> dict[str, str]:
    """Return the environment of the lead broker, which its jobs have.

    Raises MissingError, NotRunningError; FailedError where the container cannot tell it.
    """
    command = visit("shell", "--", "env", "-0")
    output: dict[int, bytes] = {}
    async with session.client.pods.execute(await container(session, name), command) as stream:
        async for channel, data in stream.output():
            output[channel] = output.get(channel, b"") + data
    if stream.exit_code:
        words = output.get(STDERR, b"").decode(errors="replace").strip()
        raise FailedError(f"cluster {name}: its lead's environment cannot be read: {words}")
    entries = output.get(STDOUT, b"").decode(errors="surrogateescape").split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def ended(cluster: Summary) -> bool:
    """Whether a MiniCluster has done its work, or failed."""
    return cluster.phase in {Phase.SUCCEEDED, Phase.FAILED}


def has_begun(pod: Object) -> bool:
    """Whether the broker's container has run, so that it has a log."""
    states = {"running", "terminated"}
    return any(
        states & {*(each.get("state") or ()), *(each.get("lastState") or ())} for each in runner_statuses(pod)
    )


def _runs(pod: Object) -> bool:
    return any("running" in (each.get("state") or ()) for each in runner_statuses(pod))


def runner_statuses(pod: Object) -> list[Object]:
    """Return the status of the broker's container; none before the pod has a node."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return [each for each in statuses if each["name"] == broker_pods.runner(pod)]


def _why_not(session: NamespaceSession, cluster: Summary, pod: Object | None) -> str:
    where = f"--on kubernetes -n {session.namespace}"
    stage = f" ({cluster.stage})" if cluster.phase else ""
    if ended(cluster):
        shows = f"`minicluster attach {cluster.name} {where}` shows what its command wrote"
        return f"has ended{stage}, and its jobs with it; {shows}, while its pod is there"
    if cluster.phase == Phase.SUSPENDED and cluster.is_suspended_by_document:
        return f"is suspended, so no broker runs: `minicluster resume {cluster.name} {where}` lets it go on"
    if cluster.phase in {Phase.SUSPENDED, Phase.INVALID, summary.ENDING}:
        return f"no broker runs{stage}"
    waits = f"`minicluster status {cluster.name} {where}` shows what it waits for"
    if pod is None:
        return f"its lead broker has no pod yet{stage}; {waits}"
    return f"its lead broker does not run{_state(pod)}; {waits}"


def _state(pod: Object) -> str:
    """Return the state of a pod whose broker does not run, in brackets."""
    report = pod_report(pod)
    name = pod["metadata"]["name"]
    if report.exit_code is not None:
        return f" any more: it ended with {report.exit_code} in pod {name}"
    why = f", {report.reason}" if report.reason else ""
    return f" yet: pod {name} is {report.phase}{why}" + (f" ({report.message})" if report.message else "")
