"""An API server over HTTP that keeps objects, plays job controller and garbage collector, and fails."""

from __future__ import annotations

import copy
import itertools
import json
import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NAMESPACE = "bursts"
Item = dict[str, Any]
VERSION = ("uid", "resourceVersion")


class Refusal(NamedTuple):
    """What a request is answered."""

    status: int
    message: str = "no"
    reason: str = ""
    retry_after: int = 0
    takes_effect: bool = False
    """Whether it is served before."""
    lost: bool = False
    """Whether the connection ends without an answer."""


@dataclass
class FakeApi:
    """What there is, and what will happen."""

    items: dict[str, Item] = field(default_factory=dict)
    """By path."""
    faults: dict[tuple[str, str], deque[Refusal]] = field(default_factory=dict)
    """By method and last word of the collection, such as `jobs`."""
    requests: list[str] = field(default_factory=list)
    lost: dict[int, bool] = field(default_factory=dict)
    """By number of a request, from 0: its connection ends without an answer; whether it takes effect."""
    denied: set[str] = field(default_factory=set)
    """Rights that a review does not find, such as `delete jobs`."""
    namespace: str = NAMESPACE
    """Where its job controller makes pods."""
    pod_status: Item = field(default_factory=lambda: {"phase": "Running"})
    log: str = ""
    """Of every pod."""
    makes_pods: bool = True
    minor: str = "36"
    page: int = 2
    """How many objects a listing has at most in one answer."""
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fail(self, method: str, plural: str, *refusals: Refusal) -> None:
        """Have the next requests of a kind fail, one each."""
        self.faults.setdefault((method, plural), deque()).extend(refusals)

    def of(self, plural: str) -> list[Item]:
        """Return the objects of a kind."""
        return [item for path, item in self.items.items() if path.split("/")[-2] == plural]

    def refusal(self, method: str, path: str, query: Mapping[str, str]) -> Refusal | None:
        """Note a request; return how it fails, None where it does not."""
        effect = self.lost.get(len(self.requests))
        self.requests.append(f"{method} {path}")
        if effect is not None:
            return Refusal(0, takes_effect=effect, lost=True)
        words = path.split("/")
        plural = words[-1] if method == "POST" or "labelSelector" in query else words[-2]
        waiting = self.faults.get((method, plural))
        return waiting.popleft() if waiting else None

    def serve(self, method: str, path: str, query: Mapping[str, str], body: Item) -> tuple[int, Item]:
        """Return status and body of an answer."""
        if path == "/version":
            return 200, {"major": "1", "minor": self.minor}
        if path.endswith("selfsubjectaccessreviews"):
            about = body["spec"]["resourceAttributes"]
            below = f"/{about['subresource']}" if about.get("subresource") else ""
            right = f"{about['verb']} {about['resource']}{below}"
            return 201, {"status": {"allowed": right not in self.denied}}
        if method != "GET":
            served = {"POST": self._create, "PATCH": self._apply}.get(method)
            return served(path, body) if served is not None else self._delete(path)
        return self._read(path, query)

    def _read(self, path: str, query: Mapping[str, str]) -> tuple[int, Item]:
        if path in self.items:
            return 200, self.items[path]
        if path.endswith("/log"):
            return 200, {"log": self.log}
        parts = path.split("/")
        if len(parts) > 4 and parts[-2] != "namespaces" and parts[-3] == "namespaces":
            return 200, self._list(path, query)
        return 404, status(404, "NotFound", f"{path} not found")

    def _create(self, collection: str, body: Item) -> tuple[int, Item]:
        path = f"{collection}/{body['metadata']['name']}"
        if path in self.items:
            return 409, status(409, "AlreadyExists", f"{path} already exists")
        self.add(path, body)
        if body["kind"] == "Job" and self.makes_pods:
            for index in range(body["spec"]["completions"]):
                self._pod(path, index)
        return 201, self.items[path]

    def _merge(self, path: str, body: Item) -> tuple[int, Item]:
        """Merge into an object, whose version is counted (RFC 7396, for what tests merge)."""
        path = path.removesuffix("/status")
        if path not in self.items:
            return 404, status(404, "NotFound", f"{path} not found")
        item = self.items[path]
        wanted = body.get("metadata", {})
        if any(wanted.get(key, item["metadata"].get(key)) != item["metadata"].get(key) for key in VERSION):
            return 409, status(409, "Conflict", f"{path} is another one")
        for part, values in body.items():
            merged = {**item.get(part, {}), **values}
            item[part] = {key: value for key, value in merged.items() if value is not None}
        item["metadata"]["resourceVersion"] = str(next(self.numbers))
        if not item["metadata"].get("finalizers") and "deletionTimestamp" in item["metadata"]:
            del self.items[path]
        return 200, item

    def _apply(self, path: str, body: Item) -> tuple[int, Item]:
        if "kind" not in body:
            return self._merge(path, body)
        if path in self.items and body["metadata"].get("resourceVersion"):
            return 409, status(409, "Conflict", f"{path} is there")
        return 200, self.add(path, body)

    def add(self, path: str, body: Item) -> Item:
        """Have an object, as if it had been created."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        made = {"creationTimestamp": now, "resourceVersion": "1"}
        about = {"uid": f"uid-{next(self.numbers)}", **body["metadata"], **made}
        self.items[path] = {**copy.deepcopy(body), "metadata": about}
        return self.items[path]

    def _pod(self, job: str, index: int) -> None:
        owner = self.items[job]
        name = f"{owner['metadata']['name']}-{index}-abcde"
        labels = owner["spec"]["template"]["metadata"]["labels"]
        about = {
            "name": name,
            "labels": {**labels, "batch.kubernetes.io/job-completion-index": str(index)},
            "ownerReferences": [{"uid": owner["metadata"]["uid"]}],
        }
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}"
        self.add(path, {"kind": "Pod", "metadata": about, "status": self.pod_status})

    def _delete(self, path: str) -> tuple[int, Item]:
        if path not in self.items:
            return 404, status(404, "NotFound", f"{path} not found")
        gone = [path]
        while gone:
            uid = self.items.pop(gone.pop())["metadata"]["uid"]
            gone += [
                each
                for each, item in self.items.items()
                if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences", ()))
            ]
        return 200, {}

    def _list(self, collection: str, query: Mapping[str, str]) -> Item:
        wanted = dict(each.split("=") for each in query.get("labelSelector", "").split(",") if each)
        found = [
            item
            for path, item in self.items.items()
            if path.rpartition("/")[0] == collection
            and wanted.items() <= item["metadata"].get("labels", {}).items()
        ]
        first = int(query.get("continue", "0"))
        more = {"continue": str(first + self.page)} if first + self.page < len(found) else {}
        return {"metadata": {"resourceVersion": "1", **more}, "items": found[first : first + self.page]}


def status(code: int, reason: str, message: str) -> Item:
    """Return the body of a refusal."""
    return {"kind": "Status", "code": code, "reason": reason, "message": message}


@contextmanager
def serving(folder: Path) -> Iterator[tuple[FakeApi, Path]]:
    """Serve one; return it, and a kubeconfig."""
    api = FakeApi()
    api.add(f"/api/v1/namespaces/{NAMESPACE}", {"kind": "Namespace", "metadata": {"name": NAMESPACE}})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_words: object) -> None:
            pass

        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65_537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            with api.lock:
                self._answer(url.path, query, json.loads(body) if body else {})

        def _answer(self, path: str, query: Mapping[str, str], body: Item) -> None:
            fault = api.refusal(self.command, path, query)
            code, found = 200, {}
            if fault is None or fault.takes_effect:
                code, found = api.serve(self.command, path, query, body)
            if fault is not None and fault.lost:
                self.close_connection = True
                return
            if fault is not None:
                code, found = fault.status, status(fault.status, fault.reason, fault.message)
            self._write(code, found, fault.retry_after if fault else 0)

        def _write(self, code: int, found: Item, after: int) -> None:
            text = found["log"].encode() if "log" in found else json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(text)))
            if after:
                self.send_header("Retry-After", str(after))
            self.end_headers()
            self.wfile.write(text)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield api, kubeconfig(folder, f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def kubeconfig(folder: Path, url: str, user: Item | None = None, **about: str) -> Path:
    """Write a kubeconfig of one context."""
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "far",
        "contexts": [{"name": "far", "context": {"cluster": "far", "user": "me"}}],
        "clusters": [{"name": "far", "cluster": {"server": url, **about}}],
        "users": [{"name": "me", "user": user or {"token": "a-token-that-nobody-may-read"}}],
    }
    path.write_text(yaml.safe_dump(document))
    return path
