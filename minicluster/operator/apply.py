"""Applies a plan's objects: creates, changes or leaves each one.

An object with another owner is never changed.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from minicluster.kube_client import objects
from minicluster.kube_client.errors import ApiError, KubernetesError
from minicluster.kube_client.objects import ObjectReference
from minicluster.kube_client.resources import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    JOBS,
    NETWORK_POLICIES,
    PODS,
    RESOURCES,
    SECRETS,
    SERVICES,
)
from minicluster.operator import observation, shared_flux_files
from minicluster.plan import ObservedObject
from minicluster.plan.constants import ANNOTATION_REPLACES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.kube_client.api import Api
    from minicluster.kube_client.objects import Name
    from minicluster.operator.cache import Cache
    from minicluster.operator.observation import Dependent
    from minicluster.plan import ObjectKey
    from minicluster.plan.objects.fields import Object

# Kinds that are created, and applied from their first change on: that costs the API server less, for a large
# ConfigMap half (decision 0044).
_CREATED = {each.kind for each in (CONFIG_MAPS, SERVICES, NETWORK_POLICIES, DISRUPTION_BUDGETS, JOBS)}
# The fields of a Job that can change once it exists. The others, such as its template, are immutable.
_MUTABLE = ("parallelism", "completions", "suspend", "activeDeadlineSeconds")
MAX_REMEMBERED = 1000
"""Second Secrets whose tokens are remembered: those whose MiniCluster could not be finished since."""


class NameTakenError(KubernetesError):
    """An object of that name exists and has another owner."""


class ApplyRefusedError(KubernetesError):
    """The API server refused an object; `error` is its answer."""

    def __init__(self, key: ObjectKey, error: ApiError) -> None:
        self.key = key
        self.error = error
        super().__init__(f"{key}: {error}")


class Applier:
    """Applies the objects that differ from what exists; the others cost no request.

    An object differs in three cases: it is not there; the digest of its content in the annotation
    is another one; or another client has changed one of its fields since.
    """

    def __init__(self, api: Api, cache: Cache) -> None:
        self._api = api
        self._cache = cache
        self._written: dict[tuple[str, str], str] = {}  # digests of the tokens in second Secrets
        self._making: dict[ObjectReference, asyncio.Lock] = {}  # shared objects that are made just now

    async def apply(self, name: Name, uid: str, items: Iterable[Object]) -> None:
        """Apply what differs, in order, up to the first that cannot be applied.

        All but the Secrets are `stamped`. Raises NameTakenError, ApplyRefusedError.
        """
        for item in items:
            if "apiVersion" not in item:
                continue  # a digest stub: the object is as it was applied
            reference = ObjectReference(item["kind"], name.namespace, item["metadata"]["name"])
            try:
                await self._apply_one(name, uid, reference, item)
            except ApiError as error:
                raise ApplyRefusedError(reference.key, error) from error

    def stand(self, name: Name, uid: str, stubs: Iterable[Object]) -> bool:
        """Whether all these objects are there, untouched, as this operator has applied them."""
        for each in stubs:
            reference = ObjectReference(each["kind"], name.namespace, each["metadata"]["name"])
            found = self._cache.dependents.get(reference)
            if (
                found is None
                or found.owner_uid != _owner(reference, uid)
                or reference not in self._cache.dependents.owned_fields
            ):
                return False
            if not self._is_settled(reference, found, each):
                return False
        return True

    async def revisit(self, name: Name, unwanted: Iterable[ObjectKey] = ()) -> None:
        """Read the conflicting objects again, and forget those that are gone.

        Those of the keys in `unwanted` are forgotten unread: the document does not ask for such objects.
        """
        for key in unwanted:
            self._cache.conflicts.remove(name, ObjectReference(key.kind, name.namespace, key.name))
        for reference in list(self._cache.conflicts.get(name, ())):
            try:
                found = await self._api.read(RESOURCES[reference.kind], reference.namespace, reference.name)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                self._cache.conflicts.remove(name, reference)
            else:
                self._meet(name, reference, observation.dependent(reference.kind, found))

    async def _apply_one(self, name: Name, uid: str, reference: ObjectReference, item: Object) -> None:
        if reference.kind == SECRETS.kind:
            await self._create_secret(item)
            return
        found = self._cache.dependents.get(reference)
        if found is None and _is_shared(reference):
            await self._make_shared(name, uid, reference, item)
        elif found is None:
            await self._make(name, uid, reference, item)
        elif found.owner_uid != _owner(reference, uid):
            self._meet(name, reference, found)
            raise NameTakenError(str(reference.key))
        elif not self._is_settled(reference, found, item):
            await self._change(reference, found, item)

    def _is_settled(self, reference: ObjectReference, found: Dependent, wanted: Object) -> bool:
        if found.going:
            return True  # it is being deleted: once it is gone, a new one is made
        if found.applied != wanted["metadata"]["annotations"][observation.ANNOTATION_DIGEST]:
            return False
        if reference in self._cache.dependents.owned_fields:
            return self._cache.dependents.owned_fields[reference] == found.owned_fields
        shape = observation.shape if found.creation is None else observation.created_shape
        if found.shared or found.shape != shape(wanted):
            return False  # another client wrote to it, perhaps while no operator ran: apply it once more
        self._cache.dependents.owned_fields.put(reference, found.owned_fields)
        return True

    async def _create_secret(self, item: Object) -> None:
        """Create a Secret; one that exists is this MiniCluster's own, for its name carries the uid.

        One that is to take another's place is put there, unless this operator has written the same tokens
        before. Who may delete Secrets reads none; who may patch them could.
        """
        about = item["metadata"]
        replaces = ANNOTATION_REPLACES in about.get("annotations", {})
        reference, written = (about["namespace"], about["name"]), observation.digest(item["data"])
        try:
            await self._api.create(item)
        except ApiError as error:
            if (error.status, error.reason) != (HTTPStatus.CONFLICT, "AlreadyExists"):
                raise
            if not replaces or self._written.get(reference) == written:
                return
            await self._replace_secret(item)
        if replaces:
            if len(self._written) >= MAX_REMEMBERED:
                self._written.clear()  # one of these is at worst written once more
            self._written[reference] = written

    async def _replace_secret(self, item: Object) -> None:
        about = item["metadata"]
        try:
            await self._api.delete(SECRETS, about["namespace"], about["name"])
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        await self._api.create(item)

    async def _make(self, name: Name, uid: str, reference: ObjectReference, wanted: Object) -> None:
        try:
            if _is_created(wanted):
                answer = await self._api.create(wanted)
            else:
                answer = await self._api.apply(wanted, new=True)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            found = await self._api.read(RESOURCES[reference.kind], reference.namespace, reference.name)
            if _is_ours(found, _owner(reference, uid)):
                self._cache.see(reference.kind, found)  # the watch had not reported it yet
                if _is_shared(reference) and observation.has_digest(found, wanted):
                    return  # another MiniCluster's reconcile has just made it
                raise
            self._meet(name, reference, observation.dependent(reference.kind, found))
            raise NameTakenError(str(reference.key)) from error
        self._take_in(reference, wanted, answer)

    async def _make_shared(self, name: Name, uid: str, reference: ObjectReference, wanted: Object) -> None:
        """Make what MiniClusters share, once: with its half a megabyte it is most of what they take."""
        lock = self._making.setdefault(reference, asyncio.Lock())
        try:
            async with lock:
                if reference not in self._cache.dependents:
                    await self._make(name, uid, reference, wanted)
        finally:
            self._making.pop(reference, None)

    async def _change(self, reference: ObjectReference, found: Dependent, wanted: Object) -> None:
        exactly = {**wanted, "metadata": {**wanted["metadata"], "uid": found.uid}}
        if found.creation is not None:
            adoption = observation.adoption(found.creation, found.version)
            await self._api.patch(RESOURCES[reference.kind], reference.namespace, reference.name, adoption)
        try:
            answer = await self._api.apply(exactly)
        except ApiError as error:
            if error.status != HTTPStatus.UNPROCESSABLE_ENTITY or wanted["kind"] not in {
                JOBS.kind,
                PODS.kind,
            }:
                raise
            answer = await self._change_what_can(exactly)
        self._take_in(reference, wanted, answer)

    def _take_in(self, reference: ObjectReference, wanted: Object, answer: Object) -> None:
        if not self._cache.applied(wanted, answer):
            raise ApiError(HTTPStatus.CONFLICT, "Conflict", f"{reference.key} was deleted meanwhile")

    async def _change_what_can(self, wanted: Object) -> Object:
        """Change the fields of a Job that are mutable, or the metadata of a pod; the rest stays as made."""
        metadata = wanted["metadata"]
        body: Object = {"metadata": {"uid": metadata["uid"], "annotations": metadata["annotations"]}}
        if wanted["kind"] == JOBS.kind:
            body["spec"] = {key: wanted["spec"][key] for key in _MUTABLE if key in wanted["spec"]}
        resource = RESOURCES[wanted["kind"]]
        return await self._api.patch(resource, metadata["namespace"], metadata["name"], body)

    def _meet(self, name: Name, reference: ObjectReference, known: Dependent) -> None:
        owner = known.owner + (" (which is being deleted)" if known.going else "")
        self._cache.conflicts.add(name, reference, ObservedObject(known.key, known.owner_uid, owner))


def _is_created(wanted: Object) -> bool:
    """Whether a new object is created, not applied.

    Not a Job that says nothing about `suspend`, as Kueue decides that: who creates it owns the default, and
    would start it by the first apply.
    """
    return wanted["kind"] in _CREATED and (wanted["kind"] != JOBS.kind or "suspend" in wanted["spec"])


def _owner(reference: ObjectReference, uid: str) -> str:
    """Return the UID of the owner that an object must have: none owns what all of a namespace share."""
    return "" if _is_shared(reference) else uid


def _is_shared(reference: ObjectReference) -> bool:
    return reference == shared_flux_files.reference(reference.namespace)


def _is_ours(found: Object, owner_uid: str) -> bool:
    """Whether an object is of that owner; one without an owner, whether an operator has written it."""
    return objects.controller_uid(found) == owner_uid and bool(owner_uid or observation.is_written(found))
