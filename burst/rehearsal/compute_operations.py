"""Operations of Compute Engine: what is under way, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from burst.rehearsal.google_account import PROJECT, absent, refusal
from burst.rehearsal.google_filters import FilterInvalidError, filtered, page
from burst.rehearsal.server import CloudAnswer, CloudRoute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from burst.rehearsal.cloud import CloudFault
    from burst.rehearsal.google_account import GoogleFrontend
    from burst.rehearsal.server import CloudRequest

ROOT = f"https://www.googleapis.com/compute/v1/projects/{PROJECT}"


def timestamp(seconds: float) -> str:
    """Return a time as Google's services write it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


@dataclass(slots=True)
class ComputeOperation:
    """One operation of a region or a zone."""

    name: str
    kind: str
    """In the API's words: its `operationType`."""
    scope: str
    """Such as `zones/us-central1-a`."""
    target: str
    request: str
    """The id that the client gave to its request; empty without one."""
    begun: float
    done: float
    """When it is done, which may be later than now."""
    errors: list[tuple[str, str]] = field(default_factory=list)
    """Code and message of each, once it is done."""
    group: str = ""
    """What it has in common with the operations that it is made of."""
    detail: Mapping[str, Any] = field(default_factory=dict)

    def json(self, now: float) -> dict[str, Any]:
        """Return it as it is now."""
        is_done = now >= self.done
        found: dict[str, Any] = {
            "kind": "compute#operation",
            "id": str(1_000_000 + int(self.name.rpartition("-")[2])),
            "name": self.name,
            "operationType": self.kind,
            "status": "DONE" if is_done else "RUNNING",
            "progress": 100 if is_done else 0,
            "insertTime": timestamp(self.begun),
            "startTime": timestamp(self.begun),
            "targetLink": f"{ROOT}/{self.scope}/{self.target}",
            "selfLink": f"{ROOT}/{self.scope}/operations/{self.name}",
            self.scope.split("/")[0][:-1]: f"{ROOT}/{self.scope}",
            **self.detail,
        }
        if self.request:
            found["clientOperationId"] = self.request
        if self.group:
            found["operationGroupId"] = self.group
        if is_done:
            found["endTime"] = timestamp(self.done)
        if is_done and self.errors:
            found["error"] = {"errors": [{"code": code, "message": text} for code, text in self.errors]}
            found |= {"httpErrorStatusCode": 503, "httpErrorMessage": "SERVICE UNAVAILABLE"}
        return found


class ComputeOperations:
    """All operations of a project, and the calls that read them."""

    def __init__(self, frontend: GoogleFrontend, page_size: int) -> None:
        self._frontend = frontend
        self._page_size = page_size
        self._all: list[ComputeOperation] = []

    def begin(
        self, kind: str, scope: str, target: str, request: str, *, seconds: float, **more: Any
    ) -> ComputeOperation:
        """Begin one that takes so many seconds."""
        now = self._frontend.cloud.now()
        name = f"operation-{len(self._all)}"
        made = ComputeOperation(name, kind, scope, target, request, now, now + seconds, **more)
        self._all.append(made)
        return made

    def requested(self, kind: str, request: str) -> ComputeOperation | None:
        """Return the one that a request with this id began."""
        same = (each for each in self._all if request and (each.kind, each.request) == (kind, request))
        return next(same, None)

    def answer(self, operation: ComputeOperation) -> CloudAnswer:
        """Return it as an answer."""
        return CloudAnswer(body=operation.json(self._frontend.cloud.now()))

    def routes(self) -> list[CloudRoute]:
        """Return what reads operations of zones and regions."""
        found = []
        for level in ("region", "zone"):
            path = rf"/compute/v1/projects/[\w.:-]+/({level}s/[\w-]+)/operations"
            calls: list[tuple[str, str, str, Callable[[CloudRequest, CloudFault | None], CloudAnswer]]] = [
                ("GET", path, "list", self._list),
                ("GET", rf"{path}/([\w-]+)", "get", self._get),
                ("POST", rf"{path}/([\w-]+)/wait", "wait", self._get),
            ]
            for method, pattern, verb, work in calls:
                call = f"compute.{level}Operations.{verb}"
                found.append(CloudRoute(method, pattern, self._frontend.served(call, work)))
        return found

    def _get(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        scope, name = request.parts
        found = next((each for each in self._all if (each.scope, each.name) == (scope, name)), None)
        return self.answer(found) if found is not None else absent("operations", name)

    def _list(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        now = self._frontend.cloud.now()
        there = [each.json(now) for each in self._all if each.scope == request.parts[0]]
        try:
            found = filtered(there, request.value("filter"))
        except FilterInvalidError as error:
            return refusal(400, "invalid", str(error))
        items, after = page(found, request, self._page_size)
        return CloudAnswer(body={"kind": "compute#operationList", "items": items, **after})
