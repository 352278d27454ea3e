"""Keeps the authority of the adapter's certificate in a Secret, which all replicas share."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from metrics_api.adapter.certificates import LIVES, AdapterAuthority, Lives
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import SECRETS
from minicluster.plan.constants import LABEL_NAME, METRICS_APPLICATION

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.kube_client.objects import Object
    from minicluster.kube_client.resources import Resource

SECRET = "minicluster-metrics-serving"  # noqa: S105  # a Secret's name


class ServingSecrets(Protocol):
    """The part of an `Api` by which the certificates are kept."""

    async def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object."""
        ...

    async def create(self, item: Object) -> Object:
        """Create an object."""
        ...

    async def replace(self, item: Object) -> Object:
        """Replace an object; its resourceVersion is a precondition."""
        ...


async def authority(
    api: ServingSecrets, namespace: str, now: datetime, lives: Lives = LIVES
) -> AdapterAuthority:
    """Return the authority; make one if there is none, or if it is damaged or soon expires.

    If another replica makes one at the same time, return that one. Raises ApiError, ApiUnreachableError.
    """
    while True:
        try:
            item = await api.read(SECRETS, namespace, SECRET)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            item = None
        found = _loaded(item) if item is not None else None
        if found is not None and not found.is_due(now):
            return found
        fresh = AdapterAuthority.make(now, lives, former=found)
        try:
            if item is None:
                await api.create(_secret(namespace, fresh))
            else:
                version = item["metadata"]["resourceVersion"]
                await api.replace(_secret(namespace, fresh, version))
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            continue
        return fresh


def _secret(namespace: str, made: AdapterAuthority, version: str = "") -> Object:
    metadata = {"name": SECRET, "namespace": namespace, "labels": {LABEL_NAME: METRICS_APPLICATION}}
    return {
        "apiVersion": SECRETS.version,
        "kind": SECRETS.kind,
        "metadata": metadata | ({"resourceVersion": version} if version else {}),
        "type": "Opaque",
        "data": {name: b64encode(text.encode()).decode() for name, text in made.files().items()},
    }


def _loaded(item: Object) -> AdapterAuthority | None:
    try:
        files = {name: b64decode(text).decode() for name, text in (item.get("data") or {}).items()}
    except (Base64Error, ValueError):
        return None
    return AdapterAuthority.load(files)
