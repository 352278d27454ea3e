"""What goes wrong on a machine, and what a person is then told: the messages themselves."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest
from local_machine import PROGRAM, Machine, document, eventually

from minicluster.embedded.client import BrokerClient

if TYPE_CHECKING:
    from pathlib import Path


def test_malformed_yaml(embedded: Machine, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("kind: MiniCluster\nspec: {size: 2\n")
    done = embedded.run(path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"minicluster: {path}:")
    assert "malformed YAML" in done.stderr


def test_two_runners(embedded: Machine, tmp_path: Path) -> None:
    path = tmp_path / "mc.yaml"
    runner = {"image": "x", "runFlux": True, "command": "true"}
    body = json.loads(document(tmp_path).read_text())
    body["spec"]["containers"] = [{**runner, "name": "one"}, {**runner, "name": "two"}]
    path.write_text(json.dumps(body))
    done = embedded.run(path)
    assert done.returncode == 1
    assert "one" in done.stderr
    assert "two" in done.stderr


def test_a_size_beyond_the_maximum_in_the_document(embedded: Machine, tmp_path: Path) -> None:
    done = embedded.run(document(tmp_path, size=5, spec={"maxSize": 4}, command="true"))
    assert done.returncode == 1
    assert "spec.size" in done.stderr
    assert "maxSize" in done.stderr


def test_a_size_beyond_the_maximum_on_the_command_line(embedded: Machine, tmp_path: Path) -> None:
    done = embedded.run(document(tmp_path, spec={"maxSize": 4}, command="true"), "--size", "5")
    assert done.returncode == 2
    assert done.stderr == "minicluster: --size 5: MiniCluster mc allows at most spec.maxSize (4)\n"


def test_no_such_file(embedded: Machine, tmp_path: Path) -> None:
    done = embedded.run(tmp_path / "absent.yaml")
    assert (done.returncode, done.stderr) == (
        2,
        f"minicluster: {tmp_path}/absent.yaml: cannot be read: No such file or directory\n",
    )


def test_a_command_that_is_not_there(machine: Machine, tmp_path: Path) -> None:
    done = machine.run(document(tmp_path, command="no-such-program"))
    assert done.returncode == 127
    assert "no-such-program" in done.stderr
    assert "No such file or directory" in done.stderr


def test_a_working_directory_that_is_not_there(embedded: Machine, tmp_path: Path) -> None:
    done = embedded.run(document(tmp_path, command="true", workingDir="/opt/absent"))
    assert done.returncode == 2
    assert "workingDir /opt/absent of container flux: no such directory on this machine" in done.stderr
    assert embedded.left() == ([], [])


def test_a_port_that_is_taken(embedded: Machine, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = embedded.run(document(tmp_path, spec={"network": {"port": port}}, command="true"))
    assert done.returncode == 125
    assert f"port {port} on 127.0.0.1: address already in use; another program listens there" in done.stderr
    assert embedded.left() == ([], [])


def test_no_real_flux(embedded: Machine, tmp_path: Path) -> None:
    """A GitOps tool of the same name is not taken for Flux."""
    other = tmp_path / "flux"
    other.write_text("#!/bin/sh\necho flux version 2.3.0\n")
    other.chmod(0o755)
    embedded.environment["PATH"] = f"{tmp_path}:/usr/bin:/bin"
    done = embedded.call("run", document(tmp_path, command="true"), "--engine", "flux")
    assert done.returncode == 2
    assert f"{other} is another program of that name" in done.stderr


def test_auto_takes_the_embedded_instance_where_flux_is_another_program(
    embedded: Machine, tmp_path: Path
) -> None:
    other = tmp_path / "flux"
    other.write_text("#!/bin/sh\necho flux version 2.3.0\n")
    other.chmod(0o755)
    embedded.environment["PATH"] = f"{tmp_path}:/usr/bin:/bin"
    done = embedded.call("run", document(tmp_path, command="echo ran"))
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr


@pytest.fixture
def needs_mount() -> None:
    """Root ignores modes, and only root mounts: so root tests with mounts."""
    if os.geteuid() != 0:
        pytest.skip("needs root: read-only and full file systems are mounts")
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("this machine lets nobody mount: unshare --mount fails")


def _mounted(machine: Machine, options: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `minicluster` with its state directory on a small tmpfs, in a mount namespace of its own."""
    machine.root.mkdir(mode=0o700)
    script = 'mount -t tmpfs -o "$1" none "$2" && shift 2 && exec "$@"'
    return subprocess.run(
        [
            "unshare",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
            options,
            str(machine.root),
            *PROGRAM,
            *map(str, arguments),
        ],
        env={**os.environ, "MINICLUSTER_RUNTIME_DIR": str(machine.root)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.usefixtures("needs_mount")
def test_a_state_directory_that_is_read_only(embedded: Machine, tmp_path: Path) -> None:
    done = _mounted(
        embedded, "ro,mode=700", "run", document(tmp_path, command="true"), "--engine", "embedded"
    )
    assert done.returncode == 125
    assert done.stderr == (
        f"minicluster: state directory {embedded.root}: cannot be written: the file system is read-only;"
        " name another one in MINICLUSTER_RUNTIME_DIR\n"
    )


@pytest.mark.usefixtures("needs_mount")
def test_a_state_directory_that_is_full(embedded: Machine, tmp_path: Path) -> None:
    """A job whose output does not fit fails with that reason; the queue goes on when there is room."""
    script = """\
    head -c 6000000 /dev/zero >"$TMPDIR/ballast"
    waits=$(flux submit -n1 --urgency=0 echo the queue goes on)
    flux run -n1 sh -c 'head -c 30000000 /dev/zero | tr "\\0" "x"' >/dev/null || echo failed
    rm "$TMPDIR/ballast"
    flux job urgency $waits default
    flux job attach $waits
    """
    path = document(tmp_path, size=1, launcher=True, commands={"script": script})
    done = _mounted(embedded, "size=16m,mode=700", "run", path, "--engine", "embedded")
    assert done.stdout.splitlines() == ["failed", "the queue goes on"], done.stdout + done.stderr
    assert "cannot be stored in" in done.stderr
    assert "disk is full" in done.stderr


def test_a_certificate_that_others_can_read(embedded: Machine, tmp_path: Path) -> None:
    """The start script refuses it on every broker, and says what to do."""
    path = document(tmp_path, command="true", commands={"pre": 'chmod 644 "$MINICLUSTER_CURVE"'})
    done = embedded.run(path)
    assert done.returncode == 125
    assert "can be read by others (-rw-r--r--)" in done.stderr
    assert "chmod 400" in done.stderr


def test_another_certificate_is_rejected_and_counted(embedded: Machine, tmp_path: Path) -> None:
    """A broker with another key never joins; the lead counts it, the others work on."""
    embedded.up(document(tmp_path, spec={"maxSize": 3, "interactive": True}))
    directory, wrong, other = embedded.root / "mc", tmp_path / "broker.toml", tmp_path / "other.cert"
    embedded.good("shell", "mc", "--", "flux", "keygen", "--name=other", other)
    wrong.write_text(
        (directory / "etc" / "broker.toml").read_text().replace(str(directory / "curve.cert"), str(other))
    )
    (tmp_path / "run").mkdir(mode=0o700)
    intruder = subprocess.Popen(
        [directory / "bin" / "flux", "broker", "-c", wrong, f"-Srundir={tmp_path}/run", "-Shostname=mc-2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={key: value for key, value in os.environ.items() if not key.startswith("FLUX_")},
    )
    try:
        with BrokerClient(f"local://{directory}/r/0/local") as client:
            eventually(lambda: client.rpc("overlay.stats-get")["refused"] > 0, "the refusal to be counted")
        states = {row["rank"]: row["state"] for row in embedded.rows("status", "mc")[0]["brokers"]}
        assert states[2] in {"offline", "lost"}
    finally:
        intruder.kill()
        intruder.wait()


def test_an_unwritable_volume_reports_which(embedded: Machine, tmp_path: Path) -> None:
    """A claim exists only in a Kubernetes cluster."""
    done = embedded.run(
        document(tmp_path, command="true", volumes={"data": {"path": "/data", "claimName": "claim"}})
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "minicluster: volume data: a persistentVolumeClaim exists only in a Kubernetes cluster;"
        " on this machine use hostPath, emptyDir, or a ConfigMap or Secret in the same file"
    )
    assert embedded.left() == ([], [])


def test_a_config_map_from_elsewhere(embedded: Machine, tmp_path: Path) -> None:
    done = embedded.run(
        document(tmp_path, command="true", volumes={"in": {"path": "/in", "configMapName": "inputs"}})
    )
    assert done.returncode == 2
    assert "volume in: ConfigMap inputs is not in the document's file" in done.stderr


def test_a_gigabyte_of_output_in_bounded_memory(embedded: Machine, tmp_path: Path) -> None:
    """Lines of 1 MB, 1 GB in all: no broker's peak memory grows beyond 150 MB."""
    megabyte = "head -c 1048575 /dev/zero | tr '\\0' x >line; echo >>line"
    script = f"""\
    cd "$TMPDIR"; {megabyte}
    flux run -n1 sh -c 'for i in $(seq 1000); do cat line; done'
    for pid in $(pgrep -f "$MINICLUSTER_DIRECTORY/r/[01]/flux"); do grep VmHWM /proc/$pid/status >&2; done
    """
    path = document(tmp_path, launcher=True, commands={"script": script})
    run = embedded.start("run", path, "--engine", "embedded", "--quiet")
    assert run.stdout is not None
    total = sum(len(chunk) for chunk in iter(lambda: run.stdout.buffer.read(1 << 20), b""))
    _, errors = run.communicate(timeout=60)
    assert total == 1000 * (1 << 20)
    peaks = [int(line.split()[1]) for line in errors.splitlines() if "VmHWM" in line]
    assert peaks
    assert max(peaks) < 150_000, errors
