"""Reads the one MiniCluster, and the objects made for it, from an API server in memory."""

import json
from dataclasses import dataclass
from typing import Any

from minicluster.kube_client.objects import ObjectReference
from minicluster.plan.constants import KIND
from minicluster.plan.objects.names import FLUX_FILES
from tests.operator.field_sets import Object
from tests.operator.memory_store import Store
from tests.operator.memory_watches import KINDS
from tests.operator.objects import NAMESPACE

NAME = "mc"
MINICLUSTER = ObjectReference(KIND, NAMESPACE, NAME)
TIMES = {"lastTransitionTime", "startTime", "completionTime"}


@dataclass(frozen=True)
class Contents:
    """Reads what there is now, and the Secrets that ever were."""

    store: Store

    @property
    def status(self) -> Object:
        """The MiniCluster's status."""
        found: Object = self.store.objects.get(MINICLUSTER, {}).get("status", {})
        return found

    def secrets(self) -> list[str]:
        """Return the names of all Secrets that were ever made or changed, in order."""
        changes = ((each.reference, each.new) for each in self.store.history.changes)
        return [reference.name for reference, item in changes if reference.kind == "Secret" and item]

    def state(self) -> Object:
        """Return the MiniCluster and its objects, without times, UIDs and what else differs between runs."""
        uid = self.store.objects.get(MINICLUSTER, {"metadata": {"uid": "none"}})["metadata"]["uid"]
        shown = {f"{each.kind} {each.name}": self._shown(each) for each in self.store.objects}
        text = json.dumps({key: value for key, value in shown.items() if value}, sort_keys=True)
        found: Object = json.loads(text.replace(uid, "UID").replace(uid.replace("-", "")[:12], "UID"))
        return found

    def _shown(self, reference: ObjectReference) -> Object:
        item = self.store.objects[reference]
        if reference.kind == KIND:
            return {"spec": item["spec"], "status": without_times(item.get("status", {}))}
        if reference.kind in {"Event", "Pod"} and not self.is_ours(reference):
            return {}
        labels = item["metadata"].get("labels", {})
        own = {key: value for key, value in labels.items() if key != "their"}
        kept: tuple[str, ...] = () if reference.kind == "Secret" else ("spec", "data", "binaryData")
        body: Object = {key: item[key] for key in kept if key in item}
        return {**body, "labels": own, "owned": self.is_ours(reference)}

    def dependents(self) -> list[ObjectReference]:
        """Return the operator's objects that a watch reports, in a fixed order."""
        kinds = set(KINDS) - {KIND}
        return sorted(each for each in self.store.objects if each.kind in kinds and self.is_ours(each))

    def is_ours(self, reference: ObjectReference) -> bool:
        """Whether the MiniCluster controls an object, or shares it with those of its namespace."""
        metadata = self.store.objects[reference]["metadata"]
        if reference.name == FLUX_FILES:
            return not metadata.get("ownerReferences")
        known = self.store.objects.get(MINICLUSTER)
        owners = {each["uid"] for each in metadata.get("ownerReferences") or ()}
        return known is not None and known["metadata"]["uid"] in owners


def without_times(value: Any) -> Any:
    """Return JSON without the times at which something happened."""
    if isinstance(value, dict):
        return {key: without_times(child) for key, child in value.items() if key not in TIMES}
    return [without_times(each) for each in value] if isinstance(value, list) else value
