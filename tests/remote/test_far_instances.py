"""A person's work with the instance of a MiniCluster: through its lead's pod, or why that cannot be."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from minicluster.instance.errors import RequestRefused
from minicluster.instance.port import Instance
from minicluster.instance.records import JobRequest
from minicluster.kube_client.errors import KubernetesError, LostError, NotRunningError
from minicluster.kube_client.pod_streams import PodContainer
from minicluster.remote import attach, instances, lead
from tests.operator.field_sets import Object
from tests.remote.far_cluster import CONTAINER, Command, FarCluster, cluster, pod, run

STATUS = "`minicluster status mc --on kubernetes -n science`"
WAITS = f"{STATUS} shows what it waits for"
ATTACH = "`minicluster attach mc --on kubernetes -n science`"
SHOWS = f"{ATTACH} shows what its command wrote, while its pod is there"
RESUME = "`minicluster resume mc --on kubernetes -n science`"
POD = f"pod {CONTAINER.pod}"
STATES_OF_JOBS = ("depend", "priority", "sched", "run", "cleanup", "inactive", "total")
ENDINGS = ("successful", "failed", "canceled", "timeout")
STATS = {"job_states": dict.fromkeys(STATES_OF_JOBS, 4), **dict.fromkeys(ENDINGS, 0), "queues": []}
ENDED = cluster("Succeeded", "Succeeded", "the command ended with 0", exitCode=0)


def asked(far: FarCluster, work: Callable[[Instance], Any]) -> Any:
    async def inside() -> Any:
        async with far.session() as session:
            return await instances.ask(session, "mc", work)

    return run(inside())


def failure(
    far: FarCluster, work: Callable[[Instance], Any] = lambda instance: instance.queues.stats()
) -> KubernetesError:
    with pytest.raises(KubernetesError) as caught:
        asked(far, work)
    return caught.value


def relay(*answers: dict[str, Any], after: Callable[[Command], None] = lambda _: None) -> Any:
    """A relay that greets, and answers each request by the next of these."""

    async def command(command: Command) -> None:
        await command.answer(engine="embedded")
        for answer in answers:
            request = await command.request_line()
            await command.answer(id=request["id"], **answer)
        after(command)
        await command.receive_frame()

    return command


def test_a_request_goes_to_the_relay_beside_the_lead() -> None:
    seen: list[Any] = []

    async def command(command: Command) -> None:
        seen.append(command.words[3:])
        await command.answer(engine="flux")
        request = await command.request_line()
        seen.append((request["topic"], request["payload"]))
        await command.answer(id=request["id"], payload=STATS)
        await command.receive_frame()

    engine = asked(
        FarCluster(exec=command),
        lambda instance: (instance.engine, instance.uri, instance.queues.stats().total),
    )
    assert engine == ("flux", "cluster mc", 4)
    assert seen == [["/etc/minicluster/start.sh", "relay"], ("job-list.job-stats", {})]


def test_nothing_of_a_persons_environment_is_sent() -> None:
    """The job gets the pod's: the relay fills it in."""
    seen: list[Any] = []

    async def command(command: Command) -> None:
        await command.answer(engine="embedded")
        request = await command.request_line()
        seen.append(request["payload"]["jobspec"]["attributes"]["system"])
        await command.answer(id=request["id"], payload={"id": 7})
        await command.receive_frame()

    jobid = asked(FarCluster(exec=command), lambda instance: instance.jobs.submit(JobRequest(("true",))))
    assert (jobid, seen) == (7, [{"duration": 0.0}])


def test_a_refusal_is_the_instances() -> None:
    with pytest.raises(RequestRefused) as refusal:
        asked(
            FarCluster(exec=relay({"errnum": 1, "errstr": "not you"})),
            lambda instance: instance.queues.stats(),
        )
    assert str(refusal.value) == "job-list.job-stats: not you"


def test_a_line_may_come_in_parts() -> None:
    async def command(command: Command) -> None:
        await command.send_frame(1, b'{"engine": "embed')
        await command.send_frame(1, b'ded"}\n')
        await command.receive_frame()

    assert asked(FarCluster(exec=command), lambda instance: instance.engine) == "embedded"


def test_a_connection_that_breaks_off_while_somebody_waits() -> None:
    error = failure(FarCluster(exec=relay(after=lambda command: command.cut())))
    assert (type(error), error.exit_code) == (LostError, 125)
    assert str(error).startswith("the connection to pod mc-0-abcde was lost")


def test_a_script_that_reports_why_it_cannot() -> None:
    """As that of an older operator's pod."""

    async def command(command: Command) -> None:
        await command.send_frame(2, b"minicluster: /etc/minicluster/start.sh of this pod is absent\n")
        await command.end(1)

    error = failure(FarCluster(exec=command))
    message = "cluster mc: minicluster: /etc/minicluster/start.sh of this pod is absent"
    assert (type(error), str(error)) == (NotRunningError, f"{message}; {STATUS} shows how it is")


def test_what_is_no_relay_is_quoted() -> None:
    async def command(command: Command) -> None:
        await command.send_frame(1, b"Welcome!\n")
        await command.receive_frame()

    assert "no broker's helper: 'Welcome!'" in str(failure(FarCluster(exec=command)))


def test_an_instance_that_ends_meanwhile() -> None:
    """The state of the MiniCluster says more than the broken connection."""
    far = FarCluster()

    async def command(command: Command) -> None:
        await command.answer(engine="embedded")
        await command.request_line()
        far.cluster, far.pods = ENDED, [pod(state={"terminated": {"exitCode": 0}})]
        await command.answer(gone="the broker ended the connection")
        await command.end(1)

    far.exec = command
    error = failure(far)
    message = f"cluster mc: has ended (Succeeded: the command ended with 0), and its jobs with it; {SHOWS}"
    assert (type(error), str(error)) == (NotRunningError, message)


def test_ctrl_c_ends_the_wait() -> None:
    """Whoever waits in the thread is woken, or the program would not end."""
    waiting = asyncio.Event()

    async def command(command: Command) -> None:
        await command.answer(engine="embedded")
        await command.request_line()
        waiting.set()
        await command.receive_frame()

    async def work() -> None:
        async with FarCluster(exec=command).session() as session:
            task = asyncio.ensure_future(
                instances.ask(session, "mc", lambda instance: instance.queues.stats())
            )
            await waiting.wait()
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()

    run(work())


WAITING = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
STATES = {
    "no-pod": (
        cluster("Pending", "ResourcesCreated", "a quota is full", holds="False"),
        [],
        f"its lead broker has no pod yet (Pending: a quota is full); {WAITS}",
    ),
    "nobody-looked": (
        cluster("") | {"status": {}},
        [],
        f"its lead broker has no pod yet; {WAITS}",
    ),
    "waits": (
        cluster("Starting"),
        [pod(state=WAITING)],
        f"its lead broker does not run yet: {POD} is Pending, ImagePullBackOff (no such image); {WAITS}",
    ),
    "ended-just-now": (
        cluster(),
        [pod(state={"terminated": {"exitCode": 3}})],
        f"its lead broker does not run any more: it ended with 3 in {POD}; {WAITS}",
    ),
    "succeeded": (
        ENDED,
        [],
        f"has ended (Succeeded: the command ended with 0), and its jobs with it; {SHOWS}",
    ),
    "suspended": (
        cluster("Suspended", "Suspended", "as asked", reason="Suspended"),
        [],
        f"is suspended, so no broker runs: {RESUME} lets it go on",
    ),
    "queued": (
        cluster("Suspended", "Suspended", "Kueue has not admitted it", reason="Queued"),
        [],
        "no broker runs (Suspended: Kueue has not admitted it)",
    ),
    "invalid": (
        cluster("Invalid", "Valid", "spec.size: is wrong"),
        [],
        "no broker runs (Invalid: spec.size: is wrong)",
    ),
    "a-follower-only": (
        cluster("Starting", "Running", "1 of 2 pods run"),
        [pod("mc-1-x", 1)],
        f"its lead broker has no pod yet (Starting: 1 of 2 pods run); {WAITS}",
    ),
}


@pytest.mark.parametrize(("what", "pods", "message"), STATES.values(), ids=STATES)
def test_where_no_lead_runs_the_state_is_reported(what: Object, pods: list[Object], message: str) -> None:
    error = failure(FarCluster(cluster=what, pods=pods))
    assert (type(error), str(error)) == (NotRunningError, f"cluster mc: {message}")


def test_the_lead_is_the_pod_that_stays() -> None:
    """While a lost one goes, its rank has two."""
    going = pod("mc-0-zzzzz", deletionTimestamp="2026-01-01T00:00:00Z")

    async def work() -> PodContainer:
        async with FarCluster(pods=[going, pod(), pod("mc-1-x", 1)]).session() as session:
            return await lead.container(session, "mc")

    assert run(work()) == CONTAINER


NEXT = {
    "another-pod": (pod("mc-0-fghij"), "mc-0-fghij: second\n"),
    "started-anew-in-its-pod": (pod(restarts=1), "mc-0-abcde: second\n"),
}


@pytest.mark.parametrize("shown", [True, False], ids=["all-shown", "cut-short"])
def test_the_main_jobs_exit_code_is_the_clusters(shown: bool) -> None:
    """With the main job the instance ends, maybe before it has said how that ended."""

    def follow(instance: Instance, following: attach.Following) -> int:
        following.is_main, following.is_shown = True, shown
        return instance.queues.stats().total

    far = ends_with(7)
    assert run(followed(far, follow)) == 7
    logs = "`minicluster logs mc --rank 0 --on kubernetes -n science` has it"
    notices = [f"mc: the instance has ended before all output was read here; {logs}"]
    assert far.notices == ([] if shown else notices)


def test_another_jobs_exit_code_is_not_known() -> None:
    with pytest.raises(NotRunningError) as refusal:
        run(followed(ends_with(7), lambda instance, _: instance.queues.stats().total))
    assert "has ended (Failed: the command ended with 7), and its jobs with it" in str(refusal.value)


def ends_with(code: int) -> FarCluster:
    """A MiniCluster that ends while its instance is asked."""
    return becomes(cluster("Failed", "Failed", f"the command ended with {code}", exitCode=code))


async def followed(
    far: FarCluster,
    follow: Callable[[Instance, attach.Following], int],
    write: Callable[[bytes], None] = lambda _: None,
) -> int:
    async with far.session() as session:
        return await attach.job(session, "mc", write, follow)


def the_main_job(instance: Instance, following: attach.Following) -> int:
    """Follow a main job that never tells its end."""
    following.is_main = True
    return instance.queues.stats().total


def becomes(what: Object, *pods: Object) -> FarCluster:
    """A MiniCluster that becomes this while its instance is asked."""
    far = FarCluster()

    async def command(command: Command) -> None:
        await command.answer(engine="embedded")
        await command.request_line()
        far.cluster, far.pods = what, list(pods)
        await command.answer(gone="the broker ended the connection")

    far.exec = command
    return far


@pytest.mark.parametrize("following", [each for each, _ in NEXT.values()], ids=NEXT)
def test_a_main_job_is_followed_to_the_next_start_of_its_lead(following: Object) -> None:
    """The log of the first start is not repeated; that of the next has the rerun."""
    far = becomes(cluster("Starting", message="the lead was lost"), following)
    written: list[bytes] = []

    def log(name: str) -> str:
        far.cluster = cluster("Succeeded", "Succeeded", "", exitCode=0)
        return f"{name}: again\n"

    far.log = log
    name = following["metadata"]["name"]
    assert run(followed(far, the_main_job, written.append)) == 0
    assert b"".join(written).decode() == f"{name}: again\n"
    assert far.notices == [f"mc: its lead was lost; from here on its next start in pod {name}"]


def test_while_a_main_jobs_lead_is_awaited_the_state_is_reported() -> None:
    far = becomes(cluster("Pending", "ResourcesCreated", "a quota is full", holds="False"))

    async def work() -> int:
        task = asyncio.ensure_future(followed(far, the_main_job))
        while not far.notices:
            await asyncio.sleep(0)
        far.cluster = ENDED
        return await task

    assert run(work()) == 0
    assert far.notices[0] == "mc: Pending: a quota is full"


STUCK = {name: STATES[name] for name in ("suspended", "invalid")}


@pytest.mark.parametrize(("what", "pods", "message"), STUCK.values(), ids=STUCK)
def test_a_main_job_that_nothing_lets_go_on(what: Object, pods: list[Object], message: str) -> None:
    with pytest.raises(NotRunningError) as refusal:
        run(followed(becomes(what, *pods), the_main_job))
    assert str(refusal.value) == f"cluster mc: {message}"


@pytest.mark.parametrize(("status", "code"), [({"exitCode": 3}, 3), ({}, 125)], ids=["with", "without"])
def test_a_command_whose_pod_is_gone_has_only_its_exit_code(status: Object, code: int) -> None:
    far = FarCluster(cluster=cluster("Failed", "Failed", "pods were lost", **status), pods=[])

    async def work() -> int:
        async with far.session() as session:
            return await attach.main_command(session, "mc", lambda _: None)

    assert run(work()) == code
    assert far.notices[0] == "mc: its lead's pod is gone, and with it what the command wrote"


@pytest.mark.parametrize(("following", "second"), NEXT.values(), ids=NEXT)
def test_a_command_is_followed_to_the_next_start_of_its_lead(following: Object, second: str) -> None:
    """One log ends where the lead was lost; the next has the rest."""
    starts = iter(["first", "second"])
    far = FarCluster()

    def log(name: str) -> str:
        start = next(starts)
        if start == "first":
            far.pods = [following]
        else:
            far.cluster = cluster("Succeeded", "Succeeded", "", exitCode=0)
        return f"{name}: {start}\n"

    far.log = log
    written: list[bytes] = []

    async def work() -> int:
        async with far.session() as session:
            return await attach.main_command(session, "mc", written.append)

    assert (run(work()), b"".join(written).decode()) == (0, f"mc-0-abcde: first\n{second}")
