"""`minicluster version`: what it prints of this machine, and of a cluster that it cannot reach."""

from __future__ import annotations

import json
import platform
import sys
from typing import TYPE_CHECKING, Any

import pytest

from minicluster import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.calls import Answer

    Call = Callable[..., Answer]

KEYS = {"component", "name", "version", "note", "differs"}


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH: `flux` of a version can be put there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def put_flux(folder: Path, version: str) -> str:
    flux = folder / "flux"
    flux.write_text(f'#!/bin/sh\nprintf "commands:\\t{version}\\nlibflux-core:\\t{version}\\n"\n')
    flux.chmod(0o755)
    return str(flux)


def rows(answer: Answer) -> dict[str, dict[str, Any]]:
    return {each["component"]: each for each in json.loads(answer.out)}


def test_the_table_is_aligned(call: Call) -> None:
    lines = [
        ("COMPONENT", "VERSION", "NOTE"),
        ("minicluster", __version__, "this program"),
        ("Python", platform.python_version(), sys.executable),
        ("embedded instance", "0.88.0", "the release of Flux whose interfaces it has"),
        ("Flux", "not known", "there is no flux-core on PATH"),
    ]
    wanted = [f"{first:<17}  {second:<9}  {third}" for first, second, third in lines]
    assert (call("version").out.splitlines(), call("version").code) == (wanted, 0)


def test_programs_get_the_same_with_words_that_stay(call: Call) -> None:
    found = rows(call("version", "--output", "json"))
    assert list(found) == ["minicluster", "Python", "embedded instance", "Flux"]
    assert {frozenset(each) for each in found.values()} == {frozenset(KEYS)}
    assert (found["minicluster"]["version"], found["Flux"]["version"]) == (__version__, None)


def test_flux_core_on_path_is_shown(call: Call, path: Path) -> None:
    command = put_flux(path, "0.88.0")
    assert call("version").out.splitlines()[-1].split() == ["Flux", "0.88.0", command]


def test_another_release_of_flux_is_reported(call: Call, path: Path) -> None:
    put_flux(path, "0.70.0")
    last = call("version").out.splitlines()[-1]
    assert last == "Flux on PATH is not 0.88.0, with which this program is tested"


def test_a_cluster_that_cannot_be_reached_is_no_failure(
    call: Call, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = path / "config"
    monkeypatch.setenv("KUBECONFIG", str(nowhere))
    answer = call("version", "--on", "kubernetes", "--output", "json")
    assert (answer.code, rows(answer)["Kubernetes"]["version"]) == (0, None)
    assert str(nowhere) in rows(answer)["Kubernetes"]["note"]


def test_a_namespace_that_cannot_be_one_is_a_wrong_call(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = call("version", "--on", "kubernetes", "-n", "A")
    assert (answer.code, "'A' cannot be the name of a namespace" in answer.err) == (2, True)


def test_the_option_prints_one_line_still(call: Call) -> None:
    assert call("--version").out == f"minicluster {__version__}\n"
