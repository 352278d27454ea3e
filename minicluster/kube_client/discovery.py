"""What an API server serves: its version, its kinds, their fields. Every authenticated user may read it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from minicluster.kube_client.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from minicluster.kube_client.resources import Resource
    from minicluster.plan.objects.fields import Object

GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"
ANY_FIELD = "x-kubernetes-preserve-unknown-fields"


class Readable(Protocol):
    """A client of an API server."""

    async def get(self, path: str) -> Object:
        """Return the JSON object at a path. Raises ApiError, ApiUnreachableError."""
        ...


async def version(client: Readable) -> tuple[int, int]:
    """Return the server's minor version, such as (1, 36)."""
    found = await client.get("/version")
    digits = "".join(letter for letter in str(found["minor"]) if letter.isdigit())
    return int(found["major"]), int(digits)


async def serves(client: Readable, resource: Resource) -> bool:
    """Return whether discovery names a kind: one whose CRD was just installed takes a second."""
    group, _, wanted = resource.version.partition("/")
    groups = (await client.get("/apis"))["groups"]
    if not any(
        each["name"] == group and wanted in {served["version"] for served in each["versions"]}
        for each in groups
    ):
        return False
    # The list of groups may name a new CRD's group a moment before its kinds can be asked for.
    found = await _if_there(client, f"/apis/{resource.version}") or {"resources": ()}
    return any(each["name"] == resource.plural for each in found["resources"])


async def schema(client: Readable, resource: Resource) -> Object | None:
    """Return the OpenAPI v3 schema of a kind; None where it is not published (yet)."""
    found = await _if_there(client, f"/openapi/v3/apis/{resource.version}") or {}
    schemas: Mapping[str, Object] = (found.get("components") or {}).get("schemas") or {}
    return next((each for each in schemas.values() if _is_of(each, resource)), None)


def is_anothers(served: Mapping[str, Any]) -> bool:
    """Return whether the schema of MiniClusters is another operator's: all of ours have a phase."""
    status = (served.get("properties") or {}).get("status") or {}
    return not status.get(ANY_FIELD) and "phase" not in (status.get("properties") or {})


def missing_fields(wanted: Mapping[str, Any], served: Mapping[str, Any]) -> list[str]:
    """Return the fields of one schema that another lacks, as dotted paths, without those inside them."""
    return list(_missing(wanted, served, ""))


def _missing(wanted: Mapping[str, Any], served: Mapping[str, Any], path: str) -> Iterator[str]:
    if served.get(ANY_FIELD):
        return
    for part in ("items", "additionalProperties"):
        if isinstance(wanted.get(part), dict) and isinstance(served.get(part), dict):
            yield from _missing(wanted[part], served[part], path)
    properties = served.get("properties") or {}
    for name, field in (wanted.get("properties") or {}).items():
        inner = f"{path}.{name}" if path else name
        if name in properties:
            yield from _missing(field, properties[name], inner)
        else:
            yield inner


async def _if_there(client: Readable, path: str) -> Object | None:
    try:
        return await client.get(path)
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return None


def _is_of(found: Mapping[str, Any], resource: Resource) -> bool:
    group, _, wanted = resource.version.partition("/")
    return {"group": group, "version": wanted, "kind": resource.kind} in found.get(GROUP_VERSION_KIND, ())
