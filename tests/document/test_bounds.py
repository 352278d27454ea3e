"""Little text that stands for much is refused before anything is made of it, with the field and the bound."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from broker_config.errors import SettingsError
from broker_config.settings import BrokerSettings, BurstCluster, BurstingSettings
from minicluster.document import DocumentError, MiniCluster, bounds, load, messages, validate
from minicluster.plan import Site, render

HEAD = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": {"name": "m"}}
MAX_PEAK = 6_000_000  # bytes; what is refused here would take hundreds of megabytes, or does not end


def document(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """Return a document with this container and these fields of its spec."""
    return {**HEAD, "spec": {"containers": [container or {}], **spec}}


def bursting(**fields: Any) -> dict[str, Any]:
    """Return a document with these remote hosts."""
    return document(flux={"bursting": fields})


def limits(**amounts: Any) -> dict[str, Any]:
    """Return a document whose container has these limits."""
    return document({"resources": {"limits": amounts}})


def toml(text: str) -> dict[str, Any]:
    """Return a document with this broker configuration."""
    return document(flux={"brokerConfig": text})


def own_hosts(count: int) -> dict[str, Any]:
    """Return a document whose broker configuration has so many lists of a million hosts."""
    entries = ", ".join(f'{{host = "a{index}[0-1048574]"}}' for index in range(count))
    return toml(f'[bootstrap]\ncurve_cert = "/c"\nhosts = [{entries}]\n')


HOSTLIST = "spec.flux.bursting.hostlist: hostlist"
CLUSTERS = f"spec.flux.bursting.clusters: {messages.TOO_MANY_HOSTS}"
TOML = "spec.flux.brokerConfig: broker.toml"
LIMITS = "spec.containers[0].resources.limits"
DEEP = "more than 100 quotes and substitutions inside each other"
REFUSED = {
    "hostlist1M": (
        bursting(hostlist="x-0,b[0-1000000]"),
        f"{HOSTLIST} 'x-0,b[0-1000000]', character 7: more than 100000 hosts",
    ),
    "hostlist of brackets": (
        bursting(hostlist="b" + "[0-9]" * 6),
        f"{HOSTLIST} '{'b' + '[0-9]' * 6}', character 1: more than 100000 hosts",
    ),
    "hostlist of long names": (
        bursting(hostlist="x" * 60_000 + "[0-99999]"),
        f"{HOSTLIST} '{'x' * 57}...', character 1: a host name of more than 253 characters",
    ),
    "clusters64x100k": (
        bursting(clusters=[{"size": 100_000}] * 64),
        f"{CLUSTERS}: found 6400001, of which 6400000 are remote",
    ),
    "clusters as large as this one": (
        document(size=50_000, flux={"bursting": {"clusters": [{}, {}]}}),
        f"{CLUSTERS}: found 150000, of which 100000 are remote",
    ),
    "clusters beside a lead": (
        bursting(leadBroker={"address": "a", "name": "b", "size": 99_999}, clusters=[{"size": 2}]),
        f"{CLUSTERS}: found 100001, of which 2 are remote",
    ),
    "one host too many": (
        bursting(clusters=[{"size": 100_000}]),
        f"{CLUSTERS}: found 100001, of which 100000 are remote",
    ),
    "toml hosts": (
        own_hosts(10),
        f"{TOML}: [bootstrap] hosts, entry 1: hostlist 'a0[0-1048574]', character 4: more than 100000 hosts",
    ),
    "toml_dots": (toml("a." * 100_000 + "a=1"), f"{TOML}, line 1: a key of more than 32 dots"),
    "toml_depth": (toml("a=" + "[" * 3_000), f"{TOML}, line 1: more than 32 brackets inside each other"),
    "toml digits": (
        toml("a=" + "9" * 5_000),
        f"{TOML}: a number of more than 4300 digits",
    ),
    "toml bytes": (toml("# " + "é" * 200_000), f"{TOML} has 400002 bytes; allowed are 262144"),
    "gpus_1e7": (
        limits(**{"nvidia.com/gpu": "10000000"}),
        f"{LIMITS}: {messages.TOO_MANY_GPUS}: found 10000000 of nvidia.com/gpu",
    ),
    "GPUs of several kinds": (
        limits(**{"nvidia.com/gpu": 1_000, "nvidia.com/mig-1g.5gb": 25}),
        f"{LIMITS}: {messages.TOO_MANY_GPUS}: found 1000 of nvidia.com/gpu, 25 of nvidia.com/mig-1g.5gb",
    ),
    "cores": (limits(cpu="4097"), f"{LIMITS}.cpu: {messages.TOO_MANY_CORES}: found 4097"),
    "cores by exponent": (limits(cpu="9e99"), f"{LIMITS}.cpu: {messages.TOO_MANY_CORES}: found 9e99"),
    "cores of a request": (
        document({"resources": {"requests": {"cpu": "5k"}}}),
        f"spec.containers[0].resources.requests.cpu: {messages.TOO_MANY_CORES}: found 5k",
    ),
    "command": (document({"command": "echo " + "$(" * 2_000}), f"spec.containers[0].command: {DEEP}"),
    "a line of a batch": (
        document({"command": "true\necho " + "${a:-" * 2_000, "batch": True}),
        f"spec.containers[0].command: {DEEP}",
    ),
    "brackets of a command": (
        document({"command": "echo $(" + "(" * 2_000}),
        f"spec.containers[0].command: {DEEP}",
    ),
    "prefix": (
        document({"commands": {"prefix": '"$(' * 700}}),
        f"spec.containers[0].commands.prefix: {DEEP}",
    ),
    "option flags": (document(flux={"optionFlags": "$(" * 2_000}), f"spec.flux.optionFlags: {DEEP}"),
    "submit command": (document(flux={"submitCommand": "$(" * 2_000}), f"spec.flux.submitCommand: {DEEP}"),
}


@pytest.fixture(scope="module", autouse=True)
def _everything_is_imported() -> None:
    """So that only the document's own memory is counted."""
    render(validate(document()), Site())


def refusal(poison: dict[str, Any]) -> tuple[str, int]:
    """Return what is reported of a document, and the most memory that took, in bytes."""
    tracemalloc.start()
    try:
        with pytest.raises(DocumentError) as caught:
            validate(poison)
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("poison", "message"), REFUSED.values(), ids=REFUSED)
def test_what_stands_for_too_much_is_refused_before_it_is_expanded(
    poison: dict[str, Any], message: str
) -> None:
    """With the path and the bound; memory stays that of the text."""
    found, peak = refusal(poison)
    assert found == message
    assert peak < MAX_PEAK


def size(text: str) -> str:
    """Return a document of this size, as text."""
    return json.dumps(document()).replace('"containers"', f'"size": {text}, "containers"')


@pytest.mark.parametrize("text", ["0x" + "f" * 5_000, "0o" + "7" * 5_000, "0" + "7" * 9_000, "9" * 5_000])
def test_a_number_of_thousands_of_digits_is_not_read(text: str) -> None:
    """Python reads some of them and prints none."""
    with pytest.raises(DocumentError) as caught:
        load(size(text))
    assert "spec.size: a number of more than 100 digits" in str(caught.value)
    assert len(str(caught.value)) < 400


ALLOWED = {
    "hosts": bursting(clusters=[{"size": 99_999}]),
    "hosts of a list": bursting(hostlist="m-[0-99999]"),
    "a list stands for all, so local hosts are counted once": document(
        size=60_000, flux={"bursting": {"hostlist": "m-[0-59999]"}}
    ),
    "cores": limits(cpu=4_096),
    "GPUs": limits(**{"nvidia.com/gpu": 512, "amd.com/gpu": "512"}),
    "what only watches GPUs": limits(**{"gpu.intel.com/i915_monitoring": "1M"}),
    "memory": limits(memory="9E"),
    "depth": document({"command": "echo " + "$(" * 100 + ")" * 100}),
    "breadth": document({"command": "echo " + "$(date) '(' \"$(x)\" " * 1_000}),
}


@pytest.mark.parametrize("allowed", ALLOWED.values(), ids=ALLOWED)
def test_the_bound_itself_is_allowed(allowed: dict[str, Any]) -> None:
    """No rule is stricter than it says."""
    assert isinstance(validate(allowed), MiniCluster)


def test_hosts_of_settings_are_counted_before_they_are_named() -> None:
    """Also where settings come from elsewhere than from a document."""
    clusters = tuple(BurstCluster(f"b-{index}", 100_000) for index in range(64))
    settings = BrokerSettings("m", bursting=BurstingSettings(clusters=clusters))
    with pytest.raises(SettingsError, match="6400001 hosts, remote ones included; allowed are 100000"):
        _ = settings.hosts


@pytest.mark.parametrize("name", bounds.__all__)
def test_a_bound_is_documented(name: str) -> None:
    """The page for users has every number."""
    page = (Path(__file__).parents[2] / "docs" / "kubernetes.md").read_text()
    section = page.partition("## Bounds\n")[2].partition("\n## ")[0]
    assert f"{getattr(bounds, name):,}" in section
