"""Makes pods of this machine from the plan's Kubernetes objects: the part of a kubelet that reads."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicluster.local import processes
from minicluster.local.errors import UsageProblem
from minicluster.local.records import LocalContainer, LocalPod
from minicluster.local.site import own_programs
from minicluster.within import context

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from minicluster.local.state_directory import ClusterDirectory
    from minicluster.local.volumes import VolumeMap

Object = dict[str, Any]
EXCLUDED_PREFIXES = ("FLUX_", "MINICLUSTER_", "PMI_", "PMIX_", "JOB_COMPLETION_")
"""Prefixes of the variables of an outer instance, which would mislead the brokers of this one."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """All inputs from which a cluster's pods are made."""

    name: str
    directory: ClusterDirectory
    job: Object
    """The indexed Job of the brokers, as planned."""
    services: Object | None
    """The Pod of `spec.services`, as planned; None: it has none."""
    volumes: VolumeMap
    state: Path | None
    """The state directory without the rank, which is added to it; None: no `flux.stateVolume`."""
    secrets: Mapping[str, Mapping[str, bytes]]
    """Secrets of the document's file: data by Secret and key."""
    working_directory: Path
    """Of containers that name none."""
    embedded: bool
    """Whether the engine is the embedded instance, whose programs then come first on PATH."""
    restore: str = ""
    """The path of the dump from which the lead restores; empty: none."""


def find(objects: tuple[Object, ...], kind: str) -> Object | None:
    """Return the plan's object of that kind."""
    return next((each for each in objects if each["kind"] == kind), None)


def files(value: Object) -> dict[str, str]:
    """Return the files of a planned ConfigMap or Secret."""
    data = value.get("data", {})
    if value["kind"] == "Secret":
        data = {key: base64.b64decode(text).decode() for key, text in data.items()}
    return {**data, **value.get("stringData", {})}


def broker(blueprint: Blueprint, rank: int) -> LocalPod:
    """Return a broker's pod, with the sidecars that its template names."""
    spec = blueprint.job["spec"]["template"]["spec"]
    host = f"{blueprint.name}-{rank}"
    variables = _broker_variables(blueprint, rank, host)
    sidecars = (each for each in spec.get("initContainers", []) if each.get("restartPolicy") == "Always")
    return LocalPod(host, tuple(_containers((*spec["containers"], *sidecars), blueprint, variables)), rank)


def services(blueprint: Blueprint) -> LocalPod | None:
    """Return the pod with the document's services, if it has any."""
    if blueprint.services is None:
        return None
    name = blueprint.services["metadata"]["name"]
    return LocalPod(name, tuple(_containers(blueprint.services["spec"]["containers"], blueprint, {})))


def _containers(
    members: tuple[Object, ...], blueprint: Blueprint, ours: Mapping[str, str]
) -> Iterator[LocalContainer]:
    for member in members:
        hooks = member.get("lifecycle", {})
        if member.get("command"):
            yield LocalContainer(
                name=member["name"],
                command=tuple(member["command"]),
                environment=_environment(member, blueprint, ours),
                directory=_directory(member, blueprint),
                post_start=_hook(hooks, "postStart"),
                pre_stop=_hook(hooks, "preStop"),
            )


def _hook(hooks: Object, name: str) -> tuple[str, ...]:
    return tuple(hooks.get(name, {}).get("exec", {}).get("command", ()))


def _environment(member: Object, blueprint: Blueprint, ours: Mapping[str, str]) -> dict[str, str]:
    given = {each["name"]: _value(each, blueprint) for each in member.get("env", [])}
    return {
        **_inherited(blueprint),
        **blueprint.volumes.environment(),
        "MINICLUSTER_SERVICES_HOST": "127.0.0.1",
        "MINICLUSTER_CONFIG": str(blueprint.directory.config),
        context.CONTROL: str(blueprint.directory.control),
        "TMPDIR": str(blueprint.directory.temporary),
        **given,
        **ours,
        processes.MARKER: str(blueprint.directory.path),
    }


def _inherited(blueprint: Blueprint) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(EXCLUDED_PREFIXES)}
    first = [str(blueprint.directory.programs)] if blueprint.embedded else []
    path = [*first, kept.get("PATH", os.defpath), str(own_programs())]
    return {**kept, "PATH": os.pathsep.join(path)}


def _value(variable: Object, blueprint: Blueprint) -> str:
    if "value" in variable:
        return str(variable["value"])
    reference = variable.get("valueFrom", {}).get("secretKeyRef", {})
    name, key = reference.get("name", ""), reference.get("key", "")
    if key not in blueprint.secrets.get(name, {}):
        raise UsageProblem(
            f"variable {variable['name']}: Secret {name} with key {key} is not in the document's file;"
            " on this machine it must stand there, as a document of its own"
        )
    return blueprint.secrets[name][key].decode(errors="surrogateescape")


def _directory(member: Object, blueprint: Blueprint) -> Path:
    wanted = member.get("workingDir")
    if not wanted:
        return blueprint.working_directory
    here = Path(blueprint.volumes.here(wanted))
    if not here.is_dir():
        raise UsageProblem(
            f"workingDir {wanted} of container {member['name']}: no such directory on this machine"
            " (commands run here, not in the image)"
        )
    return here


def _broker_variables(blueprint: Blueprint, rank: int, host: str) -> dict[str, str]:
    directory = blueprint.directory
    variables = {
        "JOB_COMPLETION_INDEX": str(rank),
        "MINICLUSTER_HOST": host,
        "MINICLUSTER_RUN": str(directory.run(rank)),
        "MINICLUSTER_CURVE": str(directory.curve),
        "MINICLUSTER_STATE": str(directory.run(rank) / "state"),
    }
    if rank == 0:
        variables["MINICLUSTER_TERMINATION_LOG"] = str(directory.termination_log)
    if blueprint.state is not None:
        variables["MINICLUSTER_STATE"] = f"{blueprint.state}-{rank}"
    if blueprint.restore and rank == 0:
        variables["MINICLUSTER_RESTORE"] = blueprint.restore
    return variables
