"""What `minicluster version` finds out about a cluster, of an API server that answers what it is told."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import tracemalloc
import zipfile
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from minicluster import __version__, flux_zips
from minicluster.backends.records import ComponentVersion
from minicluster.document import crd, load
from minicluster.kube_client.api import Listing, Selection
from minicluster.kube_client.errors import ANOTHERS_CRD, NO_CRD, ApiError
from minicluster.kube_client.resources import CONFIG_MAPS, DEPLOYMENTS, MINICLUSTERS
from minicluster.plan import Site, render
from minicluster.remote import versions
from minicluster.remote.session import NamespaceSession
from tests.operator.stub_api_server import DISCOVERY
from tests.release_0_1_0.adapters import DATA

if TYPE_CHECKING:
    from minicluster.kube_client.resources import Resource
    from minicluster.kube_client.user_client import UserClient

JSON = dict[str, Any]
OPENAPI = "/openapi/v3/apis/flux-framework.org/v1alpha2"
UPGRADE = 'docs/installation.md, "Upgrade"'
DENIED = "deployments.apps is forbidden"
OLD_ZIP = base64.b64encode((DATA / "flux_modules.zip").read_bytes()).decode()


class Server:
    """A client of an API server with these answers and objects; what is not there is refused."""

    def __init__(self, answers: JSON, objects: dict[Resource, list[JSON]]) -> None:
        self.answers = DISCOVERY | {"/version": {"gitVersion": "v1.36.2"}} | answers
        self.objects = objects

    async def get(self, path: str) -> JSON:
        if path not in self.answers:
            raise ApiError(404, "NotFound", "there is nothing")
        return cast("JSON", self.answers[path])

    async def list(self, selection: Selection) -> Listing:
        if selection.resource is MINICLUSTERS and not self.answers["/apis"]["groups"]:
            raise ApiError(404, "", "404 page not found")
        if selection.resource not in self.objects:
            raise ApiError(403, "Forbidden", f"{selection.resource.plural}.apps is forbidden")
        return Listing(tuple(self.objects[selection.resource]), "1")

    async def read(self, resource: Resource, namespace: str, name: str) -> JSON:
        (found,) = (each for each in self.objects[resource] if each["metadata"]["name"] == name)
        return found


def found(
    component: str, answers: JSON | None = None, **objects: list[JSON] | None
) -> list[ComponentVersion]:
    """Return the components of a kind."""
    kinds = {"clusters": MINICLUSTERS, "config_maps": CONFIG_MAPS, "deployments": DEPLOYMENTS}
    there = {kinds[kind]: items for kind, items in objects.items() if items is not None}
    client = cast("UserClient", Server(answers or {}, {MINICLUSTERS: [], CONFIG_MAPS: [], **there}))
    session = NamespaceSession(client, "team", lambda _: None)
    return [each for each in asyncio.run(versions.components(session)) if each.component == component]


def packed(version: str) -> str:
    """Return a zip with a package of this version, in base64."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("minicluster/__init__.py", f'"""Text."""\n\n__version__ = "{version}"\n')
    return base64.b64encode(content.getvalue()).decode()


def mc(name: str = "mc", generation: int = 1, **status: Any) -> JSON:
    metadata = {"name": name, "generation": generation, "creationTimestamp": "2026-01-01T00:00:00Z"}
    seen = {"phase": "Running", "readyBrokers": 2, "observedGeneration": 1}
    return {"metadata": metadata, "status": seen | status}


def config_map(name: str, zipped: str, time: str = "2026-01-01T00:00:00Z") -> JSON:
    """Return a MiniCluster's ConfigMap, which the operator wrote at a time, and somebody else later."""
    fields = [
        {"manager": "minicluster", "time": time},
        {"manager": "kubectl", "time": "2030-01-01T00:00:00Z"},
    ]
    labels = {"app.kubernetes.io/instance": name}
    metadata = {"name": f"{name}-config", "labels": labels, "managedFields": fields}
    return {"metadata": metadata, "binaryData": {flux_zips.ZIP: zipped}}


def flux_files(zipped: str, time: str = "2026-01-01T00:00:00Z") -> JSON:
    """Return the ConfigMap that all MiniClusters of a namespace share."""
    shared = config_map("none", zipped, time)
    del shared["metadata"]["labels"]["app.kubernetes.io/instance"]
    shared["metadata"]["name"] = "minicluster-flux-files"
    return shared


def deployment(version: str, ready: int = 1, watched: str = "--all-namespaces") -> JSON:
    labels = {"app.kubernetes.io/version": version}
    metadata = {"name": "minicluster-operator", "namespace": "system", "labels": labels}
    containers = [{"name": "operator", "args": [watched, "--listen=:8080"]}]
    status = {"readyReplicas": ready} if ready else {}
    return {
        "metadata": metadata,
        "spec": {"template": {"spec": {"containers": containers}}},
        "status": status,
    }


def published(definition: JSON) -> JSON:
    kind = DISCOVERY[OPENAPI]["components"]["schemas"]["MiniCluster"]["x-kubernetes-group-version-kind"]
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return {OPENAPI: {"components": {"schemas": {"it": {**schema, "x-kubernetes-group-version-kind": kind}}}}}


@pytest.fixture(autouse=True)
def _own_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "__version__", "0.2.0")


@pytest.mark.parametrize(
    ("version", "differs"),
    [
        ("v1.36.2", ""),
        ("v1.31.0-eks", ""),
        ("v1.30.9", "is older than 1.31, the oldest that the operator works on"),
    ],
)
def test_kubernetes(version: str, differs: str) -> None:
    assert found("Kubernetes", {"/version": {"gitVersion": version}}) == [
        ComponentVersion("Kubernetes", version, differs=differs)
    ]


OLD_CRD: JSON = yaml.safe_load(gzip.decompress((DATA / "crd.yaml.gz").read_bytes()))
NEW_CRD = crd()
NEW_CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["x"] = {}
REFERENCE_CRD = crd()
REFERENCE_CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"] = {}
OLDER = f"is older than this program: upgrade it with the operator, {UPGRADE}"
DEFINITIONS: dict[str, tuple[JSON, str | None, str, str]] = {
    "same": ({}, "v1alpha2", "the fields of this program", ""),
    "older": (
        published(OLD_CRD),
        "v1alpha2",
        "lacks spec.profile, spec.granularity, spec.bursting and 14 more",
        OLDER,
    ),
    "newer": (published(NEW_CRD), "v1alpha2", "also has spec.x", ""),
    "another operator's": (published(REFERENCE_CRD), "v1alpha2", ANOTHERS_CRD, ""),
    "not published": ({OPENAPI: {}}, "v1alpha2", "its fields are not published (yet)", ""),
    "none": ({"/apis": {"groups": []}}, None, NO_CRD, ""),
}


@pytest.mark.parametrize(("answers", "version", "note", "differs"), DEFINITIONS.values(), ids=DEFINITIONS)
def test_the_crd(answers: JSON, version: str | None, note: str, differs: str) -> None:
    assert found("CRD", answers) == [ComponentVersion("CRD", version, note, differs=differs)]


UNSEEN = "whether it still runs you may not see"


def by(name: str, runs: str = UNSEEN) -> str:
    return f"by ConfigMap {name} in namespace team" + (f", which it wrote last; {runs}" if runs else "")


NO_DEPLOYMENT = "no operator is seen (there is no Deployment of one; one may run elsewhere)"
NOT_READY = "has no pod that is ready"
UNREADY = f"by Deployment minicluster-operator in namespace system, which {NOT_READY}"
DEPLOYED = "by Deployment minicluster-operator in namespace system"
UNKNOWN = "no MiniCluster in namespace team has files of it"
UPGRADE_OPERATOR = f"is older than this program: upgrade it first, {UPGRADE}"
UPGRADE_PROGRAM = f"is newer than this program: upgrade this, {UPGRADE}"
UNSERVED = "serves namespace team no longer, or never did: MiniCluster a waits for one"
TWO = [config_map("a", packed("0.1.5"), "2026-01-01T00:00:09Z"), config_map("b", packed("0.2.0"))]
OPERATORS: dict[str, tuple[list[JSON], list[JSON] | None, list[JSON] | None, str | None, str, str]] = {
    "same": ([mc("b")], TWO, None, "0.2.0", by("b-config"), ""),
    "of 0.1.0": ([mc("c")], [config_map("c", OLD_ZIP)], None, "0.1.0", by("c-config"), UPGRADE_OPERATOR),
    "newer": ([mc("c")], [config_map("c", packed("1.0.0"))], None, "1.0.0", by("c-config"), UPGRADE_PROGRAM),
    "the last one": ([mc("a"), mc("b")], TWO, None, "0.1.5", by("a-config"), UPGRADE_OPERATOR),
    "not of what has ended": ([mc("a", phase="Failed"), mc("b")], TWO, None, "0.2.0", by("b-config"), ""),
    "before others": ([mc("b")], TWO, [deployment("0.1.0")], "0.2.0", by("b-config", ""), ""),
    "gone": ([mc("b")], TWO, [], "0.2.0", by("b-config", NO_DEPLOYMENT), ""),
    "not ready": (
        [mc("b")],
        TWO,
        [deployment("0.2.0", 0)],
        "0.2.0",
        by("b-config", f"Deployment minicluster-operator in namespace system {NOT_READY}"),
        "",
    ),
    "deployed, not ready": (
        [],
        None,
        [deployment("0.2.0", 0)],
        "0.2.0",
        f"{DEPLOYED}, which {NOT_READY}",
        "",
    ),
    "deployed for others": (
        [],
        None,
        [deployment("0.2.0", watched="--namespace=theirs")],
        "0.2.0",
        f"{DEPLOYED}, which does not watch namespace team",
        "",
    ),
    "deployed for this one": (
        [],
        None,
        [deployment("0.2.0", watched="--namespace=team")],
        "0.2.0",
        DEPLOYED,
        "",
    ),
    "left for others": (
        [mc("b")],
        TWO,
        [deployment("0.2.0", watched="--namespace=theirs")],
        "0.2.0",
        by("b-config", "Deployment minicluster-operator in namespace system does not watch it"),
        "",
    ),
    "looks at none": ([mc("a", generation=2)], [], None, None, f"{UNKNOWN}; {DENIED}", UNSERVED),
    "looks no longer at it": (
        [mc("b", generation=2)],
        TWO,
        None,
        "0.2.0",
        by("b-config"),
        UNSERVED.replace("MiniCluster a", "MiniCluster b"),
    ),
    "of the namespace": (
        [mc("c")],
        [flux_files(packed("0.2.0")), config_map("c", "", "2026-01-01T00:00:01Z")],
        None,
        "0.2.0",
        by("minicluster-flux-files"),
        "",
    ),
    "rolled back": (
        [mc("c")],
        [flux_files(packed("0.2.0")), config_map("c", OLD_ZIP, "2026-01-01T00:00:01Z")],
        None,
        "0.1.0",
        by("c-config"),
        UPGRADE_OPERATOR,
    ),
    "none in it": ([mc("a")], [config_map("a", "")], None, None, by("a-config"), ""),
    "no zip": ([mc("a")], [config_map("a", "bm8=")], None, None, by("a-config"), ""),
    "none yet": ([mc("a")], [], None, None, f"{UNKNOWN}; {DENIED}", ""),
    "deployed": ([], None, [deployment("0.1.0")], "0.1.0", DEPLOYED, UPGRADE_OPERATOR),
    "denied": ([], [], None, None, f"{UNKNOWN}; {DENIED}", ""),
    "elsewhere": ([], [], [], None, f"{UNKNOWN}, and it has no Deployment", ""),
}


@pytest.mark.parametrize(
    ("clusters", "config_maps", "deployments", "version", "note", "differs"),
    OPERATORS.values(),
    ids=OPERATORS,
)
def test_the_operator(
    clusters: list[JSON],
    config_maps: list[JSON] | None,
    deployments: list[JSON] | None,
    version: str | None,
    note: str,
    differs: str,
) -> None:
    seen = found("operator", clusters=clusters, config_maps=config_maps, deployments=deployments)
    assert seen == [ComponentVersion("operator", version, note, differs=differs)]


def test_what_the_operator_writes_has_its_version() -> None:
    [document] = load(
        "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\nmetadata: {name: mc}\n"
        "spec: {size: 1, containers: [{image: app, command: hostname}]}\n"
    )
    written = [each for each in render(document, Site(lead_api=True)) if "binaryData" in each]
    assert [versions.packed_version(each["binaryData"][flux_zips.ZIP]) for each in written] == [__version__]


def test_of_a_huge_file_only_the_beginning_is_unpacked() -> None:
    """Anybody who may edit ConfigMaps could put it there."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("minicluster/__init__.py", b"\n" * 50_000_000)
    packed = base64.b64encode(content.getvalue()).decode()
    tracemalloc.start()
    try:
        assert versions.packed_version(packed) is None
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2_000_000


NO_DEFINITION = "there are no MiniClusters here (no definition)"
UNDEFINED = {
    "nobody sees": (None, None, f"{NO_DEFINITION}; {DENIED}", ""),
    "none runs": ([], None, f"{NO_DEFINITION}, and it has no Deployment", ""),
    "one runs": ([deployment("0.2.0")], "0.2.0", DEPLOYED, ""),
}


@pytest.mark.parametrize(("deployments", "version", "note", "differs"), UNDEFINED.values(), ids=UNDEFINED)
def test_without_the_definition_an_operator_is_searched_all_the_same(
    deployments: list[JSON] | None, version: str | None, note: str, differs: str
) -> None:
    """The API server's own words are `404 page not found`."""
    seen = found("operator", {"/apis": {"groups": []}}, deployments=deployments)
    assert seen == [ComponentVersion("operator", version, note, differs=differs)]


def test_whoever_may_not_list_miniclusters_gets_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "MINICLUSTERS", DEPLOYMENTS)
    assert found("operator") == [ComponentVersion("operator", note=DENIED)]


LEAD = {"minicluster": "0.2.0", "engine": "embedded", "flux": "0.88.0"}
OLD_LEAD = "is older than the operator: it goes on, and is the newer one once it starts again"
LEADS: dict[str, tuple[JSON, list[ComponentVersion]]] = {
    "embedded": (
        {"lead": LEAD},
        [ComponentVersion("lead", "0.2.0", "embedded instance, as Flux 0.88.0", "mc")],
    ),
    "flux, older": (
        {"lead": {"minicluster": "0.1.9", "engine": "flux", "flux": "0.88.0"}},
        [ComponentVersion("lead", "0.1.9", "Flux 0.88.0", "mc", OLD_LEAD)],
    ),
    "of 0.1.0": (
        {"lead": {"engine": "flux", "flux": "0.88.0"}},
        [ComponentVersion("lead", None, "Flux 0.88.0", "mc")],
    ),
    "not stored": ({}, [ComponentVersion("lead", None, "its operator does not store what leads run", "mc")]),
    "not there yet": ({"readyBrokers": 0}, []),
    "ended": ({"phase": "Succeeded", "lead": LEAD}, []),
}


@pytest.mark.parametrize(("status", "expected"), LEADS.values(), ids=LEADS)
def test_leads(status: JSON, expected: list[ComponentVersion]) -> None:
    seen = found("lead", clusters=[mc(**status)], config_maps=[config_map("mc", packed("0.2.0"))])
    assert seen == expected


@pytest.mark.parametrize(
    ("version", "other", "expected"),
    [
        ("0.1.0", "0.2.0", True),
        ("0.9.0", "0.10.0", True),
        ("0.2.0", "0.2.0", False),
        ("1.0.0", "0.2.0", False),
        (None, "0.2.0", False),
        ("0.2.0", None, False),
        ("main", "0.2.0", False),
    ],
)
def test_only_what_is_known_to_be_older_is(version: str | None, other: str | None, expected: bool) -> None:
    assert versions.is_older(version, other) is expected
