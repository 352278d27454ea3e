"""A network plug-in (CNI 1.0.0), the last one for each pod: the enforcer is told the pod's address.

No container starts before the pod's rules stand: the plug-in waits for that, and without it there is no pod.
A program on the standard library alone. Its configuration has the enforcer's `socket`.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any

SECONDS = 60.0
PAUSE = 0.05
TRY_AGAIN = 11  # of the specification's error codes
VERSIONS = {"cniVersion": "1.0.0", "supportedVersions": ["0.4.0", "1.0.0"]}


def main() -> int:
    """Carry out one command; returns the exit code."""
    command = os.environ.get("CNI_COMMAND")
    if command == "VERSION":
        print(json.dumps(VERSIONS))
    if command != "ADD":
        return 0  # an address that no pod has any more is noticed by the pod's end
    configuration = json.load(sys.stdin)
    result = configuration["prevResult"]
    try:
        report(configuration["socket"], announcement(os.environ["CNI_ARGS"], result))
    except OSError as error:
        message = f"the enforcer of NetworkPolicies does not answer: {error}"
        print(json.dumps({"cniVersion": configuration["cniVersion"], "code": TRY_AGAIN, "msg": message}))
        return 1
    print(json.dumps({"cniVersion": configuration["cniVersion"], **result}))
    return 0


def announcement(arguments: str, result: Mapping[str, Any]) -> dict[str, str]:
    """Return which pod has which address."""
    uid = dict(word.partition("=")[::2] for word in arguments.split(";"))["K8S_POD_UID"]
    return {"uid": uid, "address": result["ips"][0]["address"].partition("/")[0]}


def report(path: str, announced: Mapping[str, str]) -> None:
    """Have the enforcer know; returns when the rules stand."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SECONDS)
        dial(connection, path)
        connection.sendall(json.dumps(announced).encode() + b"\n")
        if not connection.recv(1):
            raise ConnectionError("it has hung up")


def dial(connection: socket.socket, path: str) -> None:
    """Connect; the enforcer may be at its start."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            connection.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)
        else:
            return


if __name__ == "__main__":
    sys.exit(main())
