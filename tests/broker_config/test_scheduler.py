"""Our scheduler for real Flux: what the start script does for it."""

import os

import pytest

from broker_config.scheduler_settings import SchedulerSettings
from broker_config.settings import BrokerSettings, Command, LeadApiSettings
from minicluster import flux_zips
from minicluster.embedded.broker.launcher import write_bin

FILES = (flux_zips.SCHEDULER_ZIP, *flux_zips.scheduler_files())
ENGINES = {"flux": "# FLUX_EXEC_PATH", "embedded": "# minicluster.embedded"}


def settings(policy="minicluster/easy", **more):
    return BrokerSettings(
        "mc", **{"size": 2, "command": Command("true"), "scheduler": SchedulerSettings(policy), **more}
    )


@pytest.fixture
def config(pod):
    """What the ConfigMap holds for the scheduler, and for the door."""
    for name in (*FILES, flux_zips.ZIP, *flux_zips.module_files()):
        (pod.config / name).write_text(f"{name}\n")
    return pod.config


@pytest.fixture
def shown(pod):
    """What the broker is given: the environment variables of Flux's modules, by name."""

    def make(engine="flux"):
        flux = pod.directory / "bin" / "flux"
        seen = pod.directory / "seen"
        real = flux.rename(flux.with_name("recorder"))
        flux.write_text(
            f"#!/bin/sh\n{ENGINES[engine]}\n"
            f'[ "$1" = broker ] && env | grep ^FLUX_MOD >"{seen}"\nexec "{real}" "$@"\n'
        )
        flux.chmod(0o755)
        return lambda: dict(line.split("=", 1) for line in seen.read_text().splitlines())

    return make


def test_modprobe_finds_it(pod, config, shown):
    """In directories of the kind it wants."""
    variables = shown()
    assert pod.start(settings()).code == 0
    modprobe = pod.run_directory / "modprobe-sched"
    assert variables() == {
        "FLUX_MODPROBE_PATH_APPEND": str(modprobe),
        "FLUX_MODULE_PATH_PREPEND": str(config),
    }
    links = {str(path.relative_to(modprobe)): str(path.readlink()) for path in modprobe.glob("*/*")}
    assert links == {
        "modprobe.d/minicluster-sched.toml": str(config / "minicluster-sched-modprobe.toml"),
        "rc1.d/minicluster-sched.py": str(config / "minicluster-sched-rc1.py"),
    }


def test_a_lead_that_starts_again_links_anew(pod, config):
    """The run directory may be the one of the lead before."""
    assert [pod.start(settings()).code for _ in range(2)] == [0, 0]


def test_the_lead_module_is_found_as_well(pod, config, shown):
    """Each has its own directory."""
    variables = shown()
    pod.start(settings(lead_api=LeadApiSettings()))
    directories = [f"{pod.run_directory}/modprobe", f"{pod.run_directory}/modprobe-sched"]
    assert variables()["FLUX_MODPROBE_PATH_APPEND"].split(":") == directories


@pytest.mark.parametrize(
    ("more", "rank"),
    [
        pytest.param({}, 1, id="a follower"),
        pytest.param({"policy": "fcfs"}, 0, id="no policy of ours"),
        pytest.param(
            {"broker_toml": '[bootstrap]\nhosts = [{host = "mc-0"}]\n', "size": 1}, 0, id="a broker.toml"
        ),
    ],
)
def test_others_have_nothing_of_it(pod, config, shown, more, rank):
    """A user's own broker.toml says itself what is loaded."""
    variables = shown()
    pod.start(settings(**more), rank, STUB_PLAN="0" if rank else "")
    assert variables() == {}


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_ends_the_lead(pod, config, shown, name):
    """Another policy in its place would not be what the document asks for."""
    shown()
    (config / name).unlink()
    result = pod.start(settings())
    assert result.code == 1
    assert f"cannot read {config}/{name}, which brings the queue policy to real Flux" in result.err


def test_the_embedded_instance_needs_none_of_it(pod, shown):
    """It has the policies itself."""
    variables = shown("embedded")
    assert pod.start(settings()).code == 0
    assert variables() == {}


def test_the_embedded_command_is_recognized_by_its_text(tmp_path):
    """By which the start script, and the tests above, know it."""
    assert "minicluster.embedded" in write_bin(tmp_path).read_text()
    assert os.access(write_bin(tmp_path), os.X_OK)
