"""A file's MiniCluster, with the ConfigMaps and Secrets that stand beside it."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from minicluster.backends.documents import choose, core_changes, policy_of
from minicluster.backends.records import AS_WRITTEN
from minicluster.local.errors import SizeRefused, UsageProblem

if TYPE_CHECKING:
    from minicluster.backends.documents import FieldChange
    from minicluster.backends.records import PlacementRequest
    from minicluster.document import Container, MiniCluster

KeyFile = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """What a file holds: a MiniCluster, and the data of ConfigMaps and Secrets by their names."""

    cluster: MiniCluster
    source: str
    """The file's name in messages."""
    config_maps: Mapping[str, KeyFile] = field(default_factory=dict)
    secrets: Mapping[str, KeyFile] = field(default_factory=dict)


def parse(text: str, source: str, name: str = "") -> DocumentFile:
    """Read a document's text; `name` chooses one of several MiniClusters.

    Raises WrongRequest, minicluster.document.DocumentError.
    """
    from minicluster.document import loading

    clusters = loading.parse(text, source=source).clusters
    objects = _others(text)
    return DocumentFile(
        cluster=choose(clusters, name, source),
        source=source,
        config_maps={
            each["metadata"]["name"]: _data(each) for each in objects if each["kind"] == "ConfigMap"
        },
        secrets={each["metadata"]["name"]: _data(each) for each in objects if each["kind"] == "Secret"},
    )


def with_request(
    source: DocumentFile,
    *,
    size: int | None = None,
    tasks: int | None = None,
    command: Sequence[str] = (),
    policy: str = "",
    cores: PlacementRequest = AS_WRITTEN,
) -> DocumentFile:
    """Return the source with the options of the command line. Raises SizeRefused, WrongRequest."""
    cluster = with_policy(with_size(source.cluster, size), policy)
    for change in core_changes(cores):
        cluster = _validated(cluster, change)
    if tasks is not None:
        cluster = _changed(cluster, tasks=tasks)
    return replace(source, cluster=with_command(cluster, command))


def is_interactive(source: DocumentFile) -> bool:
    """Whether the document has nothing to run, but stays up for work sent to it."""
    from minicluster import document as spec

    return spec.is_interactive(source.cluster.spec)


def with_size(cluster: MiniCluster, size: int | None) -> MiniCluster:
    """Return the cluster with `size` brokers. Raises SizeRefused where the document does not allow that."""
    if size is None:
        return cluster
    spec = cluster.spec
    most = spec.max_size or (max(spec.size, size))
    least = spec.min_size or 1
    if not least <= size <= most:
        rule = f"at most spec.maxSize ({most})" if size > most else f"at least {least}"
        raise SizeRefused(f"--size {size}: MiniCluster {cluster.metadata.name} allows {rule}")
    return _changed(cluster, size=size)


def with_policy(cluster: MiniCluster, word: str) -> MiniCluster:
    """Return the cluster with another queue policy, written NAME[:SETTING=VALUE,…]. Raises WrongRequest."""
    if not word:
        return cluster
    from minicluster.document import formats

    flux = cluster.spec.flux
    name, settings = policy_of(word)
    scheduler = flux.scheduler.model_copy(update={"queue_policy": name, "settings": settings})
    changed = _changed(cluster, flux=flux.model_copy(update={"scheduler": scheduler}))
    for _, message in formats.policy_problems(changed):
        raise UsageProblem(f"--policy {word}: {message}")
    return changed


def _validated(cluster: MiniCluster, change: FieldChange) -> MiniCluster:
    """Return the cluster with other fields. Raises UsageProblem where a document cannot have them."""
    from minicluster import document

    item = cluster.model_dump(by_alias=True, mode="json")
    try:
        return document.validate({**item, "spec": change.changed(item["spec"])})
    except document.DocumentError as error:
        messages = "; ".join(each.message for each in error.problems)
        raise UsageProblem(f"{change.option}: {messages}") from error


def with_command(cluster: MiniCluster, arguments: Sequence[str]) -> MiniCluster:
    """Return the cluster with these arguments as its main command; they reach the tasks unchanged."""
    if not arguments:
        return cluster
    from minicluster.document import runner_index

    index = runner_index(cluster.spec)
    container = cluster.spec.containers[index]
    replaced = container.model_copy(
        update={
            "command": shlex.join(arguments),
            "batch": False,
            "batch_raw": False,
            "commands": container.commands.model_copy(update={"script": ""}),
        }
    )
    return _changed(cluster, containers=_put(cluster.spec.containers, index, replaced), interactive=False)


def kept_up(cluster: MiniCluster) -> MiniCluster:
    """Return the cluster as one that stays up for jobs sent to it."""
    return _changed(cluster, interactive=True)


def _changed(cluster: MiniCluster, **fields: Any) -> MiniCluster:
    return cluster.model_copy(update={"spec": cluster.spec.model_copy(update=fields)})


def _put(containers: tuple[Container, ...], index: int, container: Container) -> tuple[Container, ...]:
    return (*containers[:index], container, *containers[index + 1 :])


def _others(text: str) -> list[dict[str, Any]]:
    """Return the ConfigMaps and Secrets of a text that the document room has found well-formed."""
    if "ConfigMap" not in text and "Secret" not in text:
        return []
    from minicluster.document import positions

    found: list[dict[str, Any]] = []
    for document in (each.value for each in positions.read(text)[0]):
        items = document.get("items") if isinstance(document, dict) else None
        members = items if isinstance(items, list) else []
        found += [each for each in (document, *members) if _is_data(each)]
    return found


def _is_data(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.get("kind") in {"ConfigMap", "Secret"}
        and isinstance(value.get("metadata"), dict)
        and isinstance(value["metadata"].get("name"), str)
    )


def _data(value: dict[str, Any]) -> dict[str, bytes]:
    """Return the files of a ConfigMap or Secret; base64 is a Secret's `data`, a ConfigMap's `binaryData`.

    Raises UsageProblem.
    """
    plain, encoded = ("data", "binaryData") if value["kind"] == "ConfigMap" else ("stringData", "data")
    try:
        files = {key: base64.b64decode(text) for key, text in (value.get(encoded) or {}).items()}
        return files | {key: str(text).encode() for key, text in (value.get(plain) or {}).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageProblem(
            f"{value['kind']} {value['metadata']['name']}: {plain} must hold texts by name,"
            f" and {encoded} texts in base64 ({error})"
        ) from error
