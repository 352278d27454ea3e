"""What importing a room imports: start-up time is kept by importing little."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.sources import ROOT, sources

DOCUMENTS_AND_PLANS = {
    "jinja2",
    "minicluster.document.cluster",
    "minicluster.document.loading",
    "minicluster.plan.decision",
    "minicluster.plan.objects.objects",
    "minicluster.plan.status",
}
HEAVY = ("pydantic", "jinja2", "typer", "rich", "yaml", "kubernetes", "kopf")


CLIENTS = {"boto3", "botocore", "google.api_core", "google.auth", "grpc", "requests"}
CLIENTS |= {"google.cloud.compute_v1", "google.cloud.container_v1"}
"""Of clouds: 100 MB, and seconds. `google.cloud` alone is a name, and loads nothing."""


def _loaded_after(statement: str) -> set[str]:
    """Return the names of all modules a fresh interpreter holds after one statement."""
    program = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import minicluster",
        "import minicluster.embedded.broker.broker",
        "import minicluster.embedded.main",
        "import minicluster.embedded.client",
        "import minicluster.embedded_lead.process",
        "import minicluster.flux_zips",
        "import metrics_api.lead.routes",
        "import minicluster.instance",
        "import broker_config",
        "import queue_policies",
    ],
)
def test_brokers_and_libraries_never_import_what_only_documents_need(statement: str) -> None:
    """A broker starts in a fraction of a second because none of these is loaded in it."""
    loaded = _loaded_after(statement)
    assert not loaded.intersection(HEAVY)


def test_no_command_imports_the_clients_of_clouds() -> None:
    """Every command starts as fast where they are installed: only a provider's own calls import them."""
    loads = "for each in entry_points(group=group): each.load()"
    groups = ("minicluster.commands", "minicluster.burst_providers", "minicluster.backends")
    inside = "import burst.cli.process, burst.cli.rehearsal, burst.kubernetes.process"
    program = f"{inside}\nfrom importlib.metadata import entry_points\nfor group in {groups}:\n  {loads}"
    loaded = _loaded_after(program)
    assert {"burst.cli.command", "burst.providers.eks", "burst.providers.gke"} <= loaded
    assert loaded & CLIENTS == set()


def test_importing_the_package_imports_no_room() -> None:
    loaded = _loaded_after("import minicluster")
    assert {name for name in loaded if name.split(".")[0] == "minicluster"} == {"minicluster"}


def test_a_flux_command_imports_neither_asyncio_nor_zmq() -> None:
    """A client speaks over a UNIX socket; it needs no event loop."""
    loaded = _loaded_after("import minicluster.embedded.client, minicluster.embedded.main")
    assert not loaded.intersection({"asyncio", "zmq"})


def test_a_follower_imports_neither_the_store_nor_the_policies() -> None:
    """Only the lead schedules and stores; 63 of 64 brokers save that memory."""
    loaded = _loaded_after(
        "import minicluster.embedded.broker.broker, minicluster.embedded.execution.rank.tasks"
    )
    assert not loaded.intersection({"sqlite3", "queue_policies", "pluggy"})


@pytest.mark.parametrize(
    "folder", ["minicluster/kube_client", "minicluster/cli", "minicluster/remote", "metrics_api"]
)
def test_only_the_operator_loads_kopf(folder: str) -> None:
    """It costs a command on Kubernetes a sixth of the time in which it starts."""
    names = [each.module for each in sources(folder) if not each.module.endswith(".__main__")]
    assert "kopf" not in _loaded_after("import " + ", ".join(names))


@pytest.mark.parametrize("module", ["minicluster.operator.process", "metrics_api.adapter.adapter"])
def test_a_service_loads_no_official_client(module: str) -> None:
    """In a pod it reads no kubeconfig, and that client takes 10 MB."""
    loaded = _loaded_after(f"import {module}, minicluster.kube_client.access")
    assert not loaded.intersection({"kubernetes", "requests"})


def test_a_client_of_an_api_server_loads_neither_templates_nor_zeromq() -> None:
    """It imports the plan for names, and makes no plan."""
    loaded = _loaded_after("import minicluster.remote.session, minicluster.kube_client.access")
    assert not loaded.intersection({"jinja2", "zmq"})


def _loaded_by(*words: str) -> set[str]:
    """Return the names of all modules that a call of `minicluster` holds at its end, however it ends."""
    ended = "atexit.register(lambda: print(*sys.modules, sep='\\n'))"
    called = f"sys.argv = {['minicluster', *words]!r}; minicluster.cli.main.run()"
    program = f"import atexit, sys, minicluster.cli.main; {ended}; {called}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "client"),
    [
        pytest.param((), "minicluster.local.backend", id="here"),
        pytest.param(
            ("--on", "kubernetes", "--kubeconfig", "/nowhere"),
            "minicluster.kube_client.client",
            id="on kubernetes",
        ),
    ],
)
def test_a_listing_loads_what_reads_no_document_and_makes_no_plan(
    words: tuple[str, ...], client: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With these it takes a quarter longer on Kubernetes until the first request."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    loaded = _loaded_by("list", *words)
    assert client in loaded
    assert not loaded.intersection(DOCUMENTS_AND_PLANS)


@pytest.mark.parametrize(
    "words", [("jobs", "mc"), ("submit", "mc", "--", "true"), ("shell", "mc")], ids=" ".join
)
def test_a_command_of_this_machine_loads_neither_tls_nor_an_event_loop(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It calls a broker by its socket; what runs brokers is the supervisor's."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    loaded = _loaded_by(*words)
    assert "minicluster.local.connection" in loaded
    assert not loaded.intersection({"asyncio", "http.client", "ssl"})


def test_a_stored_status_is_read_without_the_models_of_a_document() -> None:
    item = {
        "metadata": {"namespace": "here", "name": "mc", "uid": "1", "generation": 1},
        "status": {"phase": "Running", "later": 1},
    }
    loaded = _loaded_after(f"from minicluster.remote import summary; summary.of({item!r})")
    assert "minicluster.document.status" in loaded
    assert not loaded.intersection(DOCUMENTS_AND_PLANS)


ON_USE = ("minicluster.document", "minicluster.malleable", "minicluster.plan")
"""Packages that import a public name at its first use."""


@pytest.mark.parametrize("package", ON_USE)
def test_a_name_is_found_where_type_checkers_find_it(package: str) -> None:
    tree = ast.parse((ROOT / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))
    shown = {
        (each.module.removeprefix(f"{package}."), alias.name)
        for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom) and each.module and each.module.startswith(f"{package}.")
        for alias in each.names
    }
    module = importlib.import_module(package)
    homes = vars(module)["_HOMES"].items()
    assert {(home, name) for home, names in homes for name in names} == shown
    assert sorted(name for _, name in shown) == sorted(module.__all__)
    assert all(getattr(module, name) is not None for name in module.__all__)


@pytest.mark.parametrize("package", ON_USE)
def test_a_name_is_never_that_of_a_module_there(package: str) -> None:
    """Python would put the module in its place, once something has imported that."""
    modules = {path.stem for path in (ROOT / package.replace(".", "/")).iterdir()}
    assert not modules.intersection(importlib.import_module(package).__all__)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ImportError, match=r"cannot import name 'nothing' from 'minicluster\.document'"):
        exec("from minicluster.document import nothing")


PRICED = """[{machine: m, cores: 1, price: "1", priceDate: 2026-11-01}]"""
OF_CLOUDS = f"""\
providers:
- name: gke
  kind: gke
  settings: {{project: lab-1234, location: europe-west4-a, cluster: c, namespace: n, machines: {PRICED}}}
- name: engine
  kind: compute-engine
  settings: {{project: lab-1234, region: europe-west4, image: global/images/flux, machines: {PRICED}}}
- name: eks
  kind: eks
  settings:
    {{region: eu-west-1, cluster: c, nodeRole: "arn:aws:iam::123456789012:role/nodes", subnets: [subnet-1],
      namespace: n, machines: {PRICED}}}
"""


def test_a_command_whose_settings_have_providers_of_clouds_loads_no_client_of_theirs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only what asks a cloud does: a listing of bursts, and of what providers offer, is as fast as ever."""
    monkeypatch.setenv("MINICLUSTER_RUNTIME_DIR", str(tmp_path))
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "burst.yaml").write_text(OF_CLOUDS)
    loaded = _loaded_by("burst", "providers", "--state", str(state))
    assert {f"burst.providers.{kind}.provider" for kind in ("eks", "gke", "compute_engine")} <= loaded
    assert loaded & CLIENTS == set()
