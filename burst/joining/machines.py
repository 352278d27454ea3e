"""What machines of a cloud that are no pods get at their boot: a script, a follower's files, and no secret
that lasts.

They are metadata of an instance, which every job on it can read. So the certificate is not among them: the
machine gets it from the lead's own API, for a token that is good once. One mapping is for all machines of
a burst, as they are ordered at once: each knows its number by its name.
"""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burst.errors import CallInvalid
from burst.joining import broker_logs, machine_boot, workers
from burst.joining.worker_document import WorkerSettings
from burst.lifecycle.records import PREFIX
from minicluster import document, flux_zips
from minicluster.document import Volume

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burst.joining.records import JoinSettings, MachineRoute
    from burst.providers.provider import WantedBurst
    from minicluster.document import MiniCluster

STARTUP_SCRIPT = "startup-script"
"""The key under which guest agents of Compute Engine find what they run at every boot."""
MAX_VALUE_BYTES = 256 << 10
"""Of one value of metadata, as Compute Engine has it."""
TOKEN_SECONDS = 1800.0
"""For how long after its machines are asked for a token is good: until they are made, and have booted."""
_CONSOLE = re.compile(r"^.*?startup-script: ?")
_START = """\
#!/bin/sh
# A machine of burst {label}: it joins its lead, runs jobs, and is switched off at its end.
for python in python3 /usr/libexec/platform-python; do
    command -v "$python" >/dev/null && break
done
mkdir -p /run/minicluster-boot && chmod 700 /run/minicluster-boot
cat >/run/minicluster-boot/machine_boot.py <<'END OF PROGRAM'
{program}
END OF PROGRAM
"$python" -u /run/minicluster-boot/machine_boot.py 2>&1 || {{
    printf 'minicluster[]: %s\\n' "the machine could not join (status $?): it is switched off"
    poweroff || shutdown -h now || systemctl poweroff
}}
"""


@dataclass(frozen=True, slots=True)
class MachineSettings:
    """What machines have, as a provider's settings name it."""

    path: tuple[str, ...] = ()
    """Directories that are first on PATH, such as that of Flux."""
    existing: frozenset[str] = frozenset()
    """Names of the document's volumes, claims and Secrets that the image has files for, of its own."""
    uid: int | None = None
    """The lead's user, where the document names none."""


def machine_name(label: str, number: int) -> str:
    """Return the name by which a machine of a burst knows its number, from 0."""
    return f"{PREFIX}{label}-{number}"


def boot_metadata(
    join: JoinSettings, wanted: WantedBurst, settings: MachineSettings, now: float
) -> Mapping[str, str]:
    """Return the metadata of all machines of a burst.

    It has the same keys for every burst. Only the tokens in it are secret, each until it is used, at most
    for TOKEN_SECONDS. Raises CallInvalid where machines cannot join, with every problem in words.
    """
    route = join.machines
    if problems := list(_problems(join, wanted, settings, now)):
        name = join.cluster.metadata.name
        raise CallInvalid(f"MiniCluster {name} cannot burst to machines: {'; '.join(problems)}")
    assert route is not None  # noqa: S101 - it is among the problems
    files = workers.follower_files(join, wanted, _worker_settings(settings), now)
    until = min(wanted.until, now + TOKEN_SECONDS)
    tokens = [route.token(wanted.label, number, until) for number in range(wanted.nodes)]
    packed = base64.b64encode(flux_zips.pack_fence()).decode()
    found = {
        STARTUP_SCRIPT: _START.format(label=wanted.label, program=_program()),
        machine_boot.TASK: _text(_task(join, route, wanted, settings)),
        machine_boot.FILES: _text(files),
        machine_boot.ZIPS: _text({flux_zips.ZIP: packed}),
        machine_boot.TOKENS: "\n".join(tokens),
    }
    for key, value in found.items():
        if len(value.encode()) > MAX_VALUE_BYTES:
            raise CallInvalid(
                f"burst {wanted.label}: {key} is {len(value.encode()) >> 10} KiB of metadata, and"
                f" {MAX_VALUE_BYTES >> 10} is the limit: right would be fewer nodes, or shorter hooks"
            )
    return found


def console_problem(text: str) -> str:
    """Return in one line what a serial console has about why a broker has not joined; or nothing."""
    lines = [_CONSOLE.sub("", line) for line in text.splitlines()]
    return broker_logs.problem(lines[-broker_logs.TAIL_LINES :])


def machine_problems(join: JoinSettings, settings: MachineSettings) -> list[str]:
    """Return why machines cannot join this MiniCluster; nothing if they can."""
    found = []
    if join.machines is None:
        found.append(
            "they get its certificate from its lead's API, which is not reached from there: right would be"
            " spec.bursting.expose: nodePort or loadBalancer, in a Kubernetes cluster with an operator"
        )
    if join.route is not None:
        found.append("spec.bursting.expose: tunnel ends at an API server, and machines have none")
    if _identity(join.cluster, settings) is None:
        found.append(
            "spec.pod.securityContext.runAsUser is not set, so nobody knows as which user its lead runs:"
            " right would be to set it, or uid in the provider's settings"
        )
    return found


def _problems(join: JoinSettings, wanted: WantedBurst, settings: MachineSettings, now: float) -> list[str]:
    late = [f"burst {wanted.label} was to end {now - wanted.until:.0f} s ago"] if wanted.until <= now else []
    return machine_problems(join, settings) + late


def _worker_settings(settings: MachineSettings) -> WorkerSettings:
    volumes = {name: Volume(empty_dir=True) for name in settings.existing}
    return WorkerSettings(existing=settings.existing, volumes=volumes)


def _identity(cluster: MiniCluster, settings: MachineSettings) -> tuple[int, int] | None:
    """Return uid and gid of the lead's broker, None where they are not known."""
    contexts = (document.runner(cluster.spec).security_context, cluster.spec.pod.security_context)
    users = [each.run_as_user for each in contexts if each is not None]
    groups = [each.run_as_group for each in contexts if each is not None]
    user = next((each for each in (*users, settings.uid) if each is not None), None)
    if user is None:
        return None
    return user, next((each for each in groups if each is not None), user)


def _task(
    join: JoinSettings, route: MachineRoute, wanted: WantedBurst, settings: MachineSettings
) -> dict[str, Any]:
    identity = _identity(join.cluster, settings)
    assert identity is not None  # noqa: S101 - it is among the problems
    return {
        "label": wanted.label,
        "slot": join.slot,
        "uid": identity[0],
        "gid": identity[1],
        "until": math.ceil(wanted.until),
        "fence": math.ceil(join.fence),
        "leave_after": math.ceil(join.leave_after),
        "path": list(settings.path),
        "lead": {
            "address": route.address,
            "port": route.port,
            "name": route.name,
            "fingerprint": route.fingerprint,
        },
    }


def _program() -> str:
    return Path(machine_boot.__file__).read_text(encoding="utf-8")


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
