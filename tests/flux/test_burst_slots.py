"""Real Flux with hosts that are declared for bursts: who joins them, and which queues start."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

from broker_config import broker_toml, host_table
from broker_config.settings import (
    ArchiveSettings,
    BrokerSettings,
    BurstCluster,
    BurstingSettings,
    Command,
    LeadBrokerSettings,
    NetworkSettings,
    RunMode,
)

CLUSTERS = (BurstCluster("burst-0", 1, 2),)
NEAR = BrokerSettings("mc", size=1, bursting=BurstingSettings(clusters=CLUSTERS))
STARTED = {"default": True, "burst": False, "burst-0": False}


def started(cluster):
    """Which queues start jobs; empty while the instance does not answer."""
    rows = cluster.flux("queue", "list", "-n", "-o", "{queue} {started.ascii}").splitlines()
    return {name: state == "y" for name, state in map(str.split, rows)}


def test_brokers_of_a_burst_join_the_declared_hosts(cluster):
    """Both sides have one table of hosts; ordinary jobs do not run there, and the slot's do."""
    near = cluster(NEAR, "near").start()
    near.until(lambda: started(near) == STARTED, "the local queue to be started")
    (host,) = tomllib.loads((near.directory / "config/broker.toml").read_text())["bootstrap"]["hosts"][:1]
    lead = LeadBrokerSettings("127.0.0.1", "mc", 1, int(host["connect"].rpartition(":")[2]))
    far = cluster(BrokerSettings("burst-0", bursting=BurstingSettings(lead, clusters=CLUSTERS)), "far")
    text = broker_toml.render(replace(far.settings, network=NetworkSettings("far")))
    (far.directory / "config/broker.toml").write_text(text)
    assert host_table.digest(text) == host_table.digest((near.directory / "config/broker.toml").read_text())
    certificate = Path(far.settings.curve_path)
    certificate.unlink()
    certificate.write_bytes(Path(near.settings.curve_path).read_bytes())
    certificate.chmod(0o400)
    waits = near.flux("submit", "--queue=burst-0", "-c2", "printenv", "FLUX_JOB_NNODES").strip()
    far.start(0)
    near.online(2)
    assert near.flux("run", "-N1", "printenv", "FLUX_JOB_NNODES") == "1\n"
    near.flux("queue", "start", "burst-0")
    assert near.flux("job", "attach", waits) == "1\n"
    shown = near.flux("jobs", "-a", "-n", "-o", "{queue} {nodelist}").splitlines()
    assert sorted(shown) == ["burst-0 burst-0-0", "default mc-0"]
    near.flux("shutdown", "--quiet")
    assert (near.wait(), far.wait()) == (0, 0)


def test_an_instance_that_goes_on_starts_the_local_queue_alone(cluster):
    """Flux knows that the slot's was started; its nodes may not be there any more."""
    mc = cluster(replace(NEAR, keeps_state=True)).start()
    mc.until(lambda: started(mc) == STARTED, "the local queue to be started")
    mc.flux("queue", "start", "burst-0")
    waits = mc.flux("submit", "--queue=burst-0", "true").strip()
    mc.flux("shutdown", "--quiet")
    mc.wait()
    mc.start(0)
    mc.until(lambda: started(mc) == STARTED, "the local queue to be started again")
    assert mc.flux("run", "echo", "here") == "here\n"
    assert waits in mc.flux("jobs", "-n", "-o", "{id}", "--queue=burst-0")
    mc.flux("shutdown", "--quiet")
    mc.wait()


def test_jobs_that_wait_for_a_burst_are_saved(cluster, tmp_path):
    """The next life has them, and runs its command at once."""
    archive = ArchiveSettings(str(tmp_path / "state.tgz"), 5)
    first = cluster(replace(NEAR, archive=archive), "first").start()
    first.until(lambda: started(first) == STARTED, "the local queue to be started")
    for queue in ("burst", "burst-0"):
        first.flux("submit", f"--queue={queue}", "true")
    first.processes[0].terminate()
    assert first.wait() == 143, first.output()
    line = "flux jobs -n -o '{queue} {state}'; flux queue list -n -o '{queue} {started.ascii}'; flux run true"
    command = {"command": Command(line), "mode": RunMode.LAUNCHER}
    second = cluster(replace(NEAR, archive=archive, **command), "second").start()
    assert second.wait() == 0, second.output()
    shown = set(second.output().splitlines())
    assert {"burst SCHED", "burst-0 SCHED", "default y", "burst n", "burst-0 n"} <= shown, second.output()
