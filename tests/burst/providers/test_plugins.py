"""Kinds of providers: found by entry point, reported where they do not load, opened with their settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from burst.errors import AccessDenied, SettingsInvalid
from burst.lifecycle.records import ResourceKey, ResourcePhase
from burst.planning.records import NodeShape, Offer
from burst.providers.memory import MemoryCloud, MemoryProvider
from burst.providers.memory_kind import KIND
from burst.providers.plugins import ProviderContext, ProviderKinds, kinds, open_providers
from burst.providers.provider import WantedBurst
from burst.settings.file import SettingsFile, parse


class RackSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    rack: int = 1
    token: str = ""


class Rack:
    """A kind as a plug-in brings it."""

    settings = RackSettings

    def open(self, name: str, settings: BaseModel, context: ProviderContext) -> MemoryProvider:
        found = RackSettings.model_validate(settings)
        if found.rack == 13:
            raise AccessDenied("rack 13 is locked; right would be another one")
        if found.rack == 14:
            raise KeyError("key")
        provider = MemoryProvider(MemoryCloud(lambda: 0.0), (), name)
        provider.location = str(context.state / str(found.rack))
        return provider


RACK = Rack()


def join(_wanted: WantedBurst) -> Any:
    raise NotImplementedError


CONTEXT = ProviderContext(join, Path("/state"))


def install(site: Path, name: str, value: str) -> None:
    """Write the entry point `name = value` as an installer leaves it."""
    metadata = site / f"{name}-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[minicluster.burst_providers]\n{name} = {value}\n")


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProviderKinds:
    """What is found beside ours: a good one, one that does not load, one that is none, one with our name."""
    install(tmp_path, "rack", "tests.burst.providers.test_plugins:RACK")
    install(tmp_path, "cloud", "my_cloud:KIND")
    install(tmp_path, "number", "math:pi")
    install(tmp_path, "memory", "my_memory:KIND")
    monkeypatch.syspath_prepend(str(tmp_path))
    return kinds()


NOT_LOADED = (
    "kind of provider cloud (my_cloud:KIND) does not load: ModuleNotFoundError: No module named 'my_cloud'"
)


def test_a_plugin_is_found_and_ours_keep_their_names(found: ProviderKinds) -> None:
    assert found.kinds["memory"] is KIND
    assert type(found.kinds["rack"]).__name__ == "Rack"


def test_what_does_not_load_is_passed_over(found: ProviderKinds) -> None:
    assert found.problems["cloud"] == NOT_LOADED
    number = "kind of provider number (math:pi) is no burst.providers.plugins.ProviderKind: 3.14"
    assert found.problems["number"].startswith(number)
    assert f"{NOT_LOADED}; it is passed over" in found.warnings


def settings(*providers: str) -> SettingsFile:
    return parse("providers:\n" + "".join(f"- {each}\n" for each in providers), source="burst.yaml")


def test_each_provider_is_opened_with_its_settings(found: ProviderKinds) -> None:
    file = settings("{name: a, kind: rack}", "{name: b, kind: rack, settings: {rack: 2}}")
    opened = open_providers(file, CONTEXT, found)
    assert {name: (each.name, each.location) for name, each in opened.items()} == {
        "a": ("a", "/state/1"),
        "b": ("b", "/state/2"),
    }


WRONG = {
    "unknown kind": (
        "{name: a, kind: raks}",
        'burst.yaml:2: providers[0].kind: no kind of provider is called "raks"; did you mean "rack"?',
    ),
    "no kind like it": (
        "{name: a, kind: zzz}",
        'burst.yaml:2: providers[0].kind: no kind of provider is called "zzz"; known: memory, rack',
    ),
    "a plug-in that does not load": (
        "{name: a, kind: cloud}",
        f"burst.yaml:2: providers[0].kind: {NOT_LOADED}",
    ),
    "an unknown key": (
        "{name: a, kind: rack, settings: {rak: 1}}",
        'burst.yaml:2: providers[0].settings.rak: unknown field; did you mean "rack"?',
    ),
    "a wrong value": (
        "{name: a, kind: rack, settings: {token: [s3cret]}}",
        "burst.yaml:2: providers[0].settings.token: found a list, allowed is a text",
    ),
    "what cannot be used": (
        "{name: a, kind: rack, settings: {rack: 13}}",
        (
            "burst.yaml:2: providers[0].settings: kind rack does not take them: rack 13 is locked; right"
            " would be another one"
        ),
    ),
    "a defect of the plug-in": (
        "{name: a, kind: rack, settings: {rack: 14}}",
        "burst.yaml:2: providers[0].settings: kind rack does not take them: KeyError: 'key'",
    ),
}


@pytest.mark.parametrize(("provider", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_reported_where_it_stands(found: ProviderKinds, provider: str, message: str) -> None:
    usable = {name: found.kinds[name] for name in ("memory", "rack")}
    with pytest.raises(SettingsInvalid) as caught:
        open_providers(settings(provider), CONTEXT, ProviderKinds(usable, found.problems))
    assert str(caught.value) == message


def test_everything_wrong_is_reported_at_once(found: ProviderKinds) -> None:
    file = settings("{name: a, kind: zzz}", "{name: b, kind: rack, settings: {rak: 1, tok: 2}}")
    with pytest.raises(SettingsInvalid) as caught:
        open_providers(file, CONTEXT, found)
    assert [problem.path for problem in caught.value.problems] == [
        "providers[0].kind",
        "providers[1].settings.rak",
        "providers[1].settings.tok",
    ]


MEMORY = """{name: toy, kind: memory, settings: {comingSeconds: 0, goingSeconds: 0.5, offers: [
    {machine: small, cores: 4, gpus: 1, pricePerHour: "0.25", maxNodes: 2, readySeconds: 3, spot: true}]}}"""
WANTED = WantedBurst("b", "i", 2, "small", spot=False, until=0.0)


def test_a_provider_in_memory_makes_what_it_offers() -> None:
    provider = open_providers(settings(MEMORY), CONTEXT)["toy"]
    assert list(provider.offers()) == [Offer("toy", "small", NodeShape(4, 1), 250_000, 2, 3.0, spot=True)]
    (nodes, _) = provider.resources(WANTED)
    provider.create(nodes, "token", WANTED)
    assert provider.get(nodes, WANTED).phase is ResourcePhase.READY
    with pytest.raises(Exception, match="there are no 1 nodes of small now"):
        provider.create(ResourceKey("nodes", "more", 1), "token", WANTED)


@pytest.mark.parametrize(
    ("offers", "message"),
    [
        ("[]", "offers: found an empty list, allowed is a list of at least 1"),
        ("[{cores: 1}]", "offers[0].machine: missing; it is needed: Name of the kind of machine."),
        (
            "[{machine: m, cores: 1, pricePerHour: '1,5'}]",
            "offers[0].pricePerHour: found a text of 3 characters, allowed is an amount in quotes",
        ),
    ],
)
def test_wrong_settings_of_one_in_memory_are_reported(offers: str, message: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        open_providers(settings(f"{{name: a, kind: memory, settings: {{offers: {offers}}}}}"), CONTEXT)
    assert str(caught.value).startswith(f"burst.yaml:2: providers[0].settings.{message}")


def test_no_command_imports_a_kind_for_its_help() -> None:
    program = "import sys; from minicluster.cli.main import run; sys.argv = ['minicluster', '--help']\n"
    program += "try:\n    run()\nexcept SystemExit:\n    pass\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [name for name in done.stderr.split() if name.startswith("burst.providers")]
