"""The network plug-in by which the enforcer knows of pods before they run, called as containerd does."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.devcluster import pod_address

RESULT = {"interfaces": [{"name": "eth0"}], "ips": [{"address": "10.100.1.7/24", "interface": 0}]}
ARGUMENTS = "IgnoreUnknown=1;K8S_POD_NAMESPACE=research;K8S_POD_NAME=mc-0;K8S_POD_UID=0a1b"


@dataclass
class Enforcer:
    """One that is played: it answers each line that it is told with `answer`."""

    path: str
    answer: bytes = b"\n"
    messages: list[Any] = field(default_factory=list)

    def serve(self, listener: socket.socket) -> None:
        """Take one connection."""
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            self.messages.append(json.loads(lines.readline()))
            connection.sendall(self.answer)


@pytest.fixture
def enforcer(tmp_path: Path) -> Iterator[Enforcer]:
    """One that waits for a connection."""
    found = Enforcer(str(tmp_path / "enforcer"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(found.path)
        listener.listen()
        threading.Thread(target=found.serve, args=[listener], daemon=True).start()
        yield found


def call(command: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """Call the plug-in."""
    configuration = {"cniVersion": "1.0.0", "name": "test", "socket": path, "prevResult": RESULT}
    argv = [sys.executable, "-I", "-S", str(pod_address.__file__)]
    environment = {"CNI_COMMAND": command, "CNI_ARGS": ARGUMENTS}
    text = json.dumps(configuration)
    return subprocess.run(argv, env=environment, input=text, capture_output=True, text=True, check=False)


def test_it_reports_the_address_and_passes_the_result_on(enforcer: Enforcer) -> None:
    done = call("ADD", enforcer.path)
    assert (done.returncode, json.loads(done.stdout)) == (0, {"cniVersion": "1.0.0", **RESULT})
    assert enforcer.messages == [{"uid": "0a1b", "address": "10.100.1.7"}]


def test_a_pod_does_not_start_without_its_rules(enforcer: Enforcer) -> None:
    """The kubelet shows the message in an Event, and tries again."""
    enforcer.answer = b""
    done = call("ADD", enforcer.path)
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "cniVersion": "1.0.0",
        "code": 11,
        "msg": "the enforcer of NetworkPolicies does not answer: it has hung up",
    }


@pytest.mark.parametrize("command", ["DEL", "CHECK"])
def test_there_is_nothing_to_report_of_an_end(command: str) -> None:
    done = call(command)
    assert (done.returncode, done.stdout) == (0, "")


def test_it_reports_its_versions() -> None:
    assert json.loads(call("VERSION").stdout)["supportedVersions"] == ["0.4.0", "1.0.0"]
