"""The rendered files of a table of settings, compared with golden/ (--golden-write renews them)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from broker_config import broker_toml, instance_resources, start_script
from broker_config.scheduler_settings import SchedulerSettings
from broker_config.settings import (
    ArchiveSettings,
    BrokerEndpoint,
    BurstCluster,
    BurstingSettings,
    Command,
    FluxView,
    HookScripts,
    LeadApiSettings,
    LeadBrokerSettings,
    LoggingSettings,
    NetworkSettings,
    NodeResources,
    RunMode,
    ServiceSettings,
    Submit,
)
from broker_config.settings import BrokerSettings as Settings

GOLDEN = Path(__file__).parent / "golden"
SERVICE = NetworkSettings(service="mc", namespace="lab")
HOOKS = HookScripts(
    "echo init", "export A=1", "echo broker", "echo worker", "echo service", "echo post", "env B=2"
)
OWN_QUEUES = """\
[queues.debug]
[queues.big]
requires = ["bigmem"]
[queues.default.policy.limits]
duration = "1h"
[ingest.frobnicator]
plugins = ["defaults", "/opt/site.py", "constraints"]
"""
TABLE = {
    "plain": Settings(
        "mc", size=4, command=Command("lmp -in in.lj"), network=SERVICE, submit=Submit(tasks=4)
    ),
    "everything": Settings(
        "mc",
        size=2,
        max_size=8,
        quorum=1,
        command=Command("lmp -in 'in file' | tee log"),
        logs="/data/my logs",
        submit=Submit(3, "-o cpu-affinity=off", "", label_output=True),
        wrap="strace,-f",
        environment={"OMP_NUM_THREADS": "2", "TITLE": "it's $5"},
        hooks=HOOKS,
        logging=LoggingSettings(strict=True, debug=True, zeromq=True, timed=True, level=7),
        connect_timeout="10s",
        topology="kary:2",
        scheduler=SchedulerSettings("minicluster/backfill", simple=True, settings={"depth": 4}),
        bursting=BurstingSettings(clusters=(BurstCluster("burst-0", 2),)),
        network=NetworkSettings("net", "lab", "example.org", 9050),
        node=NodeResources(4, 1, {"gpu": "0-9"}),
        archive=ArchiveSettings("/data/state.tgz", 30),
        view=FluxView("/mnt/flux", "/mnt/flux/python"),
        complete_workers=True,
    ),
    "launcher-quiet": Settings(
        "mc",
        mode=RunMode.LAUNCHER,
        command=Command("snakemake --cores 2"),
        logging=LoggingSettings(quiet=True),
        disable_socket=True,
        network=SERVICE,
        hooks=HookScripts(pre="echo pre", post="echo post"),
    ),
    "arguments": Settings(
        "mc", size=2, command=Command(args=("echo", "", "a b", "$HOME", "\n")), network=SERVICE
    ),
    "batch": Settings(
        "mc", size=2, mode=RunMode.BATCH, command=Command("echo one\necho two; exit 2\n"), network=SERVICE
    ),
    "batch-logs": Settings(
        "mc", mode=RunMode.BATCH, logs="/data/out put", command=Command("echo one"), network=SERVICE
    ),
    "batch-raw": Settings(
        "mc",
        mode=RunMode.BATCH,
        batch_raw=True,
        command=Command("flux run a\nflux queue idle"),
        network=SERVICE,
    ),
    "interactive": Settings("mc", size=2, network=SERVICE, archive=ArchiveSettings("/data/state.tgz")),
    "script": Settings("mc", network=SERVICE, hooks=HookScripts(script="#!/usr/bin/env python3\nprint(1)\n")),
    "minimal-service": Settings(
        "mc",
        size=3,
        command=Command("true"),
        network=NetworkSettings("mc", "lab", minimal=True),
        view=FluxView(disable=True),
    ),
    "bursted": Settings(
        "burst-0",
        size=2,
        network=NetworkSettings("burst", "lab"),
        bursting=BurstingSettings(
            LeadBrokerSettings("24.1.2.3", "mc", 3, 30093), clusters=(BurstCluster("burst-0", 2),)
        ),
    ),
    "slots": Settings(
        "mc",
        size=2,
        max_size=4,
        network=SERVICE,
        node=NodeResources(4, 1),
        archive=ArchiveSettings("/data/state.tgz"),
        bursting=BurstingSettings(
            clusters=(BurstCluster("burst-0", 3), BurstCluster("large", 2, 64), BurstCluster("burst-2", 1))
        ),
    ),
    "slots-managed": Settings(
        "mc",
        size=2,
        command=Command("hostname"),
        network=SERVICE,
        node=NodeResources(None),
        scheduler=SchedulerSettings("minicluster/easy"),
        bursting=BurstingSettings(
            clusters=(BurstCluster("one", 2, 1), BurstCluster("gpus", 2, None, 4), BurstCluster("alike", 1)),
            managed=True,
        ),
        broker_toml=OWN_QUEUES,
    ),
    "slots-of-a-hostlist": Settings(
        "mc",
        size=2,
        mode=RunMode.LAUNCHER,
        command=Command("flux run hostname"),
        network=SERVICE,
        bursting=BurstingSettings(hostlist="mc-0,mc-1,cloud-[0-11]"),
    ),
    "door": Settings(
        "mc",
        size=2,
        command=Command("hostname"),
        network=SERVICE,
        archive=ArchiveSettings("/data/state.tgz"),
        lead_api=LeadApiSettings(9443, "/etc/keys"),
    ),
    "local": Settings(
        "mc",
        size=2,
        command=Command("hostname"),
        submit=Submit(passes_input=True),
        network=NetworkSettings(
            endpoints=(BrokerEndpoint("mc-0", "tcp://127.0.0.1:4711", "tcp://127.0.0.1:4711"),)
        ),
        curve_path="/home/me/my cluster/curve.cert",
        config_dir="/home/me/my cluster",
        view=FluxView(disable=True),
    ),
}
SERVICES = {
    "sidecar": ServiceSettings("sleep infinity", HOOKS, environment={"A": "b c"}, stays=True),
    "service": ServiceSettings("nginx -g 'daemon off;'", wait_socket=False, view=FluxView(disable=True)),
}


def files(settings):
    return {
        "broker.toml": broker_toml.render(settings),
        "R": instance_resources.render(settings),
        "start.sh": start_script.render(settings),
        **start_script.companion_files(settings),
    }


RENDERED = {
    **{f"{case}/{name}": text for case, each in TABLE.items() for name, text in files(each).items()},
    **{f"{case}/service.sh": start_script.service_script(each) for case, each in SERVICES.items()},
}


@pytest.mark.parametrize("name", RENDERED)
def test_file(request, name):
    """What is rendered is what was read and kept."""
    path = GOLDEN / name
    if request.config.getoption("--golden-write"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(RENDERED[name])
    assert RENDERED[name] == path.read_text()


@pytest.mark.parametrize("name", [name for name in RENDERED if name.endswith(".sh")])
def test_script_is_posix(name):
    """A POSIX shell can read it."""
    done = subprocess.run(["sh", "-n"], input=RENDERED[name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_golden_file_is_left_over():
    """Each belongs to a case of the table."""
    kept = {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.is_file()}
    assert kept == set(RENDERED)
