"""Which queue policy decides: the document's, or that of `--policy`; and elastic jobs in a local cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from local_machine import document, eventually

from minicluster.backends.documents import core_changes, policy_of
from minicluster.backends.errors import WrongRequest
from minicluster.backends.records import PlacementRequest
from minicluster.kube_client.errors import RequestError
from minicluster.local import documents
from minicluster.remote import documents as applied
from tests.queue_policies.installed_plugin import install_plugin

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_machine import Machine

ROOT = Path(__file__).parents[2]
APP = ROOT / "tests" / "embedded" / "malleable_app.py"
PLUGIN = """\
from queue_policies.easy import Easy
from queue_policies.plugins import hookimpl

class Mine(Easy):
    name = "mine"

@hookimpl
def minicluster_policies():
    return [Mine]
"""
TEXT = """\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {name: mc}
spec:
  size: 2
  flux: {connectTimeout: 7s, scheduler: {queuePolicy: minicluster/easy, settings: {extra: false}}}
  containers: [{image: test}]
"""


def _scheduler(word: str) -> tuple[str, dict[str, Any]]:
    source = documents.with_request(documents.parse(TEXT, "x.yaml"), policy=word)
    assert source.cluster.spec.flux.connect_timeout == "7s"
    scheduler = source.cluster.spec.flux.scheduler
    return scheduler.queue_policy, dict(scheduler.settings)


def _applied(word: str) -> tuple[str, dict[str, Any]]:
    found, _ = applied.read(TEXT, "x.yaml")
    policy = policy_of(word) if word else None
    (wanted,) = applied.choose(found, policy=policy)
    flux = wanted.item["spec"]["flux"]
    assert flux["connectTimeout"] == "7s"
    return flux["scheduler"]["queuePolicy"], flux["scheduler"]["settings"]


@pytest.mark.parametrize("chosen", [_scheduler, _applied], ids=["here", "on Kubernetes"])
@pytest.mark.parametrize(
    ("word", "policy", "settings"),
    [
        pytest.param("", "minicluster/easy", {"extra": False}, id="the document's"),
        pytest.param("fcfs", "fcfs", {}, id="a name"),
        pytest.param("minicluster/malleable", "minicluster/malleable", {}, id="one of ours"),
        pytest.param(
            "water-filling:gap=5,overtake=false",
            "water-filling",
            {"gap": 5.0, "overtake": False},
            id="settings",
        ),
        pytest.param(
            "minicluster/easy:extra=true", "minicluster/easy", {"extra": True}, id="ours, with settings"
        ),
    ],
)
def test_the_policy_asked_for_replaces_the_documents(
    chosen: Any, word: str, policy: str, settings: dict[str, Any]
) -> None:
    assert chosen(word) == (policy, settings)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("esay", 'no policy is called "esay"; did you mean "easy"?'),
        ("malleable:gpa=3", "queue policy malleable: unknown setting 'gpa'; did you mean 'gap'?"),
        ("easy:extra", "queue policy easy: 'extra'; a setting is written name=value"),
    ],
)
def test_a_policy_that_does_not_exist_is_refused(word: str, message: str) -> None:
    with pytest.raises(WrongRequest) as error:
        _scheduler(word)
    assert str(error.value) == f"--policy {word}: {message}"


def test_on_kubernetes_too() -> None:
    with pytest.raises(RequestError, match=r'--policy esay: MiniCluster mc .*did you mean "easy"'):
        _applied("esay")


def _events(machine: Machine, job: str) -> list[str]:
    lines = machine.good("shell", "mc", "--", "flux", "job", "eventlog", job).stdout.splitlines()
    return [line.split()[1] for line in lines]


def test_status_shows_which_policy_decides(machine: Machine, tmp_path: Path) -> None:
    flux = {"scheduler": {"queuePolicy": "minicluster/easy"}}
    path = document(tmp_path, spec={"interactive": True, "flux": flux})
    done = machine.up(path, "--placement", "spread", "--affinity", "best-effort", "--profile", "memory")
    assert done.returncode == 0, done.stderr
    (status,) = machine.rows("status", "mc")
    assert status["queue_policy"] == "minicluster/easy, placement spread:affinity=best-effort"


def test_up_with_a_policy_resizes_jobs(embedded: Machine, tmp_path: Path) -> None:
    """The document's own policy would not; its placement stays, and status says which ones decide."""
    spec = {"interactive": True, "flux": {"scheduler": {"placement": "pack", "affinity": "best-effort"}}}
    path = document(tmp_path, spec=spec, resources={"limits": {"cpu": "2"}})
    assert embedded.up(path, "--policy", "priority-elastic:gap=0").returncode == 0
    (status,) = embedded.rows("status", "mc")
    assert status["queue_policy"] == "minicluster/priority-elastic, placement pack:affinity=best-effort"
    elastic = [f"--setattr=user.elastic.{each}" for each in ("min=1", "max=4", "malleable=true")]
    words = [*elastic, f"--env=PYTHONPATH={ROOT}", sys.executable, str(APP), str(tmp_path)]
    shell = ("shell", "mc", "--", "flux")
    job = embedded.good(*shell, "submit", *words).stdout.strip()
    eventually((tmp_path / "task-3").exists, "four workers")
    embedded.good(*shell, "run", "-n2", "--urgency=20", "true")
    eventually(lambda: _events(embedded, job).count("resource-update") == 2, "a shrink and a growth")
    (tmp_path / "end").touch()
    assert embedded.good("attach", "mc", job).stdout.count(" ends\n") == 6


def test_a_lead_loads_a_policy_whose_code_is_not_where_its_metadata_is(
    embedded: Machine, tmp_path: Path
) -> None:
    """So an editable installation leaves it; brokers start without what the environment adds to the path."""
    site, sources = tmp_path / "site", tmp_path / "sources"
    install_plugin(site, "mine", "my_package.policies", "")
    (sources / "my_package").mkdir(parents=True)
    (sources / "my_package/__init__.py").touch()
    (sources / "my_package/policies.py").write_text(PLUGIN)
    embedded.environment["PYTHONPATH"] = f"{site}:{sources}"
    spec = {"flux": {"scheduler": {"queuePolicy": "minicluster/mine"}}}
    done = embedded.run(document(tmp_path, spec=spec, command="echo ran"))
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr


def _cores_here(asked: PlacementRequest) -> dict[str, Any]:
    spec = documents.with_request(documents.parse(TEXT, "x.yaml"), cores=asked).cluster.spec
    return spec.model_dump(by_alias=True, mode="json")


def _cores_applied(asked: PlacementRequest) -> dict[str, Any]:
    found, _ = applied.read(TEXT, "x.yaml")
    (wanted,) = applied.choose(found, cores=[*core_changes(asked)])
    spec: dict[str, Any] = wanted.item["spec"]
    return spec


@pytest.mark.parametrize("chosen", [_cores_here, _cores_applied], ids=["here", "on Kubernetes"])
def test_what_is_asked_of_cores_stands_over_the_document(
    chosen: Callable[[PlacementRequest], dict[str, Any]],
) -> None:
    """Beside its queue policy, which stays."""
    spec = chosen(PlacementRequest("random:seed=7", "required", "memory"))
    scheduler = spec["flux"]["scheduler"]
    assert (scheduler["placement"], scheduler["placementSettings"]) == ("random", {"seed": 7})
    assert (scheduler["affinity"], spec["profile"]) == ("required", "memory")
    assert (scheduler["queuePolicy"], spec["flux"]["connectTimeout"]) == ("minicluster/easy", "7s")


@pytest.mark.parametrize(
    ("asked", "option", "message"),
    [
        pytest.param(
            PlacementRequest("balancd"),
            "--placement balancd: ",
            "unknown placement 'balancd'; did you mean 'balanced'?",
            id="placement",
        ),
        pytest.param(
            PlacementRequest("random:sead=7"),
            "--placement random:sead=7: ",
            "did you mean 'seed'?",
            id="setting",
        ),
        pytest.param(
            PlacementRequest("random:seed"),
            "--placement random:seed: ",
            "placement random: 'seed'; a setting is written name=value",
            id="setting without a value",
        ),
        pytest.param(
            PlacementRequest(affinity="requird"),
            "--affinity requird: ",
            'allowed is "none" or "best-effort" or "required"; did you mean "required"?',
            id="affinity",
        ),
        pytest.param(
            PlacementRequest(profile="memroy"), "--profile memroy: ", 'did you mean "memory"?', id="profile"
        ),
    ],
)
@pytest.mark.parametrize("chosen", [_cores_here, _cores_applied], ids=["here", "on Kubernetes"])
def test_what_is_misspelt_is_named_with_its_option(
    chosen: Callable[[PlacementRequest], dict[str, Any]], asked: PlacementRequest, option: str, message: str
) -> None:
    with pytest.raises((WrongRequest, RequestError)) as refused:
        chosen(asked)
    assert str(refused.value).startswith(option)
    assert message in str(refused.value)
