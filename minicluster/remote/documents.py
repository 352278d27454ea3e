"""Documents for an API server, and its refusals with the lines of the document.

An object is applied as it was written. So the user's field manager has the fields of the document, and no
others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from minicluster.backends.documents import RENAMES_NONE
from minicluster.document import DocumentError, Problem, positions, runner_index, validate
from minicluster.kube_client.errors import RequestError
from minicluster.plan.constants import API_VERSION, KIND

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from minicluster.backends.documents import FieldChange
    from minicluster.document.positions import Located, Path
    from minicluster.kube_client.errors import ApiError
    from minicluster.plan.objects.fields import Object

DATA_KINDS = ("ConfigMap", "Secret")
"""Kinds that a document may have beside a MiniCluster. They are applied first: containers refer to them."""

_KEPT = ("name", "namespace", "labels", "annotations", "finalizers", "ownerReferences")
_TYPED = re.compile(r"(?:^|: )\s*(\.\S+): (.+)$")
_MEANT = re.compile(r"spec(\.\w+)+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object of a file, to be applied."""

    item: Object
    source: str
    """The file's name."""
    located: Located
    """The object with its lines."""

    @property
    def kind(self) -> str:
        """Its kind, empty where the document has none."""
        return str(self.item.get("kind", ""))

    @property
    def is_cluster(self) -> bool:
        """Whether it is a MiniCluster that can be sent to an API server, valid or not."""
        return self.kind == KIND and self.item.get("apiVersion") == API_VERSION and bool(self.name)

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.item["metadata"].get("name", ""))

    @property
    def namespace(self) -> str:
        """Its namespace, empty where the document names none."""
        return str(self.item["metadata"].get("namespace") or "")

    def problem(self, field: str, message: str) -> Problem:
        """Return a problem of a field, with its line, or with its parent's where it is absent."""
        path, _ = resolved(field, self.item)
        position = self.located.position(path)
        return Problem(field or self.name, message, position.line, position.column, source=self.source)


def read(text: str, source: str) -> tuple[list[Wanted], list[Problem]]:
    """Return the MiniClusters, ConfigMaps and Secrets of a text, valid or not, and problems of its YAML."""
    documents, problems = positions.read(text)
    found = [
        Wanted(_written(each.value), source, each)
        for each in _members(documents)
        if isinstance(each.value, dict) and each.value.get("kind") in (KIND, *DATA_KINDS)
    ]
    return found, [replace(each, source=source) for each in problems]


def choose(
    found: list[Wanted],
    name: str = "",
    size: int | None = None,
    policy: tuple[str, Mapping[str, Any]] | None = None,
    image: str = "",
    cores: Iterable[FieldChange] = (),
) -> list[Wanted]:
    """Return what to apply: with a name one MiniCluster only, with a size that many brokers.

    A policy is a name with settings; an image is that of the container that runs the command; `cores` are
    for all. The data beside them comes first. Raises RequestError, DocumentError.
    """
    clusters = [each for each in found if each.kind == KIND and (not name or each.name == name)]
    names = ", ".join(each.name for each in found if each.kind == KIND)
    if not clusters:
        raise RequestError(f"{found[0].source}: has no MiniCluster {name}; it has {names}; {RENAMES_NONE}")
    for option, is_given in (("--size", size is not None), ("--image", bool(image))):
        if is_given and len(clusters) > 1:
            raise RequestError(f"{option}: {found[0].source} has several MiniClusters ({names}); add --name")
    if size is not None:
        clusters = [_changed(clusters[0], f"--size {size}", size=size)]
    if image:
        clusters = [_with_image(clusters[0], image)]
    if policy is not None:
        clusters = [_with_policy(each, *policy) for each in clusters]
    for change in cores:
        clusters = [_changed(each, change.option, **change.changed(each.item["spec"])) for each in clusters]
    return [each for each in found if each.kind != KIND] + clusters


def with_namespace(wanted: Wanted, given: str, usual: str) -> Wanted:
    """Return an object with its namespace: its own, else the `usual`; `given` is that of --namespace.

    Raises RequestError where the document's own is another one than the one given.
    """
    if given and wanted.namespace not in {"", given}:
        line = wanted.located.position(("metadata", "namespace")).line
        raise RequestError(
            f"{wanted.source}:{line}: metadata.namespace: is {wanted.namespace}, but --namespace is {given}"
        )
    metadata = {**wanted.item["metadata"], "namespace": wanted.namespace or usual}
    return replace(wanted, item={**wanted.item, "metadata": metadata})


def problems(wanted: Wanted, error: ApiError) -> list[Problem]:
    """Return what an API server finds wrong with an object, each with its line; empty if nothing."""
    if error.status == 422:
        return [wanted.problem(*_cleared(each.field, each.message)) for each in error.causes]
    if "failed to create typed patch object" in error.message:
        lines = [_TYPED.search(line) for line in error.message.splitlines()]
        return [wanted.problem(each[1].lstrip("."), each[2]) for each in lines if each]
    return []


def _members(documents: list[Located]) -> Iterator[Located]:
    for document in documents:
        items = document.value.get("items") if isinstance(document.value, dict) else None
        if isinstance(items, list) and str(document.value.get("kind", "")).endswith("List"):
            for index in range(len(items)):
                yield document.within(("items", index))
        else:
            yield document


def _written(value: Mapping[str, Any]) -> Object:
    """Return an object without the fields that an API server fills, as in `kubectl get -o yaml`."""
    metadata = value.get("metadata")
    kept = {key: metadata[key] for key in _KEPT if key in metadata} if isinstance(metadata, dict) else {}
    return {**{key: part for key, part in value.items() if key != "status"}, "metadata": kept}


def _with_policy(wanted: Wanted, name: str, settings: Mapping[str, Any]) -> Wanted:
    flux = wanted.item["spec"].get("flux") or {}
    scheduler = {**(flux.get("scheduler") or {}), "queuePolicy": name, "settings": dict(settings)}
    return _changed(wanted, f"--policy {name}", flux={**flux, "scheduler": scheduler})


def _with_image(wanted: Wanted, image: str) -> Wanted:
    containers = list(wanted.item["spec"]["containers"])
    index = runner_index(validate(wanted.item).spec)
    containers[index] = {**containers[index], "image": image}
    return _changed(wanted, f"--image {image}", containers=containers)


def _changed(wanted: Wanted, option: str, **fields: Any) -> Wanted:
    item = {**wanted.item, "spec": {**wanted.item["spec"], **fields}}
    try:
        validate(item)
    except DocumentError as error:
        problems = "; ".join(each.message for each in error.problems)
        raise RequestError(f"{option}: MiniCluster {wanted.name} does not allow it: {problems}") from error
    return replace(wanted, item=item)


def _cleared(field: str, message: str) -> tuple[str, str]:
    """Return field and message without what the API server adds; a rule of the whole names its field."""
    message = message.removeprefix("Invalid value: ")
    meant = _MEANT.match(message)
    if field in {"", "<nil>"}:
        return (meant[0] if meant else ""), message
    return field, message


def resolved(field: str, value: Any) -> tuple[Path, str]:
    """Return the path of a field such as `spec.containers[0].environment[A]`, and what leads no further.

    Keys may have dots: the longest one that fits is taken.
    """
    path: list[str | int] = []
    rest = field
    while rest := rest.lstrip(".[]"):
        steps = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        fitting = [each for each in steps if re.match(re.escape(str(each)) + r"(?=$|[.\[\]])", rest)]
        if not fitting:
            break
        step = max(fitting, key=lambda each: len(str(each)))
        path.append(step)
        value, rest = value[step], rest[len(str(step)) :]
    return tuple(path), rest
