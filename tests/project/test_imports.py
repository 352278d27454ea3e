"""What importing a room imports: start-up time is kept by importing little."""

import subprocess
import sys

import pytest

from tests.project.sources import sources

HEAVY = ("pydantic", "jinja2", "typer", "rich", "yaml", "kubernetes", "kopf")


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
