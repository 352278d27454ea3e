"""Modules of the embedded lead: what is configured is started, and what dies harms nobody."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.broker import modules
from minicluster.embedded.errors import ConfigurationError
from tests.lead.keys import Authority

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param(
            {"modules": ["door"]},
            "broker.toml, minicluster.modules: a table for each module is right",
            id="list",
        ),
        pytest.param(
            {"modules": {"door": True}},
            "broker.toml, minicluster.modules.door: a table would be right",
            id="no table",
        ),
        pytest.param(
            {"modules": {"nosuch": {}}},
            r"broker.toml, \[minicluster.modules.nosuch\]: there is no such module",
            id="unknown",
        ),
        pytest.param({"modules": {"../x": {}}}, "there is no such module", id="no name"),
    ],
)
def test_wrong_configuration(config: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        modules.configured({"minicluster": config})


def test_settings_by_name() -> None:
    config = {"minicluster": {"modules": {"door": {"port": 1}}}}
    assert modules.configured(config) == {"door": {"port": 1}}


def test_no_configuration_is_no_module() -> None:
    assert modules.configured({}) == {}


def test_a_lead_reports_what_is_wrong_with_a_module(make_instance: Callable[..., object]) -> None:
    """And does not start."""
    instance = make_instance(1)
    instance.config.write_text(f"{instance.config.read_text()}[minicluster.modules.nosuch]\n")
    instance.start(0, "true")
    assert instance.code(0) == 1
    assert "[minicluster.modules.nosuch]: there is no such module" in instance.log(0).read_text()


def test_a_module_that_dies_is_started_again_with_growing_pauses(
    make_instance: Callable[..., object],
) -> None:
    """Its settings are no number here, which it does not survive; the instance does."""
    instance = make_instance(1)
    instance.config.write_text(f'{instance.config.read_text()}[minicluster.modules.door]\nport = "x"\n')
    Authority().write(instance.directory / "secret")
    with instance.config.open("a") as file:
        file.write(f'directory = "{instance.directory}/secret"\n')
    instance.start(0, "-Sbroker.rc2_none", "-Sbroker.quorum=1")
    for pause in ("0.25", "0.5", "1"):
        assert instance.has_logged(0, f"module door ended with 1; it is started again in {pause} s")
    assert instance.flux("run", "echo", "alive").stdout == "alive\n"
    assert instance.end(0) == 0


def test_followers_start_no_module(make_instance: Callable[..., object]) -> None:
    """The file is the same on each broker."""
    instance = make_instance(2)
    instance.config.write_text(
        f'{instance.config.read_text()}[minicluster.modules.door]\ndirectory = "/nonexistent"\n'
    )
    instance.up()
    assert instance.has_logged(0, "the instance runs without the lead API: cannot read /nonexistent/door.crt")
    assert "door" not in instance.log(1).read_text()


def test_the_broker_itself_loads_no_module() -> None:
    """Nor the TLS library that one needs."""
    program = "import minicluster.embedded.broker.lead, sys; print([m for m in sys.modules if 'lead_' in m])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "[]\n"
