"""Stores the operator's own keys: in a Secret of its namespace, or in a file outside a cluster.

The first operator makes them. One that comes later, or at the same moment, takes those that are there. They
never change.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.kube_client.errors import ApiError, ApiUnreachableError
from minicluster.kube_client.resources import SECRETS
from minicluster.lead_client.errors import LeadKeysError
from minicluster.lead_client.keys import LeadAuthority
from minicluster.plan.constants import LABEL_NAME, OPERATOR_APPLICATION

if TYPE_CHECKING:
    from typing import Protocol

    from minicluster.kube_client.resources import Resource
    from minicluster.plan.objects.fields import Object

    class LeadKeySecrets(Protocol):
        """The part of an `Api` by which the keys are kept."""

        async def read(self, resource: Resource, namespace: str, name: str) -> Object:
            """Return an object."""
            ...

        async def create(self, item: Object) -> Object:
            """Create an object."""
            ...


SECRET = "minicluster-operator-door"  # noqa: S105  # a Secret's name
FILE = "operator-door.json"
STATE_VARIABLE = "XDG_STATE_HOME"
RETRY_DELAY = 2.0
"""Seconds between two tries where the API server is busy or away."""

log = logging.getLogger(__name__)


async def authority(api: LeadKeySecrets, namespace: str) -> LeadAuthority:
    """Return the keys of the operators in a namespace; none: those of this user on this machine.

    Waits for an API server that is busy or away. Raises ApiError, LeadKeysError.
    """
    if not namespace:
        return await asyncio.to_thread(of_file, directory() / FILE)
    while True:
        try:
            return await of_secret(api, namespace)
        except (ApiError, ApiUnreachableError) as error:
            if isinstance(error, ApiError) and not error.is_passing:
                raise LeadKeysError(_refused(namespace, error)) from error
            log.warning("Secret %s/%s: %s; it is asked for again", namespace, SECRET, error)
            await asyncio.sleep(RETRY_DELAY)


async def of_secret(api: LeadKeySecrets, namespace: str) -> LeadAuthority:
    """Return the keys in the Secret of a namespace; make them where there is no Secret."""
    try:
        return _loaded(namespace, await api.read(SECRETS, namespace, SECRET))
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
    fresh = LeadAuthority.make()
    try:
        await api.create(_secret(namespace, fresh))
    except ApiError as error:
        if (error.status, error.reason) != (HTTPStatus.CONFLICT, "AlreadyExists"):
            raise
        return _loaded(namespace, await api.read(SECRETS, namespace, SECRET))
    return fresh


def of_file(path: Path) -> LeadAuthority:
    """Return the keys in a file, which its owner alone can read; make them where there is no file."""
    try:
        if not path.exists():
            _write(path, json.dumps(LeadAuthority.make().files()))
        if path.stat().st_mode & 0o077:
            raise LeadKeysError(f"{path}: others can read it; chmod 600 makes it private, or remove it")
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LeadKeysError(
            f"{path}: {(error.strerror or str(error)).lower()}; the operator keeps its keys there: set"
            f" {STATE_VARIABLE} to a directory of your own"
        ) from error
    except ValueError:
        found = {}
    try:
        return LeadAuthority.load(found if isinstance(found, dict) else {})
    except LeadKeysError as error:
        raise LeadKeysError(f"the operator's keys in {path}: {error}; remove the file: {_ANEW}") from None


def directory() -> Path:
    """Return the state directory of this user for this program (XDG Base Directory Specification).

    Raises LeadKeysError where the user has no home directory.
    """
    chosen = os.environ.get(STATE_VARIABLE, "")
    root = Path(chosen) if Path(chosen).is_absolute() else _home() / ".local" / "state"
    return root / "minicluster"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise LeadKeysError(
            f"this user has no home directory, where the operator keeps its keys: set {STATE_VARIABLE}"
            " to a directory of your own"
        ) from None


_ANEW = (
    "new ones are made at the next start, and the leads of MiniClusters that are there then do not know them"
)


def _write(path: Path, text: str) -> None:
    """Write a new file, whole from its first moment. One that another process has just written stays."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        os.link(temporary, path)
    except FileExistsError:
        return
    finally:
        temporary.unlink(missing_ok=True)


def _secret(namespace: str, made: LeadAuthority) -> Object:
    labels = {LABEL_NAME: OPERATOR_APPLICATION}
    return {
        "apiVersion": SECRETS.version,
        "kind": SECRETS.kind,
        "metadata": {"name": SECRET, "namespace": namespace, "labels": labels},
        "type": "Opaque",
        "immutable": True,
        "data": {name: b64encode(text.encode()).decode() for name, text in made.files().items()},
    }


def _loaded(namespace: str, item: Object) -> LeadAuthority:
    try:
        files = {name: b64decode(text).decode() for name, text in (item.get("data") or {}).items()}
        return LeadAuthority.load(files)
    except (Base64Error, ValueError, LeadKeysError) as error:
        why = str(error) if isinstance(error, LeadKeysError) else "they are damaged"
        raise LeadKeysError(
            f"the operator's keys in Secret {namespace}/{SECRET}: {why}; delete it: {_ANEW}"
        ) from None


def _refused(namespace: str, error: ApiError) -> str:
    return (
        f"cannot get or create Secret {namespace}/{SECRET}, where the operator keeps its keys: {error};"
        " needed is a Role there that allows get of this one, and create, as the shipped manifests grant it"
    )
