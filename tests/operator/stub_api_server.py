"""A small API server over HTTP: it keeps what is written, lists MiniClusters, and holds watches open."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from minicluster.document import crd
from minicluster.kube_client.discovery import GROUP_VERSION_KIND
from minicluster.kube_client.resources import MINICLUSTERS, RESOURCES

GROUP, _, VERSION = MINICLUSTERS.version.partition("/")
PLURALS = {each.plural for each in RESOURCES.values()}
NOT_FOUND = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
VERBS = ["get", "list", "watch", "patch"]


def _resource(plural: str, kind: str, *, namespaced: bool = True) -> dict[str, Any]:
    names = {"name": plural, "singularName": kind.lower(), "kind": kind}
    return {**names, "namespaced": namespaced, "verbs": VERBS}


SERVED = {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}
DISCOVERY: dict[str, dict[str, Any]] = {
    "/version": {"major": "1", "minor": "35"},
    "/api": {"versions": ["v1"]},
    "/api/v1": {"resources": [_resource("namespaces", "Namespace", namespaced=False)]},
    "/apis": {"groups": [{"name": GROUP, "versions": [SERVED], "preferredVersion": SERVED}]},
    f"/apis/{MINICLUSTERS.version}": {"resources": [_resource(MINICLUSTERS.plural, MINICLUSTERS.kind)]},
    f"/openapi/v3/apis/{MINICLUSTERS.version}": {
        "components": {
            "schemas": {
                MINICLUSTERS.kind: {
                    **crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
                    GROUP_VERSION_KIND: [{"group": GROUP, "version": VERSION, "kind": MINICLUSTERS.kind}],
                }
            }
        }
    },
}


class StubServer(ThreadingHTTPServer):
    """The server; `objects` are kept by their paths, `ended` lets the watches go."""

    daemon_threads = True

    def __init__(self, objects: dict[str, dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects = objects
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: StubServer

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if "watch=true" in query:
            self.send_response(200)
            self.end_headers()
            self.server.ended.wait()
        elif path in DISCOVERY:
            self._answer(200, DISCOVERY[path])
        elif path.rpartition("/")[2] in PLURALS:
            self._answer(200, {"metadata": {"resourceVersion": "1"}, "items": self._listed(path)})
        elif path in self.server.objects:
            self._answer(200, self.server.objects[path])
        else:
            self._answer(404, NOT_FOUND)

    def _listed(self, path: str) -> list[dict[str, Any]]:
        """Return the MiniClusters of all namespaces, of other kinds nothing."""
        if not path.endswith(f"/{MINICLUSTERS.plural}"):
            return []
        return [item for item in self.server.objects.values() if item.get("kind") == MINICLUSTERS.kind]

    def do_POST(self) -> None:
        item = self._body()
        self._keep(f"{self.path.partition('?')[0]}/{item.get('metadata', {}).get('name', '')}", item)

    def do_PATCH(self) -> None:
        self._keep(self.path.partition("?")[0], self._body())

    def do_PUT(self) -> None:
        self.do_PATCH()

    def _body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def _keep(self, path: str, item: dict[str, Any]) -> None:
        item.setdefault("metadata", {})["resourceVersion"] = "2"
        self.server.objects[path] = item
        self._answer(200, item)

    def _answer(self, code: int, item: dict[str, Any]) -> None:
        body = json.dumps(item).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as the base class names it
        """Log nothing: what a test needs of a request it reads from the objects."""


@contextlib.contextmanager
def serving(objects: dict[str, dict[str, Any]]) -> Iterator[StubServer]:
    """Serve these objects, by their paths, for as long as the block takes."""
    with StubServer(objects) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()
