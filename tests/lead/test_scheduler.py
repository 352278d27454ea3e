"""Our queue policies in real Flux, loaded as the start script and broker.toml have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_config.settings import Command, RunMode
from tests.lead.client import until
from tests.lead.policies import Instance, elastic
from tests.queue_policies.installed_plugin import install_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.lead.pods import Pods

PLUGIN = """\
from dataclasses import dataclass
from pathlib import Path
from queue_policies.fcfs import Fcfs
from queue_policies.plugins import hookimpl

@dataclass(frozen=True)
class Failing:
    name = "failing"
    while_there: str = ""

    def decide(self, state, now):
        if Path(self.while_there).exists():
            raise RuntimeError("no luck")
        return Fcfs().decide(state, now)

@hookimpl
def minicluster_policies():
    return [Failing]
"""


@pytest.fixture(scope="module")
def easy(lay_out_flux: Callable[..., Pods]) -> Instance:
    """Three nodes of four cores, with EASY."""
    pods = lay_out_flux("minicluster/easy", 3).start(0, 1, 2)
    with pods.lead_api.watch() as watch:
        watch.until(online="0-2", running=True)
    until(lambda: pods.run("resource", "list", "-s", "up", "-no", "{ncores}") == "12", "all cores")
    return Instance(pods)


@pytest.fixture
def instance(easy: Instance) -> Iterator[Instance]:
    """The same, with no job."""
    yield easy
    easy.clear()


class TestEasy:
    """What users see of it."""

    def test_status_reports_which_policy_decides(self, instance: Instance) -> None:
        with instance.pods.lead_api.watch() as watch:
            assert watch.until(queue_policy="minicluster/easy")

    def test_slots_are_chosen_at_the_start(self, instance: Instance) -> None:
        """The tasks are as many as R has slots, low ranks first."""
        job = instance.submit("-n1", *elastic(2, 7), "sh", "-c", "echo $FLUX_JOB_SIZE")
        assert instance.hosts_and_slots(job) == ("mc-[0-1]", 7)
        assert instance.pods.run("job", "attach", job).split() == ["7"] * 7

    def test_nodes_are_chosen_at_the_start(self, instance: Instance) -> None:
        job = instance.submit("-N1", *elastic(1, 9), "sh", "-c", "echo $FLUX_JOB_NNODES-$FLUX_JOB_SIZE")
        assert instance.hosts_and_slots(job) == ("mc-[0-2]", 3)
        assert instance.pods.run("job", "attach", job).split() == ["3-3"] * 3

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            pytest.param(elastic(3, 2), "attributes.user.elastic: min 3 is greater than max 2", id="range"),
            pytest.param(elastic(13, 20), "need 13 slot(s)", id="least size too large"),
            pytest.param(("-N4", "-n4"), "need 4 node(s)", id="too many nodes"),
        ],
    )
    def test_what_can_never_run_is_refused(
        self, instance: Instance, words: tuple[str, ...], message: str
    ) -> None:
        """At submission."""
        done = instance.pods.ran("submit", *words, "true")
        assert done.returncode != 0
        assert message in done.stderr

    def test_jobs_overtake_only_where_that_delays_nobody(self, instance: Instance) -> None:
        """And whoever waits is told why, and until when."""
        first = instance.submit("-n11", "-t", "10m", "sleep", "inf")
        waiting = instance.submit("-n12", "true")
        late, short = instance.submit("-n1", "-t", "30m", "true"), instance.submit("-n1", "-t", "1m", "true")
        instance.pods.run("job", "wait-event", "-t", "25", short, "clean")
        assert [instance.state(job) for job in (first, waiting, late)] == ["RUN", "SCHED", "SCHED"]
        assert instance.annotation(waiting, "reason_pending") == "needs 12 cores; 1 core is free"
        end = instance.resources_of(first)["expiration"]
        assert float(instance.annotation(waiting, "t_estimate")) == pytest.approx(end, abs=1)
        answer = instance.pending()
        assert (answer["policy"], answer["running"], answer["free"]) == ("easy", 1, 1)
        assert [line["id"] for line in answer["jobs"]] == [waiting, late]
        assert instance.pods.run("resource", "list", "-s", "allocated", "-no", "{ncores}") == "11"

    def test_a_drained_node_gets_no_jobs(self, instance: Instance) -> None:
        """The others do, until it is back."""
        instance.pods.run("resource", "drain", "0", "to be looked at")
        try:
            job = instance.submit("-N2", "-n2", "true")
            assert instance.hosts_and_slots(job) == ("mc-[1-2]", 2)
            assert instance.pods.run("resource", "list", "-s", "down", "-no", "{nodelist}") == "mc-0"
        finally:
            instance.pods.run("resource", "undrain", "0")
        again = instance.submit("-N3", "-n3", "true")
        assert instance.hosts_and_slots(again) == ("mc-[0-2]", 3)

    def test_running_jobs_survive_a_reload(self, instance: Instance) -> None:
        """What they hold stays theirs, with another policy as well; and whoever waits goes on waiting."""
        running = instance.submit("-n10", "sleep", "inf")
        instance.pods.run("job", "wait-event", "-t", "25", running, "start")
        waiting = instance.submit("-n3", "true")
        instance.pods.run("module", "remove", "minicluster-sched")
        instance.pods.run("module", "load", "minicluster-sched", "policy=fcfs")
        beside = instance.submit("--urgency=31", "-n2", "true")
        assert instance.hosts_and_slots(beside) == ("mc-2", 2)
        assert [instance.state(job) for job in (running, waiting)] == ["RUN", "SCHED"]
        instance.pods.run("module", "reload", "minicluster-sched")
        instance.pods.run("cancel", running)
        assert instance.hosts_and_slots(waiting) == ("mc-0", 3)

    @pytest.mark.parametrize(
        ("policy", "message"),
        [
            pytest.param("eesy", "unknown queue policy 'eesy'; did you mean 'easy'?", id="unknown"),
            pytest.param(
                "cosched",
                "queue policy cosched has jobs share cores, which real Flux does not let them",
                id="sharing",
            ),
        ],
    )
    def test_a_wrong_policy_is_not_loaded(self, instance: Instance, policy: str, message: str) -> None:
        """Its own words say what would be right; the one before can be loaded again."""
        instance.pods.run("module", "remove", "minicluster-sched")
        assert instance.pods.ran("module", "load", "minicluster-sched", f"policy={policy}").returncode
        instance.pods.run("module", "load", "minicluster-sched")
        assert message in instance.pods.run("dmesg")
        assert instance.hosts_and_slots(instance.submit("true")) == ("mc-0", 1)


def test_a_policy_that_raises_takes_nothing_down(lay_out_flux: Callable[..., Pods], tmp_path: Path) -> None:
    """Jobs wait until it raises no more; it is a plug-in that Flux's Python has."""
    trouble = tmp_path / "trouble"
    site = tmp_path / "site"
    install_plugin(site, "failing", "failing", PLUGIN)
    install_plugin(site, "sjf", "my_sjf", "import no_such_module")
    pods = lay_out_flux("minicluster/failing", policy_settings={"while_there": str(trouble)})
    pods.start(0, PYTHONPATH=str(site))
    with pods.lead_api.watch() as watch:
        watch.until(online="0", running=True)
    instance = Instance(pods)
    running = instance.submit("-n1", "sleep", "inf")
    pods.run("job", "wait-event", "-t", "25", running, "start")
    trouble.touch()
    waiting = instance.submit("true")
    assert "policy plug-in sjf (my_sjf) does not load: ModuleNotFoundError" in pods.run("dmesg")
    assert "queue policy failing failed" in instance.annotation(waiting, "reason_pending")
    assert "RuntimeError: no luck" in instance.pending()["defect"]
    assert instance.state(running) == "RUN"
    trouble.unlink()
    after = instance.submit("true")
    assert [instance.hosts_and_slots(job) for job in (waiting, after)] == [("mc-0", 1), ("mc-0", 1)]


def test_the_instance_ends_clean(lay_out_flux: Callable[..., Pods]) -> None:
    """With 0, by its program's end. Flux instances that jobs start have Flux's own scheduler."""
    line = "flux module list && flux job attach $(flux batch -N1 --output=kvs --wrap flux module list)"
    pods = lay_out_flux("priority-elastic", 2, command=Command(line), mode=RunMode.LAUNCHER, quorum=2)
    pods.start(0, 1).processes[0].wait(100)  # an instance within an instance, on a busy machine
    assert pods.wait(0) == 0, pods.log_text(0)
    loaded = [line.split()[0] for line in pods.log_text(0).splitlines() if line.endswith("feasibility,sched")]
    assert loaded == ["minicluster-sched", "sched-simple"]
    assert pods.wait(1) == 0, pods.log_text(1)
