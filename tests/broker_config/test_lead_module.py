"""The lead's door: what the start script does for it."""

import pytest

from broker_config.settings import BrokerSettings, Command, LeadApiSettings
from minicluster import flux_zips

FILES = (flux_zips.ZIP, *flux_zips.module_files())


def settings(**more):
    return BrokerSettings(
        "mc", **{"size": 2, "command": Command("true"), "lead_api": LeadApiSettings(), **more}
    )


@pytest.fixture
def config(pod):
    """What the ConfigMap holds for the door."""
    for name in FILES:
        (pod.config / name).write_text(f"{name}\n")
    return pod.config


@pytest.fixture
def shown(pod):
    """What the broker is given: the environment variables of Flux's modules, by name."""
    flux = pod.directory / "bin" / "flux"
    seen = pod.directory / "seen"
    real = flux.rename(flux.with_name("recorder"))
    flux.write_text(
        "#!/bin/sh\n# FLUX_EXEC_PATH\n"
        f'[ "$1" = broker ] && env | grep ^FLUX_MOD >"{seen}"\nexec "{real}" "$@"\n'
    )
    flux.chmod(0o755)
    return lambda: dict(line.split("=", 1) for line in seen.read_text().splitlines())


def test_modprobe_finds_the_lead_module(pod, config, shown):
    """In directories of the kind it wants, by links that survive a change of the ConfigMap."""
    assert pod.start(settings()).err.count("door") == 0
    modprobe = pod.run_directory / "modprobe"
    assert shown() == {"FLUX_MODPROBE_PATH_APPEND": str(modprobe), "FLUX_MODULE_PATH_PREPEND": str(config)}
    links = {str(path.relative_to(modprobe)): str(path.readlink()) for path in modprobe.glob("*/*")}
    assert links == {
        "modprobe.d/minicluster.toml": str(config / "minicluster-modprobe.toml"),
        "rc1.d/minicluster.py": str(config / "minicluster-rc1.py"),
    }


def test_what_the_image_adds_to_flux_stays(pod, config, shown):
    """Its own search paths."""
    pod.start(settings(), FLUX_MODPROBE_PATH_APPEND="/a", FLUX_MODULE_PATH_PREPEND="/b")
    assert shown() == {
        "FLUX_MODPROBE_PATH_APPEND": f"/a:{pod.run_directory}/modprobe",
        "FLUX_MODULE_PATH_PREPEND": f"{config}:/b",
    }


def test_a_lead_that_starts_again_links_anew(pod, config):
    """The run directory may be the one of the lead before."""
    assert [pod.start(settings()).code for _ in range(2)] == [0, 0]


def test_the_lead_module_changes_nothing_about_other_modules(pod, config):
    """Where one of Flux's own dies, the instance ends, as it does without a door."""
    pod.start(settings())
    assert not [word for word in pod.call("broker") if "nopanic" in word]


def test_followers_have_no_lead_server(pod, config, shown):
    """Nor anything of it."""
    pod.start(settings(), 1, STUB_PLAN="0")
    assert shown() == {}


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_reported_and_nothing_else(pod, config, shown, name):
    """A ConfigMap of an older operator: the instance runs."""
    (config / name).unlink()
    result = pod.start(settings())
    assert result.code == 0
    assert f"cannot read {config}/{name}: real Flux runs without the lead API" in result.err
    assert shown() == {}


def test_no_lead_api_nothing_of_it(pod, config, shown):
    """On a local machine."""
    pod.start(settings(lead_api=None))
    assert shown() == {}
