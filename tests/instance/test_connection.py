"""Which engine answers at an address, and which `flux` is the real one."""

from __future__ import annotations

import json
import socket
import struct
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.connection import connect, core_version, engine_of, real_flux
from minicluster.instance.errors import InstanceGone, NoEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FLUX_CORE = 'printf "commands:\\t0.88.0\\nlibflux-core:\\t0.88.0\\n"'
GITOPS = 'case $1 in version) echo "no cluster" >&2; exit 1;; esac; echo "flux version 2.4.0"'
EMBEDDED = 'printf "commands:\\t0.88.0\\nlibflux-core:\\tembedded\\n"'


def program(folder: Path, script: str) -> str:
    folder.mkdir()
    (folder / "flux").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "flux").chmod(0o755)
    return str(folder)


def test_the_first_flux_core_on_path_is_chosen(tmp_path: Path) -> None:
    folders = [program(tmp_path / "gitops", GITOPS), program(tmp_path / "core", FLUX_CORE)]
    assert real_flux(":".join(folders)) == f"{folders[1]}/flux"


def test_flux_core_prints_its_version(tmp_path: Path) -> None:
    assert core_version(f"{program(tmp_path / 'core', FLUX_CORE)}/flux") == "0.88.0"


@pytest.mark.parametrize("script", [pytest.param(GITOPS, id="gitops"), pytest.param(EMBEDDED, id="embedded")])
def test_another_program_of_the_name_is_named_in_the_message(tmp_path: Path, script: str) -> None:
    folder = program(tmp_path / "bin", script)
    with pytest.raises(NoEngine) as refusal:
        real_flux(folder)
    assert str(refusal.value) == (
        "real Flux is needed here, but there is no flux-core on PATH; "
        f"{folder}/flux is another program of that name"
    )


def test_no_flux_at_all(tmp_path: Path) -> None:
    with pytest.raises(NoEngine) as refusal:
        real_flux(str(tmp_path))
    assert str(refusal.value) == "real Flux is needed here, but there is no flux-core on PATH"


def test_a_cluster_is_not_found_by_its_name_here() -> None:
    with pytest.raises(InstanceGone) as refusal:
        connect("nb")
    assert str(refusal.value) == (
        "'nb' is no address, as FLUX_URI has one; a cluster of this machine is found by its name:"
        " minicluster.local.connection.of('nb')"
    )


@pytest.fixture
def broker() -> Iterator[Callable[[Callable[[socket.socket], None]], str]]:
    """Start a socket that treats its one caller as told; return its address."""
    with tempfile.TemporaryDirectory(prefix="mc-") as folder, socket.socket(socket.AF_UNIX) as listening:
        path = Path(folder) / "local"
        listening.bind(str(path))
        listening.listen()
        threads: list[threading.Thread] = []

        def start(treat: Callable[[socket.socket], None]) -> str:
            def serve() -> None:
                caller, _ = listening.accept()
                with caller:
                    treat(caller)

            threads.append(threading.Thread(target=serve, daemon=True))
            threads[-1].start()
            return f"local://{path}"

        yield start
        for thread in threads:
            thread.join(5)


def as_flux(caller: socket.socket) -> None:
    caller.sendall(b"\0")
    caller.recv(4)


def as_embedded(caller: socket.socket) -> None:
    caller.recv(1 << 16)
    answer = json.dumps({"id": 1, "payload": {"value": "0.88"}}).encode()
    caller.sendall(struct.pack(">I", len(answer)) + answer)


@pytest.mark.parametrize(
    ("treat", "engine"),
    [pytest.param(as_flux, "flux", id="flux"), pytest.param(as_embedded, "embedded", id="embedded")],
)
def test_the_broker_itself_shows_its_engine(
    broker: Callable[[Callable[[socket.socket], None]], str],
    treat: Callable[[socket.socket], None],
    engine: str,
) -> None:
    assert engine_of(broker(treat)) == engine


def test_only_flux_has_other_addresses() -> None:
    assert engine_of("ssh://host/run/flux/local") == "flux"


def test_an_address_where_nobody_answers() -> None:
    with pytest.raises(InstanceGone) as refusal:
        connect("local:///no/such/socket")
    assert str(refusal.value) == "local:///no/such/socket: no broker answers: No such file or directory"


@pytest.mark.parametrize("engine", ["auto", "flux", "embedded"])
def test_no_address_at_all(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.delenv("FLUX_URI", raising=False)
    with pytest.raises(InstanceGone) as refusal:
        connect(None, engine)  # type: ignore[arg-type]
    assert str(refusal.value) == (
        "no address given and FLUX_URI is not set: name the instance, or run inside one"
    )
