"""Makes all that a document's brokers need: plan, files, links, pods."""

from __future__ import annotations

import base64
import contextlib
import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.local import pods, volumes
from minicluster.local.errors import UsageProblem
from minicluster.local.pods import Blueprint, Object
from minicluster.local.site import Engine, gpu_notice, local_site

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.local.documents import DocumentFile
    from minicluster.local.state_directory import ClusterDirectory
    from minicluster.local.volumes import VolumeMap
    from minicluster.plan import Plan

Notice = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A cluster that is ready to be started."""

    cluster: MiniCluster
    blueprint: Blueprint
    engine: Engine
    links: tuple[tuple[str, str], ...]
    """The symbolic links that stand for volumes, with their targets."""
    ports: contextlib.ExitStack
    """Reserves the brokers' ports until it is closed."""


def prepare(
    source: DocumentFile,
    directory: ClusterDirectory,
    engine: Engine,
    working_directory: Path,
    notice: Notice,
    *,
    restore: str = "",
    decisions: str = "",
) -> Prepared:
    """Make the plan of a document, and write its files. `notice` receives what differs from Kubernetes.

    `decisions` is the file to which the embedded instance appends those of its queue policy.

    Raises UsageProblem, PortTaken, minicluster.plan.PlanError.
    """
    cluster = _for_this_machine(source.cluster)
    _check_settings(cluster, engine)
    if restore:
        _check_dump(restore, engine)
    if decisions and engine.name != "embedded":
        raise UsageProblem("--decisions: real Flux records none; --engine embedded does")
    if text := gpu_notice(cluster):
        notice(text)
    with contextlib.ExitStack() as ports:
        plan, mapping = _planned(source, cluster, directory, ports)
        _write_files(plan.objects, directory)
        if decisions:
            _record(decisions, directory)
        links, unlinked = volumes.link(mapping, directory)
        for text in unlinked:
            notice(text)
        if engine.name == "embedded":
            _write_engine(directory)
        blueprint = _blueprint(source, plan.objects, directory, mapping, working_directory, engine)
        if restore:
            blueprint = replace(blueprint, restore=restore)
        return Prepared(cluster, blueprint, engine, tuple(links), ports.pop_all())


def _for_this_machine(cluster: MiniCluster) -> MiniCluster:
    """Return the document without what only a Kubernetes cluster has, the Flux view."""
    spec = cluster.spec
    if spec.flux.bursting.lead_broker.address:
        raise UsageProblem("flux.bursting.leadBroker: a cluster on this machine cannot join a remote one")
    view = spec.flux.container.model_copy(update={"disable": True})
    changed = {"flux": spec.flux.model_copy(update={"container": view})}
    return cluster.model_copy(update={"spec": spec.model_copy(update=changed)})


def _check_settings(cluster: MiniCluster, engine: Engine) -> None:
    """Raise UsageProblem for settings that a policy does not have. Under Flux a bare name is Fluxion's."""
    scheduler = cluster.spec.flux.scheduler
    if engine.name != "embedded" or not scheduler.settings:
        return
    from queue_policies import plugins
    from queue_policies.errors import PolicySettings, UnknownPolicy

    with contextlib.suppress(UnknownPolicy):  # Fluxion's `hybrid`: another one of ours takes its place
        try:
            plugins.load(scheduler.queue_policy.removeprefix("minicluster/"), scheduler.settings)
        except PolicySettings as error:
            raise UsageProblem(str(error)) from error


def _check_dump(restore: str, engine: Engine) -> None:
    """Raise UsageProblem for a file that the engine cannot restore."""
    from minicluster.save_restore import dumps
    from minicluster.save_restore.errors import DumpUnusable

    try:
        dumps.check_for(Path(restore), engine.name)
    except DumpUnusable as error:
        raise UsageProblem(f"--restore {error}") from error


def _planned(
    source: DocumentFile, cluster: MiniCluster, directory: ClusterDirectory, ports: contextlib.ExitStack
) -> tuple[Plan, VolumeMap]:
    from broker_config import curve
    from minicluster.plan import FreshKeys, Observed, Site, broker_settings, plan

    hosts = broker_settings(cluster, Site()).hosts
    site = local_site(cluster, hosts, directory, ports)
    first = plan(cluster, Observed(), site, FreshKeys(curve.generate()), datetime.now(UTC))
    mapping = volumes.mapped(source, _pod_specs(first.objects), directory)
    archive = mapping.here(cluster.spec.archive.path)
    if archive == cluster.spec.archive.path:
        return first, mapping
    moved = cluster.spec.model_copy(
        update={"archive": cluster.spec.archive.model_copy(update={"path": archive})}
    )
    cluster = cluster.model_copy(update={"spec": moved})
    return plan(cluster, Observed(), site, FreshKeys(curve.generate()), datetime.now(UTC)), mapping


def _pod_specs(objects: tuple[Object, ...]) -> list[Object]:
    templates = [each["spec"]["template"]["spec"] for each in objects if each["kind"] == "Job"]
    return templates + [each["spec"] for each in objects if each["kind"] == "Pod"]


def _write_files(objects: tuple[Object, ...], directory: ClusterDirectory) -> None:
    for item in objects:
        if item["kind"] == "ConfigMap":
            for name, text in pods.files(item).items():
                (directory.config / name).write_text(text)
            for name, encoded in item.get("binaryData", {}).items():
                (directory.config / name).write_bytes(base64.b64decode(encoded))
        elif item["kind"] == "Secret":
            (certificate,) = pods.files(item).values()
            descriptor = os.open(directory.curve, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
            with os.fdopen(descriptor, "w") as file:
                file.write(certificate)


def _record(decisions: str, directory: ClusterDirectory) -> None:
    """Add the key to broker.toml by which the embedded instance records decisions."""
    import tomli_w

    file = directory.config / "broker.toml"
    tables = tomllib.loads(file.read_text())
    tables["minicluster"] = {**tables.get("minicluster", {}), "decisions": decisions}
    file.write_text(tomli_w.dumps(tables))


def _write_engine(directory: ClusterDirectory) -> None:
    from minicluster.embedded.broker import launcher

    launcher.write_bin(directory.programs)


def _blueprint(
    source: DocumentFile,
    objects: tuple[Object, ...],
    directory: ClusterDirectory,
    mapping: VolumeMap,
    working_directory: Path,
    engine: Engine,
) -> Blueprint:
    job = pods.find(objects, "Job")
    if job is None:
        raise UsageProblem(
            f"MiniCluster {source.cluster.metadata.name}: is managed by {source.cluster.spec.managed_by}"
            " (spec.managedBy), so it is not for us to run"
        )
    return Blueprint(
        name=source.cluster.metadata.name,
        directory=directory,
        job=job,
        services=pods.find(objects, "Pod"),
        volumes=mapping,
        state=volumes.state_directory(_pod_specs(objects), source.cluster.metadata.name),
        secrets=source.secrets,
        working_directory=working_directory,
        embedded=engine.name == "embedded",
    )
