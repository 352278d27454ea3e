"""The objects of a burst's brokers: as golden files, and one fact a test."""

from __future__ import annotations

import io
import zipfile
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from burst.errors import CallInvalid
from burst.joining import tunnel
from burst.joining.records import LeadRoute
from burst.joining.worker_document import WorkerSettings
from burst.joining.workers import anchor, labels_of, owned_by, worker_objects
from burst.providers.provider import WantedBurst
from minicluster.document import Volume
from minicluster.plan import to_yaml
from tests.burst.joining.near import CERTIFICATE, SPEC, join_settings, near

if TYPE_CHECKING:
    from burst.joining.records import JoinSettings
    from minicluster.document import MiniCluster

HERE = Path(__file__).parent
NOW = 1_800_000_000.0
WANTED = WantedBurst(
    "62dgmfw4gk", "here", 2, "c8", spot=False, until=NOW + 3600, cluster="uid", slot="burst-0"
)
SETTINGS = WorkerSettings(
    namespace="bursts",
    image="registry.example.org/app:2",
    node_selector={"pool": "c8"},
    tolerations=({"key": "burst", "operator": "Exists"},),
    requests={"cpu": "8", "nvidia.com/gpu": "1"},
    runtime_class="kata",
    priority_class="low",
    service_account="brokers",
    image_pull_secrets=("login",),
    job_labels={"kueue.x-k8s.io/queue-name": "bursts"},
    image_volumes=True,
)
BUSY: dict[str, Any] = {
    "minSize": 1,
    "services": [{"name": "db", "image": "example.org/db:1"}],
    "archive": {"path": "/data/dump"},
    "containers": [
        {
            "name": "app",
            "runFlux": True,
            "image": "example.org/app:1",
            "command": "lmp -in in.lj",
            "commands": {"pre": "umask 077", "brokerPre": "lead-only", "script": "lead-only.sh"},
            "environment": {"OMP_NUM_THREADS": "2"},
            "imagePullSecret": "of-home",
            "volumes": {"scratch": {"emptyDir": True}},
        },
        {"name": "monitor", "image": "example.org/monitor:1", "command": "monitor"},
    ],
    "jobLabels": {"kueue.x-k8s.io/queue-name": "at-home"},
    "pod": {
        "labels": {"team": "science"},
        "nodeSelector": {"pool": "home"},
        "tolerations": [{"key": "home", "operator": "Exists"}],
        "serviceAccountName": "at-home",
    },
    "flux": {**SPEC["flux"], "container": {"disable": False}, "minimalService": True},
}
GOLDENS = {
    "plain": (near(), WorkerSettings()),
    "everything": (near(**BUSY), SETTINGS),
}
TUNNELS = {
    "tunnel": (near(), WorkerSettings()),
    "tunnel-everything": (near(**BUSY), SETTINGS),
}
ROUTE = LeadRoute("/home/ada/.kube/config", "lab", "science", "app.kubernetes.io/instance=near", 8050)


def tunnelled(cluster: MiniCluster) -> JoinSettings:
    return replace(join_settings(cluster=cluster), address="", port=8050, route=ROUTE)


def objects(cluster: MiniCluster, settings: WorkerSettings = SETTINGS) -> dict[str, dict[str, Any]]:
    made = worker_objects(join_settings(cluster=cluster), WANTED, settings, NOW)
    return {each["kind"]: each for each in made}


@pytest.mark.parametrize("name", [*GOLDENS, *TUNNELS])
def test_golden(request: pytest.FixtureRequest, name: str) -> None:
    cluster, settings = {**GOLDENS, **TUNNELS}[name]
    join = tunnelled(cluster) if name in TUNNELS else join_settings(cluster=cluster)
    made = [anchor(WANTED, settings.namespace), *worker_objects(join, WANTED, settings, NOW)]
    rendered = to_yaml(map(_without_scripts, made))
    golden = HERE / "golden" / f"{name}.yaml"
    if request.config.getoption("--golden-write"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(rendered)
    assert rendered == golden.read_text()


def test_every_golden_file_is_of_a_case() -> None:
    assert {path.stem for path in (HERE / "golden").iterdir()} == {*GOLDENS, *TUNNELS}


def _without_scripts(item: dict[str, Any]) -> dict[str, Any]:
    if item["kind"] != "ConfigMap":
        return item
    shown = {"broker.toml", "slot", "cluster", "machine"}
    made = {**item, "data": {name: text if name in shown else "…" for name, text in item["data"].items()}}
    packed = dict.fromkeys(item.get("binaryData", ()), "…")
    return {**made, "binaryData": packed} if packed else made


@pytest.mark.parametrize("name", GOLDENS)
def test_the_certificate_is_in_the_secret_alone(name: str) -> None:
    made = objects(*GOLDENS[name])
    assert {key: b64decode(text).decode() for key, text in made["Secret"]["data"].items()} == {
        "curve.cert": CERTIFICATE
    }
    others = [each for kind, each in made.items() if kind != "Secret"]
    assert CERTIFICATE not in repr(others)
    assert CERTIFICATE not in repr(join_settings())


@pytest.mark.parametrize("name", GOLDENS)
def test_every_object_and_pod_has_the_burst_and_its_maker(name: str) -> None:
    made = [anchor(WANTED, "bursts"), *objects(*GOLDENS[name]).values()]
    labels = labels_of(WANTED)
    assert labels["minicluster-burst"] == "62dgmfw4gk"
    assert labels["minicluster-owner"] == "here"
    for item in [*made, made[-1]["spec"]["template"]]:
        assert labels.items() <= item["metadata"]["labels"].items()
    assert all(each["metadata"]["name"].startswith("mcb-62dgmfw4gk") for each in made)


def test_brokers_are_the_slots_hosts_behind_those_of_the_lead() -> None:
    made = objects(near())
    toml = made["ConfigMap"]["data"]["broker.toml"]
    assert '{ host = "near-0", bind = "tcp://*:%p", connect = "tcp://192.0.2.7:30123" }' in toml
    assert '{ host = "near-[1-3],burst-0-[0-7],burst-1-[0-1]" }' in toml
    [container] = made["Job"]["spec"]["template"]["spec"]["containers"]
    values = {each["name"]: each.get("value") for each in container["env"]}
    assert values["MINICLUSTER_HOST"] == "burst-0-$(MINICLUSTER_INDEX)"
    assert (values["MINICLUSTER_FENCE"], values["MINICLUSTER_LEAVE_AFTER"]) == ("30", "120")
    assert '-Shostname="${MINICLUSTER_HOST:-' in made["ConfigMap"]["data"]["start.sh"]


@pytest.mark.parametrize("name", GOLDENS)
def test_followers_of_real_flux_have_their_fence_and_nothing_else_of_a_lead(name: str) -> None:
    packed = objects(*GOLDENS[name])["ConfigMap"]["binaryData"]
    assert set(packed) == {"flux_modules.zip"}
    with zipfile.ZipFile(io.BytesIO(b64decode(packed["flux_modules.zip"]))) as archive:
        assert "minicluster/fence/flux_command.py" in archive.namelist()


def test_the_job_ends_by_itself_when_its_time_is_over() -> None:
    spec = objects(near())["Job"]["spec"]
    assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (3600, 600)
    assert "successPolicy" not in spec
    late = WANTED._replace(until=NOW)
    with pytest.raises(CallInvalid, match="burst 62dgmfw4gk was to end 0 s ago"):
        worker_objects(join_settings(), late, SETTINGS, NOW)


def test_an_object_hangs_on_the_anchor() -> None:
    item = owned_by(objects(near())["Job"], "uid-of-anchor")
    [owner] = item["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("ConfigMap", "mcb-62dgmfw4gk", "uid-of-anchor")


def with_flux(**flux: Any) -> MiniCluster:
    return near(flux={**SPEC["flux"], **flux})


def with_container(**container: Any) -> MiniCluster:
    return near(containers=[{"image": "example.org/app:1", **container}])


def with_volume(**volume: Any) -> MiniCluster:
    return with_container(volumes={"data": {"path": "/data", **volume}})


REACH = (
    "some brokers would have to reach others than the lead, which cannot be reached from there;"
    " right would be flux.topology:"
)
ANOTHER = "the provider's settings can have another one in"
MAKE = "make one of that name there, and name it in the provider's setting `existing`"
PROBLEMS = {
    "slot": (
        with_flux(bursting={"clusters": [{"name": "other", "size": 2}]}),
        "flux.bursting.clusters has no burst-0, but other",
    ),
    "hostlist": (
        with_flux(bursting={"hostlist": "a,b"}),
        "flux.bursting.hostlist names hosts, and no slots; right would be flux.bursting.clusters",
    ),
    "fanout": (
        near(maxSize=30, flux={**SPEC["flux"], "topology": "kary:32"}),
        f"it has 40 hosts, and flux.topology 'kary:32': {REACH} kary:40",
    ),
    "topology": (
        with_flux(topology="binomial"),
        f"it has 14 hosts, and flux.topology 'binomial': {REACH} kary:14",
    ),
    "host-path": (
        with_volume(hostPath="/home"),
        f"volume data is a directory of its own nodes, /home: {ANOTHER} volumes.data",
    ),
    "claim": (
        with_volume(claimName="disk"),
        f"volume data is PersistentVolumeClaim disk of its own cluster: {MAKE}",
    ),
    "config-map": (with_volume(configMapName="settings"), "volume data is ConfigMap settings of its own"),
    "secret": (with_volume(secretName="key"), "volume data is Secret key of its own cluster"),
    "variable": (
        with_container(secrets={"PASSWORD": {"name": "login", "key": "p"}}),
        "variable PASSWORD is Secret login of its own cluster",
    ),
    "munge": (with_flux(mungeSecret="munge"), "flux.mungeSecret is Secret munge of its own cluster"),
    "bootstrap": (
        with_flux(brokerConfig='[bootstrap]\nhosts = [{ host = "a" }]\n'),
        "flux.brokerConfig has a table [bootstrap], in which the lead has a name of its own cluster",
    ),
    "claims": (
        near(pod={"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}),
        "pod.resourceClaims are claims of its own cluster",
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_not_there_is_refused_with_words(name: str) -> None:
    cluster, problem = PROBLEMS[name]
    with pytest.raises(CallInvalid) as raised:
        objects(cluster)
    assert str(raised.value).startswith(f"MiniCluster near cannot burst there: {problem}")


def test_a_flat_tree_has_room_for_all() -> None:
    assert objects(near(maxSize=30, flux={**SPEC["flux"], "topology": "kary:40"}))


def test_volumes_are_replaced_by_settings_or_are_there_as_well() -> None:
    cluster = with_container(
        volumes={"data": {"path": "/data", "hostPath": "/home"}, "disk": {"path": "/d", "claimName": "disk"}},
        secrets={"PASSWORD": {"name": "login", "key": "p"}},
    )
    settings = WorkerSettings(
        volumes={"data": Volume(path="/data", empty_dir=True)}, existing=frozenset({"disk", "login"})
    )
    volumes = objects(cluster, settings)["Job"]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "data", "emptyDir": {}} in volumes
    assert {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}} in volumes


def test_state_and_archive_stay_with_the_lead() -> None:
    cluster = with_flux(stateVolume={"claimName": "state"})
    volumes = objects(cluster)["Job"]["spec"]["template"]["spec"]["volumes"]
    assert not any("persistentVolumeClaim" in each for each in volumes)


def test_a_document_of_which_no_files_can_be_made_is_refused() -> None:
    """Two hosts of one name."""
    cluster = near()
    named = cluster.metadata.model_copy(update={"name": "burst-0"})
    with pytest.raises(CallInvalid, match="burst-0-0 is listed twice"):
        objects(cluster.model_copy(update={"metadata": named}))


@pytest.mark.parametrize("name", TUNNELS)
def test_followers_of_a_tunnel_reach_the_lead_at_their_relay(name: str) -> None:
    made = worker_objects(tunnelled(TUNNELS[name][0]), WANTED, TUNNELS[name][1], NOW)
    kinds = [each["kind"] for each in made]
    assert kinds == ["Secret", "ConfigMap", "NetworkPolicy", "Service", "Job", "Job"]
    _, config, _, service, relay, job = made
    namespace = config["metadata"]["namespace"]
    assert f'connect = "tcp://mcb-62dgmfw4gk-relay.{namespace}.svc:8050"' in config["data"]["broker.toml"]
    assert service["metadata"]["name"] == relay["metadata"]["name"] == "mcb-62dgmfw4gk-relay"
    pod = relay["spec"]["template"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    broker = job["spec"]["template"]
    assert not service["spec"]["selector"].items() <= broker["metadata"]["labels"].items()
    assert "kueue.x-k8s.io/queue-name" not in relay["metadata"]["labels"]
    assert relay["spec"]["activeDeadlineSeconds"] == job["spec"]["activeDeadlineSeconds"]
    [container] = pod["spec"]["containers"]
    assert container["image"] == broker["spec"]["containers"][0]["image"]
    secrets = [each for each in pod["spec"]["volumes"] if "secret" in each]
    assert secrets == []
    assert ROUTE.kubeconfig not in repr(made)


@pytest.mark.parametrize(("port", "reached"), [(8050, 8049), (8049, 8048)])
def test_the_relay_has_a_port_of_its_own_for_the_leads_side(port: int, reached: int) -> None:
    assert tunnel.reach_port(port) == reached
